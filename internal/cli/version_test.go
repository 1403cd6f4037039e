package cli_test

import (
	"runtime/debug"
	"testing"

	"example.com/understudy/internal/cli"
)

func TestVersionOfABuild(t *testing.T) {
	t.Parallel()
	revision := []debug.BuildSetting{{Key: "vcs", Value: "git"}, {Key: "vcs.revision", Value: "0123456789abcdef"}}
	tests := []struct {
		name string
		info *debug.BuildInfo
		want string
	}{
		{"unknown", nil, "devel"},
		{"a test", &debug.BuildInfo{}, "devel"},
		{"a checkout", &debug.BuildInfo{Main: debug.Module{Version: "(devel)"}, Settings: revision}, "devel-0123456789ab"},
		{"a release", &debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}, Settings: revision}, "v1.2.3"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := cli.VersionOf(tt.info); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}
