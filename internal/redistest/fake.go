package redistest

import (
	"bufio"
	"net"
	"sync"
	"testing"
)

// NewFake starts a server that answers every command with the bytes of answer
// ("+OK\r\n"), "" for none at all; it is asked about one command at a time. The
// URL leads there.
func NewFake(tb testing.TB, answer func(args []string) string) (url string) {
	tb.Helper()
	listener, err := (&net.ListenConfig{}).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	f := &fake{answer: answer, clients: map[net.Conn]bool{}}
	f.running.Go(func() { f.accept(listener) })
	tb.Cleanup(func() {
		_ = listener.Close()
		f.end()
		f.running.Wait()
	})
	return "redis://" + listener.Addr().String()
}

type fake struct {
	answer  func(args []string) string
	running sync.WaitGroup

	mu      sync.Mutex
	clients map[net.Conn]bool
	ended   bool
}

func (f *fake) accept(listener net.Listener) {
	for {
		client, err := listener.Accept()
		if err != nil {
			return
		}
		f.mu.Lock()
		f.clients[client] = true
		ended := f.ended
		f.mu.Unlock()
		if ended {
			_ = client.Close()
		}
		f.running.Go(func() { f.serve(client) })
	}
}

func (f *fake) serve(client net.Conn) {
	defer func() { _ = client.Close() }()
	reader := bufio.NewReader(client)
	for {
		_, args, err := readCommand(reader)
		if err != nil {
			return
		}
		f.mu.Lock()
		reply := f.answer(args)
		f.mu.Unlock()
		if _, err := client.Write([]byte(reply)); err != nil {
			return
		}
	}
}

func (f *fake) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended = true
	for client := range f.clients {
		_ = client.Close()
	}
}
