package resque

import (
	"net"
	"net/url"
	"strconv"
	"strings"
)

// target is what a Redis URL says.
type target struct {
	network  string // tcp or unix
	address  string // host:port or path
	host     string
	tls      bool
	user     string
	password string
	login    bool // the URL has a password, if only an empty one
	db       int

	// sentinels are the addresses of those who know the master of that name, which
	// is what the login is for. "": the address is the Redis itself.
	sentinels []string
	master    string
}

// at is the same at another address.
func (t *target) at(address string) target {
	other := *t
	other.address = address
	other.host, _, _ = net.SplitHostPort(address)
	return other
}

const (
	defaultPort         = "6379"
	defaultSentinelPort = "26379"
	sentinelForm        = "redis-sentinel://host:26379,host:26379/0?master=name"
	urlForms            = "write redis://user:password@host:6379/0, rediss://… for TLS, unix:///path/redis.sock?db=0 or " + sentinelForm
	escapeHint          = "can't be read: " + urlForms +
		"; special characters of user and password are escaped (@ as %40, : as %3A, / as %2F, # as %23, ? as %3F, % as %25)"
)

// parseURL reads a Redis URL. Its errors never quote what could be a part of
// the password: a password with a character that had to be escaped shifts the
// borders of all the parts, so only the parts of a URL without any such sign
// are quoted.
func parseURL(text string) (target, error) {
	text, more := cutHosts(text)
	u, err := url.Parse(text)
	if err != nil || u.Opaque != "" || strings.Contains(u.Path+u.RawQuery+u.Fragment, "@") || !strings.Contains(text, ":/") {
		return target{}, urlError(escapeHint)
	}
	if u.Fragment != "" {
		return target{}, urlError(escapeHint)
	}
	t := target{}
	if err := t.readLogin(u.User); err != nil {
		return target{}, err
	}
	switch u.Scheme {
	case "redis", "valkey":
		err = t.readTCP(u)
	case "rediss", "valkeys":
		t.tls = true
		err = t.readTCP(u)
	case "unix":
		err = t.readUnix(u)
	case "redis-sentinel":
		err = t.readSentinel(u, more)
	case "rediss-sentinel":
		t.tls = true
		err = t.readSentinel(u, more)
	default:
		err = urlError("has the unknown scheme " + u.Scheme + "://: " + urlForms)
	}
	if err != nil {
		return target{}, err
	}
	return t, nil
}

func urlError(reason string) error { return configError("the Redis URL", reason) }

func (t *target) readLogin(info *url.Userinfo) error {
	if info == nil {
		return nil
	}
	password, ok := info.Password()
	if !ok && info.Username() != "" {
		// Some clients take it for the password, others for the user.
		return urlError("has one word before the @: write user:password@, or :password@ where there is no user")
	}
	t.user, t.password, t.login = info.Username(), password, ok && (password != "" || info.Username() != "")
	return nil
}

func (t *target) readTCP(u *url.URL) error {
	if u.RawQuery != "" {
		return urlError("has a part after ?: the database stands in the path, as in redis://host:6379/2; everything else is in Options")
	}
	t.host = u.Hostname()
	if t.host == "" {
		t.host = "localhost"
	}
	port := u.Port()
	if port == "" {
		port = defaultPort
	}
	t.network, t.address = "tcp", net.JoinHostPort(t.host, port)
	return t.readDB(strings.TrimPrefix(u.Path, "/"), "redis://host:6379/2")
}

// cutHosts takes all hosts but the first out of the URL of Sentinels: the standard
// library reads one.
func cutHosts(text string) (rest string, more []string) {
	scheme, after, ok := strings.Cut(text, "://")
	if !ok || !strings.HasSuffix(scheme, "-sentinel") {
		return text, nil
	}
	end := strings.IndexAny(after, "/?#")
	if end < 0 {
		end = len(after)
	}
	begin := strings.LastIndexByte(after[:end], '@') + 1
	hosts := strings.Split(after[begin:end], ",")
	return scheme + "://" + after[:begin] + hosts[0] + after[end:], hosts[1:]
}

func (t *target) readSentinel(u *url.URL, more []string) error {
	t.network = "tcp"
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return urlError(escapeHint)
	}
	for key := range query {
		if key != "master" {
			return urlError("has the unknown setting " + strconv.Quote(key) + ": only master is known, as in " + sentinelForm)
		}
	}
	if t.master = query.Get("master"); t.master == "" {
		return urlError("doesn't name the master: write " + sentinelForm)
	}
	for _, host := range append([]string{u.Host}, more...) {
		one, err := url.Parse("redis://" + host)
		if err != nil || one.Hostname() == "" || one.Host != host {
			return urlError("has a Sentinel without a host: write " + sentinelForm)
		}
		port := one.Port()
		if port == "" {
			port = defaultSentinelPort
		}
		t.sentinels = append(t.sentinels, net.JoinHostPort(one.Hostname(), port))
	}
	t.address = strings.Join(t.sentinels, ",")
	return t.readDB(strings.TrimPrefix(u.Path, "/"), sentinelForm)
}

func (t *target) readUnix(u *url.URL) error {
	if u.Host != "" || u.Path == "" || u.Path == "/" {
		return urlError("has no path of a socket: write three slashes, unix:///path/redis.sock?db=0")
	}
	t.network, t.address, t.host = "unix", u.Path, "localhost"
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return urlError(escapeHint)
	}
	for key := range query {
		if key != "db" {
			return urlError("has the unknown setting " + strconv.Quote(key) + ": only db is known, as in unix:///path/redis.sock?db=2")
		}
	}
	return t.readDB(query.Get("db"), "unix:///path/redis.sock?db=2")
}

func (t *target) readDB(text, example string) error {
	if text == "" {
		return nil
	}
	db, err := strconv.Atoi(text)
	if err != nil || db < 0 {
		return urlError("has the database " + strconv.Quote(text) + ", which is no number: write it as in " + example)
	}
	t.db = db
	return nil
}
