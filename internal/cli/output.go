package cli

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"syscall"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"example.com/understudy/compat/ruby"
)

// outputFlag chooses between a table for people and JSON for programs.
func outputFlag() cli.Flag {
	return &cli.StringFlag{Name: "output", Usage: "`FORM` of the result: text, or json with an object a line (default: text)"}
}

// json says whether the result is to be JSON.
func (s settings) json() (bool, error) {
	switch text, source := s.text("output"); {
	case source == "" || text == "text":
		return false, nil
	case text == "json":
		return true, nil
	default:
		return false, refuse(s.line("--output json"), "--output is %q: write text or json", text)
	}
}

// width is how wide a table may be: COLUMNS, else what every terminal shows;
// elsewhere it isn't cut, for whoever looks for something in it.
func (a *app) width() int {
	text, _ := a.lookupEnv("COLUMNS")
	if n, err := strconv.Atoi(text); err == nil && n > 0 {
		return n
	}
	if a.screen {
		return helpWidth
	}
	return 0
}

// jsonLines writes objects, one a line.
func jsonLines(to io.Writer) *json.Encoder {
	encoder := json.NewEncoder(to)
	encoder.SetEscapeHTML(false)
	return encoder
}

// unlessUnread drops the error of a write whose reader has left, as head does.
func unlessUnread(err error) error {
	if errors.Is(err, syscall.EPIPE) {
		return nil
	}
	return err
}

// jobJSON is a job as --output json shows it. What JSON can't say is in
// RawBase64, byte for byte.
type jobJSON struct {
	Queue string `json:"queue"`
	Class string `json:"class"`
	// Args are the arguments' bytes where these are JSON, else what Ruby would
	// write in their place; null where the element is no job.
	Args      json.RawMessage `json:"args"`
	Error     string          `json:"error,omitempty"`
	RawBase64 string          `json:"raw_base64,omitempty"`
}

func newJobJSON(queue, class string, args, raw []byte, problem error) jobJSON {
	job := jobJSON{Queue: queue, Class: class, Args: args}
	whole := problem == nil && utf8.ValidString(queue) && utf8.ValidString(class)
	if !json.Valid(args) || !utf8.Valid(args) {
		written, err := ruby.Reencode(args)
		if err != nil || !json.Valid(written) {
			written, whole = nil, false
		}
		job.Args = written
	}
	if problem != nil {
		job.Error = problem.Error()
	}
	if !whole {
		job.RawBase64 = base64.StdEncoding.EncodeToString(raw)
	}
	return job
}
