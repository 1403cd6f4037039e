package redistest

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// NewSentinel starts a Sentinel of its own, which watches a master of NewOwn under a
// name and is quick to replace it. settings are further lines of its file.
func NewSentinel(tb testing.TB, name string, master *Server, settings ...string) *Server {
	tb.Helper()
	host, port, err := net.SplitHostPort(master.Addr())
	if err != nil {
		tb.Fatalf("redistest: a Sentinel needs a master of NewOwn: %v", err)
	}
	return startOwn(tb, func(folder, own string) *process {
		p := &process{socket: filepath.Join(folder, "redis.sock"), log: filepath.Join(folder, "log")}
		text := fmt.Sprintf("port %s\nbind 127.0.0.1\nunixsocket %s\ndir %s\n", own, p.socket, folder) +
			fmt.Sprintf("sentinel monitor %s %s %s 1\n", name, host, port) +
			fmt.Sprintf("sentinel down-after-milliseconds %s 300\nsentinel failover-timeout %s 1000\n", name, name)
		text += strings.Join(append(settings, ""), "\n")
		file := filepath.Join(folder, "sentinel.conf")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			tb.Fatal(err)
		}
		p.args = []string{file, "--sentinel"}
		return p
	})
}
