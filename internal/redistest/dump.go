package redistest

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
)

// The values of keys, for Seed and Dump; a string is a string.
type (
	// List is a list from left to right.
	List []string
	// Set is a set; Dump sorts it.
	Set []string
	// Hash is a hash.
	Hash map[string]string
	// ZSet holds the members of a sorted set with their scores.
	ZSet map[string]float64
	// Stream holds the fields and values of a stream's entries, oldest first,
	// without their ids.
	Stream [][]string
)

// Seed writes keys of the namespace.
func (s *Server) Seed(keys map[string]any) {
	s.tb.Helper()
	for key, value := range keys {
		for _, command := range seed(s.Key(key), value) {
			s.Do(command[0].(string), command[1:]...) //nolint:errcheck,forcetypeassert // seed puts names there
		}
	}
}

func seed(key string, value any) [][]any {
	switch v := value.(type) {
	case string:
		return [][]any{{"SET", key, v}}
	case List:
		return [][]any{append([]any{"RPUSH", key}, anys(v)...)}
	case Set:
		return [][]any{append([]any{"SADD", key}, anys(v)...)}
	case Hash:
		command := []any{"HSET", key}
		for field, text := range v {
			command = append(command, field, text)
		}
		return [][]any{command}
	case ZSet:
		command := []any{"ZADD", key}
		for member, score := range v {
			command = append(command, strconv.FormatFloat(score, 'f', -1, 64), member)
		}
		return [][]any{command}
	case Stream:
		commands := make([][]any, 0, len(v))
		for _, entry := range v {
			commands = append(commands, append([]any{"XADD", key, "*"}, anys(entry)...))
		}
		return commands
	default:
		panic(fmt.Sprintf("redistest: no value of Redis: %T", value))
	}
}

func anys(texts []string) []any {
	values := make([]any, len(texts))
	for i, text := range texts {
		values[i] = text
	}
	return values
}

// Names lists the keys of the namespace, without it, sorted.
func (s *Server) Names() []string {
	s.tb.Helper()
	names := []string{}
	seen := map[string]bool{}
	cursor := "0"
	for {
		reply := list(s.Do("SCAN", cursor, "MATCH", s.namespace+":*", "COUNT", 1000))
		for _, key := range list(reply[1]) {
			if name := strings.TrimPrefix(text(key), s.namespace+":"); !seen[name] {
				seen[name] = true
				names = append(names, name)
			}
		}
		if cursor = text(reply[0]); cursor == "0" {
			sort.Strings(names)
			return names
		}
	}
}

// Dump reads all keys of the namespace: string, List, Set, Hash, ZSet or Stream
// by name.
func (s *Server) Dump() map[string]any {
	s.tb.Helper()
	keys := map[string]any{}
	for _, name := range s.Names() {
		if value := s.Get(name); value != nil {
			keys[name] = value
		}
	}
	return keys
}

// Get reads one key of the namespace; nil: there is none.
func (s *Server) Get(name string) any {
	s.tb.Helper()
	key := s.Key(name)
	switch kind := text(s.Do("TYPE", key)); kind {
	case "none":
		return nil
	case "string":
		return s.Do("GET", key)
	case "list":
		return List(texts(s.Do("LRANGE", key, 0, -1)))
	case "set":
		members := texts(s.Do("SMEMBERS", key))
		sort.Strings(members)
		return Set(members)
	case "hash":
		hash := Hash{}
		pairs := texts(s.Do("HGETALL", key))
		for i := 0; i+1 < len(pairs); i += 2 {
			hash[pairs[i]] = pairs[i+1]
		}
		return hash
	case "zset":
		return scores(texts(s.Do("ZRANGE", key, 0, -1, "WITHSCORES")))
	case "stream":
		stream := Stream{}
		for _, entry := range list(s.Do("XRANGE", key, "-", "+")) {
			stream = append(stream, texts(list(entry)[1]))
		}
		return stream
	default:
		s.tb.Fatalf("redistest: %s is a %s", name, kind)
		return nil
	}
}

func scores(pairs []string) ZSet {
	members := ZSet{}
	for i := 0; i+1 < len(pairs); i += 2 {
		score, err := strconv.ParseFloat(pairs[i+1], 64)
		if err != nil {
			panic(err)
		}
		members[pairs[i]] = score
	}
	return members
}

// TTLs tells the seconds that those keys of the namespace have left which
// expire.
func (s *Server) TTLs() map[string]int64 {
	s.tb.Helper()
	ttls := map[string]int64{}
	for _, name := range s.Names() {
		if ttl, ok := s.Do("TTL", s.Key(name)).(int64); ok && ttl >= 0 {
			ttls[name] = ttl
		}
	}
	return ttls
}

func list(reply any) []any {
	values, ok := reply.([]any)
	if !ok {
		panic(fmt.Sprintf("redistest: %T instead of a list", reply))
	}
	return values
}

func text(reply any) string {
	s, ok := reply.(string)
	if !ok {
		panic(fmt.Sprintf("redistest: %T instead of a text", reply))
	}
	return s
}

func texts(reply any) []string {
	values := list(reply)
	all := make([]string, len(values))
	for i, value := range values {
		all[i] = text(value)
	}
	return all
}
