package redistest_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/understudy/internal/redistest"
)

func TestDumpGivesBackWhatWasSeeded(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		other := redistest.New(t)
		other.Seed(map[string]any{"elsewhere": "1"})
		keys := map[string]any{
			"string": "a\xff\x00b",
			"list":   redistest.List{"b", "a", "b"},
			"set":    redistest.Set{"a", "b"},
			"hash":   redistest.Hash{"f": "v", "g": ""},
			"zset":   redistest.ZSet{"1767323105": 1767323105, "x": 1.5},
			"stream": redistest.Stream{{"f", "v"}, {"g", "w", "h", "x"}},
		}
		s.Seed(keys)
		if diff := cmp.Diff(keys, s.Dump()); diff != "" {
			t.Error(diff)
		}
		s.Do("EXPIRE", s.Key("list"), 100)
		if diff := cmp.Diff(map[string]int64{"list": 100}, s.TTLs()); diff != "" {
			t.Error(diff)
		}
		s.Do("DEL", s.Key("list"))
		if got := s.Get("list"); got != nil {
			t.Errorf("a key that is gone: %v", got)
		}
	})
}

func TestOwnServerLosesItsDataAtARestart(t *testing.T) {
	t.Parallel()
	s := redistest.NewOwn(t)
	s.Seed(map[string]any{"a": "1"})
	url := s.URL()
	s.Restart()
	if diff := cmp.Diff(map[string]any{}, s.Dump()); diff != "" || s.URL() != url {
		t.Error(diff, s.URL())
	}
	s.Stop()
	if _, err := s.Try("PING"); err == nil {
		t.Error("a stopped server answered")
	}
	s.Start()
	s.Do("PING")
}

func TestOwnServerKeepsItsDataIfTold(t *testing.T) {
	t.Parallel()
	s := redistest.NewOwn(t, "--appendonly", "yes", "--appendfsync", "always")
	s.Seed(map[string]any{"a": "1"})
	s.Restart()
	if got := s.Get("a"); got != "1" {
		t.Error(got)
	}
}
