package resque_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/understudy/internal/redistest"
	"example.com/understudy/resque"
)

// dialTest opens a client of the test's own namespace.
func dialTest(t *testing.T, s *redistest.Server, url string, change func(*resque.Options)) *resque.Client {
	t.Helper()
	o := resque.Options{Namespace: s.Namespace()}
	if change != nil {
		change(&o)
	}
	c, err := resque.Open(t.Context(), url, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// fixedClock stands still; its sleeps are over at once.
type fixedClock struct {
	now time.Time

	mu    sync.Mutex
	slept []time.Duration
}

func (f *fixedClock) Now() time.Time { return f.now }

func (f *fixedClock) Sleep(ctx context.Context, d time.Duration) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.slept = append(f.slept, d)
	return ctx.Err()
}

func TestNamespace(t *testing.T) {
	t.Parallel()
	s := redistest.New(t)
	for namespace, want := range map[string]string{
		"":                 "resque:queues",
		"app":              "app:queues",
		"app:":             "app:queues",
		"a:b":              "a:b:queues",
		resque.NoNamespace: "queues",
	} {
		c := dialTest(t, s, s.URL(), func(o *resque.Options) { o.Namespace = namespace })
		if got := c.Keys().Of("queues"); got != want {
			t.Errorf("%q: %s", namespace, got)
		}
	}
}

func TestOpenRefusesOptions(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	for field, test := range map[string]struct {
		url     string
		options resque.Options
	}{
		"Options.DialTimeout":  {"", resque.Options{DialTimeout: -1}},
		"Options.ReadTimeout":  {"", resque.Options{ReadTimeout: -1}},
		"Options.WriteTimeout": {"", resque.Options{WriteTimeout: -1}},
		"Options.PoolSize":     {"", resque.Options{PoolSize: -1}},
		"Options.TLS":          {"redis://localhost", resque.Options{TLS: &tls.Config{}}},
		"Options.CAFile":       {"redis://localhost", resque.Options{CAFile: file}},
		"Options.SkipVerify":   {"unix:///r.sock", resque.Options{SkipVerify: true}},
		"Options.CAFile ":      {"rediss://localhost", resque.Options{CAFile: file}},
		"Options.CAFile  ":     {"rediss://localhost", resque.Options{CAFile: file + ".absent"}},
		"the Redis URL":        {"localhost", resque.Options{}},
	} {
		_, err := resque.Open(t.Context(), test.url, test.options)
		if wrong, ok := errors.AsType[*resque.ConfigError](err); !ok || wrong.Field != strings.TrimSpace(field) {
			t.Errorf("%s: %v", field, err)
		}
	}
}

// F9 goworker: user name, escaped password and database of a URL were ignored.
func TestOpenLogsIn(t *testing.T) {
	t.Parallel()
	s := redistest.NewOwn(t, "--user", "app", "on", ">p@ss/word", "~*", "+@all", "--user", "blind", "on", ">p@ss/word", "~*", "+rpush", "+select")
	c := dialTest(t, s, "redis://app:p%40ss%2Fword@"+s.Addr()+"/3", nil)
	if who, err := resque.String(c.Do(t.Context(), "ACL", "WHOAMI")); who != "app" || err != nil {
		t.Error(who, err)
	}
	if _, err := c.Do(t.Context(), "SET", "k", "v"); err != nil {
		t.Error(err)
	}
	s.Do("SELECT", 3)
	if got := s.Do("GET", "k"); got != "v" {
		t.Errorf("another database: %v", got)
	}
	// Without the right to ask for the version.
	dialTest(t, s, "redis://blind:p%40ss%2Fword@"+s.Addr()+"/3", nil)
}

func TestOpenNeverTellsThePassword(t *testing.T) {
	t.Parallel()
	own := redistest.NewOwn(t, "--user", "app", "on", ">right", "~*", "+@all", "--requirepass", "right")
	quoting := redistest.NewFake(t, func(args []string) string {
		return "-ERR unknown command 'AUTH', with args beginning with: '" + strings.Join(args[1:], "' '") + "'\r\n"
	})
	for name, url := range map[string]string{
		"wrong with user":    "redis://app:SECRET@" + own.Addr(),
		"wrong without":      "redis://:SECRET@" + own.Addr(),
		"unknown user":       "redis://other:SECRET@" + own.Addr(),
		"none":               own.URL(),
		"none with database": own.URL() + "/3",
		"a server quotes it": strings.Replace(quoting, "://", "://app:SECRET@", 1),
	} {
		var log bytes.Buffer
		logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		_, err := resque.Open(t.Context(), url, resque.Options{Logger: logger})
		if !errors.Is(err, resque.ErrLogin) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if strings.Contains(err.Error()+log.String(), "SECRET") {
			t.Errorf("%s: the password is in %q or %q", name, err, log.String())
		}
	}
	// Nor when nobody is there.
	own.Stop()
	if _, err := resque.Open(t.Context(), "redis://app:SECRET@"+own.Addr(), resque.Options{}); err == nil || strings.Contains(err.Error(), "SECRET") {
		t.Error(err)
	}
}

func TestOpenOverASocket(t *testing.T) {
	t.Parallel()
	s := redistest.NewOwn(t)
	c := dialTest(t, s, "unix://"+s.Socket()+"?db=2", nil)
	if _, err := c.Do(t.Context(), "SET", "k", "v"); err != nil {
		t.Error(err)
	}
	s.Do("SELECT", 2)
	if got := s.Do("GET", "k"); got != "v" {
		t.Errorf("another database: %v", got)
	}
}

// authority makes a certificate authority and a server's certificate by it, for
// 127.0.0.1, in files.
func authority(t *testing.T) (caFile, certFile, keyFile string) {
	t.Helper()
	folder := t.TempDir()
	write := func(name, kind string, der []byte) string {
		file := filepath.Join(folder, name)
		if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	server := &x509.Certificate{
		SerialNumber: big.NewInt(2), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotBefore: ca.NotBefore, NotAfter: ca.NotAfter,
	}
	caDER, err1 := x509.CreateCertificate(rand.Reader, ca, ca, key.Public(), key)
	serverDER, err2 := x509.CreateCertificate(rand.Reader, server, ca, key.Public(), key)
	keyDER, err3 := x509.MarshalPKCS8PrivateKey(key)
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	return write("ca.pem", "CERTIFICATE", caDER), write("server.pem", "CERTIFICATE", serverDER), write("key.pem", "PRIVATE KEY", keyDER)
}

func TestOpenByTLS(t *testing.T) {
	t.Parallel()
	ca, cert, key := authority(t)
	otherCA, _, _ := authority(t)
	port := redistest.FreePort(t)
	redistest.NewOwn(t, "--tls-port", port, "--tls-cert-file", cert, "--tls-key-file", key, "--tls-ca-cert-file", ca, "--tls-auth-clients", "no")
	ownPool := x509.NewCertPool()
	pemText, err := os.ReadFile(ca)
	if err != nil || !ownPool.AppendCertsFromPEM(pemText) {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		host    string
		options resque.Options
		refused string
	}{
		"own authority":                  {"127.0.0.1", resque.Options{CAFile: ca}, ""},
		"own authority in TLS":           {"127.0.0.1", resque.Options{TLS: &tls.Config{RootCAs: ownPool}}, ""},
		"both":                           {"127.0.0.1", resque.Options{CAFile: otherCA, TLS: &tls.Config{RootCAs: ownPool}}, ""},
		"unknown authority":              {"127.0.0.1", resque.Options{}, "unknown authority"},
		"another authority":              {"127.0.0.1", resque.Options{CAFile: otherCA}, "unknown authority"},
		"skip verify":                    {"127.0.0.1", resque.Options{SkipVerify: true}, ""},
		"skip verify, another authority": {"127.0.0.1", resque.Options{SkipVerify: true, CAFile: otherCA}, ""},
		"another name":                   {"localhost", resque.Options{CAFile: ca}, "localhost"},
		"name set":                       {"localhost", resque.Options{CAFile: ca, TLS: &tls.Config{ServerName: "127.0.0.1"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := resque.Open(t.Context(), "rediss://"+test.host+":"+port, test.options)
			if test.refused != "" {
				if err == nil || !strings.Contains(err.Error(), test.refused) {
					t.Error(err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.Do(t.Context(), "PING"); err != nil {
				t.Error(err)
			}
			// A blocked read ends at once under TLS as well.
			ctx, cancel := context.WithCancelCause(t.Context())
			ended := errors.New("ended")
			time.AfterFunc(10*time.Millisecond, func() { cancel(ended) })
			if _, err := c.Do(ctx, "BLPOP", "nothing", 0); !errors.Is(err, ended) {
				t.Error(err)
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

const loading = "-LOADING Redis is loading the dataset in memory\r\n"

func bulk(text string) string {
	return "$" + big.NewInt(int64(len(text))).String() + "\r\n" + text + "\r\n"
}

// F10: a server that still loads its data is waited for.
func TestOpenWaitsWhileRedisIsLoading(t *testing.T) {
	t.Parallel()
	pings := 0
	url := redistest.NewFake(t, func(args []string) string {
		switch {
		case args[0] == "PING":
			pings++
			if pings <= 4 {
				return loading
			}
			return "+PONG\r\n"
		case args[0] == "INFO" && pings == 5:
			return loading // even if it says so only here
		case args[0] == "INFO":
			return bulk("redis_version:7.0.15\r\nredis_mode:standalone\r\n")
		default:
			return "-ERR unexpected\r\n"
		}
	})
	clock := &fixedClock{}
	c, err := resque.Open(t.Context(), url, resque.Options{Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if len(clock.slept) != 5 || pings != 6 {
		t.Fatalf("%v after %d pings", clock.slept, pings)
	}
	for i, slept := range clock.slept {
		if full := 100 * time.Millisecond << i; slept > full || slept < full*3/4 {
			t.Errorf("wait %d: %v", i, slept)
		}
	}
}

func TestOpenStopsWaitingWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	pings := 0
	url := redistest.NewFake(t, func([]string) string {
		if pings++; pings == 6 {
			cancel(enough)
		}
		return loading
	})
	if _, err := resque.Open(ctx, url, resque.Options{Clock: &fixedClock{}}); !errors.Is(err, enough) && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestOpenJudgesTheServer(t *testing.T) {
	t.Parallel()
	for info, refused := range map[string]string{
		"redis_version:7.0.15\r\nredis_mode:standalone\r\n":                     "",
		"redis_version:6.2.0\r\n":                                               "",
		"redis_version:10.0.0\r\n":                                              "",
		"# Server\r\nredis_version:6.0.16\r\nredis_mode:standalone\r\n":         "6.0.16",
		"redis_version:5.0.3\r\n":                                               "5.0.3",
		"redis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:8.0.1\r\n": "",
		"redis_version:7.0.15\r\nredis_mode:cluster\r\n":                        "Cluster",
		"redis_version:7.2.4\r\nserver_name:valkey\r\nredis_mode:cluster\r\n":   "Cluster",
		"redis_version:7.0.15\r\nredis_mode:sentinel\r\n":                       "Sentinel",
		"":                           "",
		"redis_version:unstable\r\n": "",
	} {
		url := redistest.NewFake(t, func(args []string) string {
			if args[0] == "INFO" {
				return bulk(info)
			}
			return "+PONG\r\n"
		})
		c, err := resque.Open(t.Context(), url, resque.Options{})
		if refused == "" {
			if err != nil {
				t.Errorf("%q: %v", info, err)
			} else if err := c.Close(); err != nil {
				t.Error(err)
			}
		} else if !errors.Is(err, resque.ErrUnsupportedServer) || !strings.Contains(err.Error(), refused) {
			t.Errorf("%q: %v", info, err)
		}
	}
}

func TestTimeouts(t *testing.T) {
	t.Parallel()
	s := redistest.New(t)
	p := redistest.NewProxy(t, s.URL())
	short := func(o *resque.Options) { o.ReadTimeout = 30 * time.Millisecond }
	c := dialTest(t, s, p.URL(), short)
	p.BlackHole(true)
	if _, err := c.Do(t.Context(), "PING"); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("reading: %v", err)
	}
	_, err := resque.Open(t.Context(), strings.Replace(p.URL(), "://", "://app:x@", 1), resque.Options{DialTimeout: 30 * time.Millisecond})
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "DialTimeout") {
		t.Errorf("logging in: %v", err)
	}
	p.BlackHole(false)
	if _, err := c.Do(t.Context(), "PING"); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}
