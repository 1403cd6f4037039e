//go:build !unix

package program

import (
	"os"
	"os/exec"
)

// There are no process groups here: a cancel ends the program alone, at once.

func ownGroup(*exec.Cmd) {}

func signalGroup(p *os.Process, _ bool) { _ = p.Kill() }

func groupAlive(*os.Process) bool { return false }

func killedBy(*os.ProcessState) string { return "" }
