package resque

import (
	"crypto/sha1" //nolint:gosec // Redis names scripts by it
	"encoding/hex"
)

// Script is a Lua script. It is sent by its digest; Redis gets the text when it
// doesn't know the digest yet.
type Script struct{ name, src, sha string }

// NewScript makes a script. The name is for people.
func NewScript(name, src string) *Script {
	sum := sha1.Sum([]byte(src)) //nolint:gosec // Redis names scripts by it
	return &Script{name: name, src: src, sha: hex.EncodeToString(sum[:])}
}

// Name is the name that the script was made with.
func (s *Script) Name() string { return s.name }

// SHA is the digest by which Redis knows the script.
func (s *Script) SHA() string { return s.sha }

// Call is one command or script of a pipeline.
type Call struct {
	// Command is the name of a command, where Script is nil.
	Command string
	Script  *Script
	// Keys are full keys; those of a command stand before its Args.
	Keys []string
	// Args are strings, byte slices, integers, floats or booleans (1 and 0).
	Args []any
}

// wire is the command that is sent: a script by its digest, or by its text.
func (c Call) wire(byText bool) (name string, args []any) {
	if c.Script == nil {
		args = make([]any, 0, len(c.Keys)+len(c.Args))
		name = c.Command
	} else {
		args = make([]any, 0, 2+len(c.Keys)+len(c.Args))
		if byText {
			name, args = "EVAL", append(args, c.Script.src, len(c.Keys))
		} else {
			name, args = "EVALSHA", append(args, c.Script.sha, len(c.Keys))
		}
	}
	for _, key := range c.Keys {
		args = append(args, key)
	}
	return name, append(args, c.Args...)
}
