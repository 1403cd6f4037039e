package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/urfave/cli/v2"
)

func (a *app) version() *cli.Command {
	return &cli.Command{
		Name:      "version",
		Usage:     "tell the version",
		UsageText: binary + " version",
		Action: func(*cli.Context) error {
			info, _ := debug.ReadBuildInfo()
			_, err := fmt.Fprintf(a.stdout, "%s %s (%s, %s/%s)\n", binary, versionOf(info), runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}

// versionOf is the version that was built, as far as the build knows it.
func versionOf(info *debug.BuildInfo) string {
	const unknown = "devel"
	if info == nil {
		return unknown
	}
	version := info.Main.Version
	if version == "" || version == "(devel)" {
		version = unknown
	}
	const shortRevision = 12
	for _, setting := range info.Settings {
		if version == unknown && setting.Key == "vcs.revision" && len(setting.Value) >= shortRevision {
			version += "-" + setting.Value[:shortRevision]
		}
	}
	return version
}
