package redistest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/gomodule/redigo/redis"
)

// guard runs a server and kills it as soon as its standard input ends, which it
// does with this process, however that dies. $1 is a folder to remove at the
// end, or empty.
const guard = `
remove=$1; shift
exec 3<&0
"$@" 3<&- </dev/null &
server=$!
( cat <&3 >/dev/null; kill -9 $server ) 2>/dev/null &
exec 3<&- </dev/null
wait $server
code=$?
if [ -n "$remove" ]; then rm -rf "$remove"; fi
exit $code
`

// process is a redis-server.
type process struct {
	args   []string
	socket string
	log    string
	remove string

	mu     sync.Mutex
	input  io.Closer
	exited chan struct{}
}

const startTimeout = 20 * time.Second

func (p *process) start() error {
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	args := append([]string{"-c", guard, "guard", p.remove, "redis-server"}, p.args...)
	cmd := exec.CommandContext(context.Background(), "sh", args...) //nolint:gosec // the arguments are the test's own
	cmd.Stdout, cmd.Stderr = log, log
	input, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return errors.Join(err, log.Close())
	}
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		_ = cmd.Wait() // killed, as it should be
		_ = log.Close()
	}()
	p.mu.Lock()
	p.input, p.exited = input, exited
	p.mu.Unlock()
	if err := p.await(exited); err != nil {
		p.stop()
		text, _ := os.ReadFile(p.log)
		return fmt.Errorf("redis-server %q: %w\n%s", p.args, err, text)
	}
	return nil
}

// await returns once the server answers.
func (p *process) await(exited <-chan struct{}) error {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	timeout := time.NewTimer(startTimeout)
	defer timeout.Stop()
	for {
		if answers(p.socket) {
			return nil
		}
		select {
		case <-tick.C:
		case <-exited:
			return errors.New("ended at its start")
		case <-timeout.C:
			return errors.New("didn't answer in time")
		}
	}
}

func answers(socket string) bool {
	c, err := redis.Dial("unix", socket, redis.DialReadTimeout(time.Second))
	if err != nil {
		return false
	}
	defer func() { _ = c.Close() }()
	_, err = c.Do("PING")
	if refused, ok := errors.AsType[redis.Error](err); ok {
		return !strings.HasPrefix(string(refused), "LOADING")
	}
	return err == nil
}

// stop kills the server, as a crash would.
func (p *process) stop() {
	p.mu.Lock()
	input, exited := p.input, p.exited
	p.input = nil
	p.mu.Unlock()
	if input == nil {
		return
	}
	_ = input.Close() // the guard sees it
	<-exited
	_ = os.Remove(p.socket) // a killed server leaves it
}

// newProcess describes a server without persistence in folder. TCP is on port,
// 0 for none; args may override everything.
func newProcess(folder, port string, args ...string) *process {
	p := &process{socket: filepath.Join(folder, "redis.sock"), log: filepath.Join(folder, "log")}
	p.args = append([]string{
		"--port", port, "--bind", "127.0.0.1", "--unixsocket", p.socket, "--dir", folder,
		"--save", "", "--appendonly", "no", "--daemonize", "no",
	}, args...)
	return p
}

func installed() bool {
	_, err := exec.LookPath("redis-server")
	return err == nil
}

// shared is the one server of a test binary.
type shared struct {
	once    sync.Once
	process *process
	err     error
}

var sharedServer shared //nolint:gochecknoglobals // one server for all tests of a binary is the point

func (s *shared) get() (*process, error) {
	s.once.Do(func() {
		folder, err := os.MkdirTemp("", "redistest")
		if err != nil {
			s.err = err
			return
		}
		s.process = newProcess(folder, "0")
		s.process.remove = folder
		s.err = s.process.start()
	})
	return s.process, s.err
}

func (s *shared) stop() {
	s.once.Do(func() { s.err = errors.New("redistest: the tests are over") })
	if s.process != nil {
		s.process.stop()
	}
}
