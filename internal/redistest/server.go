package redistest

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/gomodule/redigo/redis"
)

// Server is a Redis as a test sees it: through one namespace.
type Server struct {
	tb        testing.TB
	url       string
	namespace string
	mini      *miniredis.Miniredis
	process   *process
	addr      string

	mu   sync.Mutex
	conn redis.Conn
}

const variable = "UNDERSTUDY_TEST_REDIS"

// kinds says which servers the environment asks for; the first is the one that
// New takes.
func kinds(tb testing.TB) []string {
	tb.Helper()
	switch mode := os.Getenv(variable); mode {
	case "mini":
		return []string{"mini"}
	case "real":
		if !installed() {
			tb.Fatalf("%s=real, but there is no redis-server on the PATH", variable)
		}
		return []string{"real", "mini"}
	case "":
		if installed() {
			return []string{"real", "mini"}
		}
		return []string{"mini"}
	default:
		tb.Fatalf("%s=%s: write real, mini or nothing", variable, mode)
		return nil
	}
}

// New gives the test a namespace of its own: of a miniredis of its own, or of
// the real server that all tests of the binary share.
func New(tb testing.TB) *Server {
	tb.Helper()
	return newOf(tb, kinds(tb)[0])
}

// Each runs a parallel subtest for each kind of server there is.
func Each(t *testing.T, test func(t *testing.T, s *Server)) {
	t.Helper()
	for _, kind := range kinds(t) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			test(t, newOf(t, kind))
		})
	}
}

func newOf(tb testing.TB, kind string) *Server {
	tb.Helper()
	s := &Server{tb: tb, namespace: uniqueNamespace()}
	if kind == "mini" {
		s.mini = miniredis.NewMiniRedis()
		if err := s.mini.Start(); err != nil {
			tb.Fatalf("starting miniredis: %v", err)
		}
		tb.Cleanup(s.mini.Close)
		s.addr = s.mini.Addr()
		s.url = "redis://" + s.addr
	} else {
		process, err := sharedServer.get()
		if err != nil {
			tb.Fatalf("starting the shared server: %v", err)
		}
		s.url = "unix://" + process.socket
	}
	tb.Cleanup(s.hangUp)
	return s
}

// NewOwn starts a real server for this test alone, with TCP on a free port and
// without persistence; args are further arguments of redis-server. Without
// redis-server the test is skipped, or fails under UNDERSTUDY_TEST_REDIS=real.
func NewOwn(tb testing.TB, args ...string) *Server {
	tb.Helper()
	return startOwn(tb, func(folder, port string) *process { return newProcess(folder, port, args...) })
}

func startOwn(tb testing.TB, describe func(folder, port string) *process) *Server {
	tb.Helper()
	if kinds(tb)[0] != "real" {
		tb.Skip("needs a redis-server of its own: install redis-server and don't set " + variable + "=mini")
	}
	folder, err := os.MkdirTemp("", "redistest") //nolint:usetesting // the name of TempDir can be too long for a socket
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = os.RemoveAll(folder) })
	s := &Server{tb: tb, namespace: uniqueNamespace()}
	for try := 0; ; try++ {
		port := FreePort(tb)
		s.process = describe(folder, port)
		s.addr = net.JoinHostPort("127.0.0.1", port)
		if err = s.process.start(); err == nil {
			break
		}
		if try == 3 || !strings.Contains(err.Error(), "Address already in use") {
			tb.Fatal(err)
		}
	}
	s.url = "redis://" + s.addr
	tb.Cleanup(s.process.stop)
	tb.Cleanup(s.hangUp)
	return s
}

var namespaces atomic.Int64 //nolint:gochecknoglobals // it makes them unique within the binary

func uniqueNamespace() string {
	return fmt.Sprintf("test-%d-%d", os.Getpid(), namespaces.Add(1))
}

// FreePort is a port of 127.0.0.1 that was free a moment ago.
func FreePort(tb testing.TB) string {
	tb.Helper()
	listener, err := (&net.ListenConfig{}).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		tb.Fatal(err)
	}
	return port
}

// URL is how to reach the server.
func (s *Server) URL() string { return s.url }

// Addr is the server's host and port, "" for the shared one, which has only a
// socket.
func (s *Server) Addr() string { return s.addr }

// Socket is the path of a real server's socket.
func (s *Server) Socket() string {
	if s.process != nil {
		return s.process.socket
	}
	return strings.TrimPrefix(s.url, "unix://")
}

// Namespace is the test's own, without a colon.
func (s *Server) Namespace() string { return s.namespace }

// Key is the full key of a key of the namespace.
func (s *Server) Key(key string) string { return s.namespace + ":" + key }

// Real says that this is a redis-server.
func (s *Server) Real() bool { return s.mini == nil }

// Mini is the miniredis, nil for a real server.
func (s *Server) Mini() *miniredis.Miniredis { return s.mini }

// Stop kills the server of NewOwn, as a crash would.
func (s *Server) Stop() {
	s.tb.Helper()
	s.own().stop()
	s.hangUp()
}

// Start starts the server of NewOwn again, on the same port.
func (s *Server) Start() {
	s.tb.Helper()
	if err := s.own().start(); err != nil {
		s.tb.Fatal(err)
	}
}

// Restart is Stop and Start. The data is gone, unless NewOwn was told to keep it.
func (s *Server) Restart() {
	s.tb.Helper()
	s.Stop()
	s.Start()
}

func (s *Server) own() *process {
	s.tb.Helper()
	if s.process == nil {
		s.tb.Fatal("redistest: only a server of NewOwn can be stopped and started")
	}
	return s.process
}

// Do sends a command with full keys, see Key. An error ends the test. Texts of
// the reply are strings; integers int64; lists []any.
func (s *Server) Do(command string, args ...any) any {
	s.tb.Helper()
	reply, err := s.Try(command, args...)
	if err != nil {
		s.tb.Fatalf("%s %v: %v", command, args, err)
	}
	return reply
}

// Try is Do with the error for the test to look at.
func (s *Server) Try(command string, args ...any) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn == nil || s.conn.Err() != nil {
		c, err := dialURL(s.url)
		if err != nil {
			return nil, err
		}
		s.conn = c
	}
	reply, err := s.conn.Do(command, args...)
	return plain(reply), err
}

func (s *Server) hangUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != nil {
		_ = s.conn.Close()
		s.conn = nil
	}
}

func plain(reply any) any {
	switch r := reply.(type) {
	case []byte:
		return string(r)
	case []any:
		for i := range r {
			r[i] = plain(r[i])
		}
	}
	return reply
}

// dialURL connects to a redis:// or unix:// URL, logged in and on its database.
func dialURL(text string) (redis.Conn, error) {
	network, address, u, err := split(text)
	if err != nil {
		return nil, err
	}
	name, db := u.Query().Get("db"), 0
	if network == "tcp" {
		name = strings.TrimPrefix(u.Path, "/")
	}
	if name != "" {
		if db, err = strconv.Atoi(name); err != nil {
			return nil, err
		}
	}
	password, _ := u.User.Password()
	return redis.Dial(network, address, redis.DialUsername(u.User.Username()), redis.DialPassword(password),
		redis.DialDatabase(db), redis.DialConnectTimeout(5*time.Second), redis.DialReadTimeout(20*time.Second))
}

func split(text string) (network, address string, u *url.URL, err error) {
	u, err = url.Parse(text)
	if err != nil {
		return "", "", nil, err
	}
	switch u.Scheme {
	case "redis":
		return "tcp", u.Host, u, nil
	case "unix":
		return "unix", u.Path, u, nil
	default:
		return "", "", nil, errors.New("redistest: neither redis:// nor unix://: " + text)
	}
}

// Sibling is another namespace on a server of the same kind: for real servers
// the same one, for miniredis one of its own.
func (s *Server) Sibling(tb testing.TB) *Server {
	tb.Helper()
	if s.mini != nil {
		return newOf(tb, "mini")
	}
	sibling := &Server{tb: tb, namespace: uniqueNamespace(), process: s.process, url: s.url, addr: s.addr}
	tb.Cleanup(sibling.hangUp)
	return sibling
}
