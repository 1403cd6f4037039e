package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"example.com/understudy/resque"
)

// read takes the whole state of the client's namespace, in three round trips,
// but for the keys that aren't compared.
func read(ctx context.Context, client *resque.Client) (state, error) {
	prefix := client.Keys().Of("")
	keys, err := resque.Strings(client.Do(ctx, "KEYS", prefix+"*"))
	if err != nil {
		return nil, fmt.Errorf("list the keys: %w", err)
	}
	names := make([]string, 0, len(keys))
	calls := make([]resque.Call, 0, 2*len(keys))
	for _, key := range keys {
		if name := recordedPrefix + strings.TrimPrefix(key, prefix); !ignored(name) {
			names = append(names, name)
			calls = append(calls, call("TYPE", key), call("TTL", key))
		}
	}
	if len(calls) == 0 {
		return state{}, nil
	}
	heads, err := client.Pipeline(ctx, calls...)
	if err != nil {
		return nil, fmt.Errorf("read types: %w", err)
	}
	s := state{}
	reads := make([]resque.Call, len(names))
	for i, name := range names {
		e, err := readHead(heads[2*i], heads[2*i+1])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		s[name] = e
		reads[i] = readCall(e.Type, calls[2*i].Keys[0])
	}
	values, err := client.Pipeline(ctx, reads...)
	if err != nil {
		return nil, fmt.Errorf("read values: %w", err)
	}
	for i, name := range names {
		e := s[name]
		e.Value, err = readValue(e.Type, values[i])
		switch {
		case errors.Is(err, resque.ErrNil): // expired meanwhile
			delete(s, name)
		case err != nil:
			return nil, fmt.Errorf("%s: %w", name, err)
		default:
			s[name] = e
		}
	}
	return s, nil
}

func call(command, key string, args ...any) resque.Call {
	return resque.Call{Command: command, Keys: []string{key}, Args: args}
}

func readHead(kind, ttl any) (e entry, err error) {
	if e.Type, err = resque.String(kind, nil); err != nil {
		return e, fmt.Errorf("type: %w", err)
	}
	left, err := resque.Int(ttl, nil)
	if err != nil {
		return e, fmt.Errorf("time to live: %w", err)
	}
	if left >= 0 {
		e.TTL = &left
	}
	return e, nil
}

func readCall(redisType, key string) resque.Call {
	switch redisType {
	case typeList:
		return call("LRANGE", key, 0, -1)
	case typeSet:
		return call("SMEMBERS", key)
	case typeZset:
		return call("ZRANGE", key, 0, -1, "WITHSCORES")
	case typeHash:
		return call("HGETALL", key)
	default:
		return call("GET", key)
	}
}

func readValue(redisType string, reply any) (any, error) {
	switch redisType {
	case typeString, typeNone:
		return resque.String(reply, nil)
	case typeList:
		return resque.Strings(reply, nil)
	case typeSet:
		members, err := resque.Strings(reply, nil)
		slices.Sort(members)
		return members, err
	case typeHash:
		return resque.StringMap(reply, nil)
	case typeZset:
		pairs, err := resque.Strings(reply, nil)
		if err != nil {
			return nil, err
		}
		members := make([]member, len(pairs)/2)
		for i := range members {
			score, err := strconv.ParseFloat(pairs[2*i+1], 64)
			if err != nil {
				return nil, fmt.Errorf("score: %w", err)
			}
			members[i] = member{Text: pairs[2*i], Score: int64(score)}
		}
		return members, nil
	default:
		return nil, fmt.Errorf("a key of type %q", redisType)
	}
}
