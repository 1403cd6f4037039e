// Package program performs jobs with programs in any language: the payload on
// standard input, the exit status as the answer.
package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"time"

	"example.com/understudy/internal/foreign"
	"example.com/understudy/resque"
)

// Handler performs a job by running a program; it is a resque.Handler.
//
// The program gets the job's payload on standard input, byte for byte, and
// RESQUE_CLASS, RESQUE_QUEUE, RESQUE_ATTEMPT (0 the first time) and
// RESQUE_WORKER in its environment. Exit status 0 is success; anything else
// fails the run with a *foreign.Error. No shell is involved.
//
// The program leads a process group of its own. When the run's context ends,
// the group gets TERM and, after Grace, KILL. Processes that a program which
// ended by itself has left behind are not waited for.
type Handler struct {
	// Command is the program and its arguments. A program without a slash is
	// looked up in PATH.
	Command []string
	// Dir is the folder the program runs in; "": the worker's own.
	Dir string
	// Grace is the time between TERM and KILL. 0: 4 seconds, Ruby's
	// RESQUE_TERM_TIMEOUT; negative: KILL at once.
	Grace time.Duration
	// Output gets what the program writes, line by line, with the job's class
	// before it; it is written to by several jobs at a time, a call a line. It
	// gets at most 4 kB of a line and 64 kB of a run, then a line that says how
	// much was left out. nil: dropped.
	Output io.Writer
}

const (
	defaultGrace = 4 * time.Second // less than the worker waits for cancelled runs
	// pipeDelay is how long the pipes of a program that has ended stay open for
	// what is still in them, or for processes that it left behind.
	pipeDelay = 200 * time.Millisecond
	// groupPoll is how often a cancelled program's group is looked for.
	groupPoll = 10 * time.Millisecond
)

// Perform runs the program.
func (h *Handler) Perform(ctx context.Context, job *resque.Job) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	p, err := h.start(job)
	if err != nil {
		return startError(h.Command[0], err)
	}
	select {
	case <-p.exited:
		p.drain()
		return p.failure()
	case <-ctx.Done():
	}
	p.end(h.grace())
	p.drain()
	cause := context.Cause(ctx)
	if err := p.failure(); err != nil {
		return foreign.Cancelled(cause, fmt.Errorf("the program was ended: %w", err))
	}
	if errors.Is(cause, context.DeadlineExceeded) {
		return resque.ErrTimeout // it ended well because it was told to, with its work undone
	}
	return nil
}

func (h *Handler) grace() time.Duration {
	switch {
	case h.Grace == 0:
		return defaultGrace
	case h.Grace < 0:
		return 0
	default:
		return h.Grace
	}
}

// process is one run of a program.
type process struct {
	cmd     *exec.Cmd
	exited  chan struct{} // closed after waitErr is set
	waitErr error
	pipes   []*os.File // our ends
	copying sync.WaitGroup
	stderr  *lineKeeper
	log     *runLog // nil: the output is dropped
}

func (h *Handler) start(job *resque.Job) (*process, error) {
	p := &process{exited: make(chan struct{}), stderr: &lineKeeper{}}
	if h.Output != nil {
		p.log = &runLog{to: h.Output, prefix: job.Class + ": "}
	}
	p.cmd = exec.Command(h.Command[0], h.Command[1:]...) //nolint:gosec,noctx // running what the jobs file says is the purpose; the context is Perform's business
	p.cmd.Dir = h.Dir
	p.cmd.Env = append(os.Environ(),
		"RESQUE_CLASS="+job.Class, "RESQUE_QUEUE="+job.Queue,
		"RESQUE_ATTEMPT="+strconv.FormatInt(job.Attempt, 10), "RESQUE_WORKER="+job.WorkerID)
	ownGroup(p.cmd)
	stdin, stdout, stderr, theirs, err := p.connect(h.Output != nil)
	if err != nil {
		p.closePipes()
		closeAll(theirs)
		return nil, err
	}
	err = p.cmd.Start()
	closeAll(theirs)
	if err != nil {
		p.closePipes()
		return nil, err
	}
	payload := job.Payload
	p.copying.Go(func() {
		_, _ = stdin.Write(payload) // a program need not read it
		_ = stdin.Close()
	})
	p.follow(stderr, p.stderr)
	p.follow(stdout, nil)
	go func() {
		p.waitErr = p.cmd.Wait()
		close(p.exited)
	}()
	return p, nil
}

// connect gives the program its pipes, as files: then waiting for the program
// never means waiting for whoever else holds them. theirs are to be closed once
// the program runs.
func (p *process) connect(wantOutput bool) (stdin, stdout, stderr *os.File, theirs []*os.File, err error) {
	pipe := func() (r, w *os.File) {
		if err != nil {
			return nil, nil
		}
		r, w, err = os.Pipe()
		return r, w
	}
	inR, stdin := pipe()
	stderr, errW := pipe()
	p.cmd.Stdin, p.cmd.Stderr = inR, errW
	p.pipes, theirs = []*os.File{stdin, stderr}, []*os.File{inR, errW}
	if wantOutput {
		out, outW := pipe()
		stdout, p.cmd.Stdout = out, outW
		p.pipes, theirs = append(p.pipes, out), append(theirs, outW)
	}
	return stdin, stdout, stderr, theirs, err
}

// follow reads a pipe to its end.
func (p *process) follow(from *os.File, keep *lineKeeper) {
	if from == nil {
		return
	}
	var to []io.Writer
	if keep != nil {
		to = append(to, keep)
	}
	var lines *lineWriter
	if p.log != nil {
		lines = &lineWriter{log: p.log}
		to = append(to, lines)
	}
	p.copying.Go(func() {
		_, _ = io.Copy(io.MultiWriter(to...), from) // cut off by drain at the latest
		if lines != nil {
			lines.flush()
		}
	})
}

// drain waits for the last of the output, a short while at most.
func (p *process) drain() {
	deadline := time.Now().Add(pipeDelay)
	for _, pipe := range p.pipes {
		_ = pipe.SetDeadline(deadline) // refused only once it is closed
	}
	p.copying.Wait()
	if p.log != nil {
		p.log.end()
	}
	p.closePipes()
}

func (p *process) closePipes() { closeAll(p.pipes) }

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close() // nil, closed already, or only read from
	}
}

// end stops the program's group: TERM, and KILL after grace. It returns when the
// program has ended and the group is gone or was killed.
func (p *process) end(grace time.Duration) {
	signalGroup(p.cmd.Process, false)
	timer := time.NewTimer(grace)
	defer timer.Stop()
	tick := time.NewTicker(groupPoll)
	defer tick.Stop()
	for {
		select {
		case <-timer.C:
			signalGroup(p.cmd.Process, true)
			<-p.exited
			return
		case <-tick.C:
			if p.hasExited() && !groupAlive(p.cmd.Process) {
				return
			}
		}
	}
}

func (p *process) hasExited() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// failure is what the program's end means; nil: success.
func (p *process) failure() error {
	if p.waitErr == nil {
		return nil
	}
	exit, ok := errors.AsType[*exec.ExitError](p.waitErr)
	if !ok {
		return p.waitErr
	}
	if text := killedBy(exit.ProcessState); text != "" {
		return resque.DirtyExit{Message: text}
	}
	return readError(p.stderr.last(), exit.ExitCode())
}
