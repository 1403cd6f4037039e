package cli

import (
	"log/slog"

	"github.com/urfave/cli/v2"
)

func logFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "verbose", Usage: "log each job [$VERBOSE, $LOGGING]"},
		&cli.BoolFlag{Name: "vverbose", Usage: "log each decision too [$VVERBOSE]"},
	}
}

// logger writes what happens to standard error: warnings, and as much more as
// was asked for.
func (a *app) logger(s settings) *slog.Logger {
	level := slog.LevelWarn
	switch {
	case s.on("vverbose", "VVERBOSE"):
		level = slog.LevelDebug
	case s.on("verbose", "VERBOSE", "LOGGING"):
		level = slog.LevelInfo
	}
	return slog.New(slog.NewTextHandler(a.stderr, &slog.HandlerOptions{Level: level}))
}
