package live_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/understudy/compat/ruby"
	"example.com/understudy/internal/redistest"
)

func TestMain(m *testing.M) {
	beChild()
	redistest.Main(m)
}

// installation is the Ruby of this machine.
type installation struct {
	flags    []string
	versions map[string]string
	missing  string
}

const howToInstall = "install Ruby and `gem install resque resque-scheduler resque-retry`, or set RUBYLIB to the folders where these lie"

const askVersions = `
require 'json'; require 'resque'; require 'resque-scheduler'; require 'resque-retry'
adapters = %w[oj].select { |a| require a rescue LoadError }
puts JSON.generate('ruby' => RUBY_VERSION, 'resque' => Resque::VERSION, 'resque-scheduler' => Resque::Scheduler::VERSION,
                   'resque-retry' => ResqueRetry::VERSION, 'redis-rb' => Redis::VERSION, 'oj' => (Oj::VERSION if defined?(Oj)).to_s)`

// installed looks for Ruby and the gems once.
var installed = sync.OnceValue(func() installation {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, name := range []string{"RUBYLIB", "RUBYOPT", "GEM_HOME", "GEM_PATH"} {
		os.Getenv(name) // go test takes no result from before they changed
	}
	var i installation
	// A Ruby that doesn't know the flag says so.
	const flag = "--disable-error_highlight"
	if said, err := exec.CommandContext(ctx, "ruby", flag, "-e", "").CombinedOutput(); err == nil && len(said) == 0 {
		i.flags = []string{flag}
	}
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, "ruby", append(i.flags, "-e", askVersions)...)
	cmd.Stderr = &said
	versions, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(versions, &i.versions)
	}
	if err != nil {
		line, _, _ := strings.Cut(said.String(), "\n")
		i.missing = strings.TrimSpace(line)
		if i.missing == "" {
			i.missing = err.Error()
		}
	}
	return i
})

// inspect is the form in which that Ruby writes objects into retry keys.
func (i installation) inspect() ruby.InspectForm {
	switch version := i.versions["ruby"]; {
	case version < "3.2":
		return ruby.Inspect31
	case version < "3.4":
		return ruby.Inspect32
	default:
		return ruby.Inspect34
	}
}

// start gives the test a namespace of a real server and skips it where there is
// none, or no Ruby.
func start(t *testing.T) *redistest.Server {
	t.Helper()
	if i := installed(); i.missing != "" {
		t.Skipf("no Ruby with Resque: %s: %s", i.missing, howToInstall)
	}
	s := redistest.New(t)
	if !s.Real() {
		t.Skip("no redis-server: install redis-server, and don't set UNDERSTUDY_TEST_REDIS=mini")
	}
	return s
}

// peer is a Ruby process that carries out what the test tells it.
type peer struct {
	t       *testing.T
	ctx     context.Context //nolint:containedctx // the process's deadline
	process *os.Process
	input   *json.Encoder
	answers chan []byte
	said    *output
}

// peerLife bounds a Ruby process, and every wait: long enough for a machine that
// is busy with other things.
const peerLife = 3 * time.Minute

// startPeer starts Ruby on the namespace, with files of testdata loaded.
func startPeer(t *testing.T, s *redistest.Server, files ...string) *peer {
	t.Helper()
	return startPeerWith(t, s, "json_gem", files...)
}

// startPeerWith says which gem encodes.
func startPeerWith(t *testing.T, s *redistest.Server, adapter string, files ...string) *peer {
	t.Helper()
	args := append(append([]string{}, installed().flags...), filepath.Join("testdata", "peer.rb"), s.URL(), s.Namespace())
	for _, file := range files {
		args = append(args, filepath.Join("testdata", file))
	}
	ctx, cancel := context.WithTimeout(context.Background(), peerLife)
	cmd := exec.CommandContext(ctx, "ruby", args...)
	cmd.WaitDelay = 5 * time.Second
	cmd.Env = append(os.Environ(), "LIVE_JSON="+adapter)
	p := &peer{t: t, ctx: ctx, said: &output{}, answers: make(chan []byte)}
	cmd.Stderr = p.said
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	answers, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.input, p.process = json.NewEncoder(input), cmd.Process
	read := make(chan struct{})
	go func() {
		defer close(read)
		p.read(bufio.NewReader(answers))
	}()
	t.Cleanup(func() {
		cancel()
		<-read
		_ = cmd.Wait() // killed
		if said := p.said.String(); t.Failed() && said != "" {
			t.Logf("Ruby said:\n%s", said)
		}
	})
	return p
}

func (p *peer) read(answers *bufio.Reader) {
	defer close(p.answers)
	for {
		line, err := answers.ReadBytes('\n')
		if err != nil {
			return
		}
		select {
		case p.answers <- line:
		case <-p.ctx.Done():
		}
	}
}

// tell makes Ruby carry out code, without waiting for its answer.
func (p *peer) tell(code string) {
	p.t.Helper()
	if err := p.input.Encode(code); err != nil {
		p.t.Fatalf("Ruby has ended: %v", err)
	}
}

// answer waits for what the code was worth. An error of Ruby's ends the test.
func (p *peer) answer() any {
	p.t.Helper()
	select {
	case line, ok := <-p.answers:
		if !ok {
			p.t.Fatal("Ruby has ended")
		}
		value, err := valueOf(line)
		if err != nil {
			p.t.Fatal(err)
		}
		return value
	case <-p.ctx.Done():
		p.t.Fatalf("Ruby didn't answer: %v", p.ctx.Err())
	}
	return nil
}

func valueOf(line []byte) (any, error) {
	var a struct {
		Value     any      `json:"value"`
		Error     string   `json:"error"`
		Backtrace []string `json:"backtrace"`
	}
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.UseNumber()
	if err := decoder.Decode(&a); err != nil {
		return nil, fmt.Errorf("Ruby's answer %q: %w", line, err)
	}
	if a.Error != "" {
		return nil, errors.New("Ruby: " + a.Error + "\n  " + strings.Join(a.Backtrace, "\n  "))
	}
	return plain(a.Value), nil
}

// plain makes Ruby's Integers int, and its Floats float64.
func plain(value any) any {
	switch v := value.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return int(n)
		}
		f, _ := v.Float64()
		return f
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = plain(v[key])
		}
	}
	return value
}

// do is tell and answer. Each %s in code becomes a Ruby literal: texts, numbers
// and lists of them are the same in JSON.
func (p *peer) do(code string, values ...any) any {
	p.t.Helper()
	literals := make([]any, len(values))
	for i, value := range values {
		literal, err := json.Marshal(value)
		if err != nil {
			p.t.Fatal(err)
		}
		literals[i] = strings.ReplaceAll(string(literal), "#", `\u0023`) // Ruby would interpolate
	}
	p.tell(fmt.Sprintf(code, literals...))
	return p.answer()
}

// signal sends the process one.
func (p *peer) signal(signal os.Signal) {
	p.t.Helper()
	if err := p.process.Signal(signal); err != nil {
		p.t.Fatal(err)
	}
}

// ended waits until the process ends.
func (p *peer) ended() {
	p.t.Helper()
	for {
		select {
		case _, ok := <-p.answers:
			if !ok {
				return
			}
		case <-p.ctx.Done():
			p.t.Fatalf("Ruby didn't end: %v", p.ctx.Err())
		}
	}
}

// output is what a process says, while it is still saying it.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
