//go:build unix

package program

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// ownGroup makes the program the leader of a process group.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// signalGroup sends TERM or KILL to all of the program's group. It is an error
// only when the group is gone, which is what it is sent for.
func signalGroup(p *os.Process, kill bool) {
	signal := syscall.SIGTERM
	if kill {
		signal = syscall.SIGKILL
	}
	_ = syscall.Kill(-p.Pid, signal)
}

// groupAlive tells whether some process of a program that has ended is left. As
// process 1 of a container this one inherits what the program started: it waits
// for those that have ended, or they would count for ever.
func groupAlive(p *os.Process) bool {
	for syscall.Kill(-p.Pid, 0) == nil {
		pid, err := syscall.Wait4(-p.Pid, nil, syscall.WNOHANG, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil || pid <= 0 { // none of them is a child, or none has ended
			return true
		}
	}
	return false
}

// killedBy tells which signal ended the program, in Ruby's words; "": none did.
func killedBy(state *os.ProcessState) string {
	status, ok := state.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() {
		return ""
	}
	return fmt.Sprintf("Child process received unhandled signal pid %d %s (signal %d)",
		state.Pid(), signalName(status.Signal()), int(status.Signal()))
}

func signalName(signal syscall.Signal) string {
	names := map[syscall.Signal]string{
		syscall.SIGHUP: "SIGHUP", syscall.SIGINT: "SIGINT", syscall.SIGQUIT: "SIGQUIT", syscall.SIGILL: "SIGILL",
		syscall.SIGTRAP: "SIGTRAP", syscall.SIGABRT: "SIGABRT", syscall.SIGBUS: "SIGBUS", syscall.SIGFPE: "SIGFPE",
		syscall.SIGKILL: "SIGKILL", syscall.SIGSEGV: "SIGSEGV", syscall.SIGPIPE: "SIGPIPE", syscall.SIGALRM: "SIGALRM",
		syscall.SIGTERM: "SIGTERM", syscall.SIGUSR1: "SIGUSR1", syscall.SIGUSR2: "SIGUSR2", syscall.SIGXCPU: "SIGXCPU",
		syscall.SIGXFSZ: "SIGXFSZ", syscall.SIGSYS: "SIGSYS",
	}
	if name, ok := names[signal]; ok {
		return name
	}
	return signal.String()
}
