package cli

import (
	"time"

	"github.com/urfave/cli/v2"

	"example.com/understudy/internal/duration"
	"example.com/understudy/resque"
)

// The waits of a stop where nothing is set.
const (
	defaultShutdown = 10 * time.Second
	defaultCancel   = 5 * time.Second
	// rubyTermTimeout is Ruby's where TERM_CHILD is set, without a wait before it.
	rubyTermTimeout = 4 * time.Second
)

func timeoutFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "shutdown-timeout", Usage: "`TIME` that running jobs have at a stop before they are cancelled [$RESQUE_PRE_SHUTDOWN_TIMEOUT] (default: 10s)"},
		&cli.StringFlag{Name: "cancel-timeout", Usage: "`TIME` that cancelled jobs have before they are given back [$RESQUE_TERM_TIMEOUT] (default: 5s)"},
		&cli.StringFlag{Name: "release-timeout", Usage: "`TIME` that giving back may take (default: 10s)"},
	}
}

// timeouts sets the waits of a stop. As in Ruby, TERM_CHILD alone means 0 and 4 s.
func (s settings) timeouts(c *resque.WorkerConfig) error {
	shutdown, cancel := defaultShutdown, defaultCancel
	if s.env("TERM_CHILD") != "" {
		shutdown, cancel = 0, rubyTermTimeout
	}
	var err error
	if c.ShutdownTimeout, err = s.wait(shutdown, "shutdown-timeout", "RESQUE_PRE_SHUTDOWN_TIMEOUT"); err != nil {
		return err
	}
	if c.CancelTimeout, err = s.wait(cancel, "cancel-timeout", "RESQUE_TERM_TIMEOUT"); err != nil {
		return err
	}
	text, source := s.text("release-timeout")
	if source == "" {
		return nil
	}
	if c.ReleaseTimeout, err = duration.Parse(text); err != nil || c.ReleaseTimeout == 0 {
		return refuse(s.line("--release-timeout 10"), "%s: %q is no time to give jobs back in: write seconds, or a time such as 10s", source, text)
	}
	return nil
}

// wait is a setting for which 0 means none.
func (s settings) wait(standard time.Duration, option, variable string) (time.Duration, error) {
	d, set, err := s.duration(option, variable)
	switch {
	case err != nil:
		return 0, err
	case !set:
		d = standard
	}
	if d == 0 {
		return -1, nil
	}
	return d, nil
}
