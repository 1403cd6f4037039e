package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strings"

	"github.com/urfave/cli/v2"

	"example.com/understudy/resque"
)

const defaultURL = "redis://localhost:6379"

// redisFlags are those of every command that talks to Redis.
func redisFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "redis", Usage: "`URL` of the Redis: redis://user:password@host:6379/0, rediss://…, unix:///path/redis.sock?db=0 or redis-sentinel://host:26379,host:26379/0?master=name [$REDIS_URL, or the variable that $REDIS_PROVIDER names] (default: " + defaultURL + ")"},
		&cli.StringFlag{Name: "namespace", Usage: "`TEXT` before every key; '' for nothing (default: " + resque.DefaultNamespace + ")"},
	}
}

// redisURL is where the Redis is. REDIS_PROVIDER names the variable that counts
// instead of REDIS_URL.
func (s settings) redisURL() (string, error) {
	variable := "REDIS_URL"
	provider := s.env("REDIS_PROVIDER")
	if provider != "" && !s.c.IsSet("redis") {
		variable = provider
		switch {
		case strings.Contains(provider, "://"):
			return "", refuse(s.line("--redis "+defaultURL), "REDIS_PROVIDER holds an address, not the name of the variable with it: write it in REDIS_URL")
		case s.env(provider) == "":
			return "", refuse(s.line("--redis "+defaultURL), "REDIS_PROVIDER names the variable %s, which is empty", provider)
		}
	}
	if text, source := s.text("redis", variable); source != "" {
		return text, nil
	}
	return defaultURL, nil
}

// namespace is the client's option for what was asked.
func (s settings) namespace(standard string) string {
	if !s.c.IsSet("namespace") {
		return standard
	}
	if text := strings.TrimRight(s.c.String("namespace"), ":"); text != "" {
		return text
	}
	return resque.NoNamespace
}

// connect opens the client of a command.
func (a *app) connect(ctx context.Context, s settings, log *slog.Logger) (*resque.Client, error) {
	address, err := s.redisURL()
	if err != nil {
		return nil, err
	}
	return a.open(ctx, s, address, resque.Options{Namespace: s.namespace(""), Logger: log})
}

func (a *app) open(ctx context.Context, s settings, address string, options resque.Options) (*resque.Client, error) {
	if strings.Contains(address, "-sentinel://") { // the variables may be set for another Redis
		options.SentinelUser, options.SentinelPassword = s.env("REDIS_SENTINEL_USERNAME"), s.env("REDIS_SENTINEL_PASSWORD")
	}
	client, err := resque.Open(ctx, address, options)
	if err == nil {
		return client, nil
	}
	if _, ok := errors.AsType[*resque.ConfigError](err); ok {
		return nil, refuse(s.line("--redis "+defaultURL), "%v", withoutPrefix(err))
	}
	if dial, ok := errors.AsType[*net.OpError](err); (!ok || dial.Op != "dial") && !errors.Is(err, context.DeadlineExceeded) {
		return nil, fmt.Errorf("Redis at %s refuses: %s", shownURL(address), withoutPrefix(err)) //nolint:staticcheck // a name
	}
	return nil, fmt.Errorf("no Redis at %s: %s\nIs it running there? Another address is given by --redis or REDIS_URL", shownURL(address), withoutPrefix(err))
}

func withoutPrefix(err error) string { return strings.TrimPrefix(err.Error(), "resque: ") }

// shownURL is an address without its password.
func shownURL(address string) string {
	scheme, rest, _ := strings.Cut(address, "://")
	if strings.HasSuffix(scheme, "-sentinel") { // of several hosts
		return scheme + "://" + rest[strings.LastIndexByte(rest, '@')+1:]
	}
	u, err := url.Parse(address)
	if err != nil {
		return "the given address"
	}
	return u.Redacted()
}
