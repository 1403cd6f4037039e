package resque

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// runField is one slot's entry in the hash understudy:runs:<process>: the fence of
// its run.
//
//	<token> o[\n<raw>]                                        reserved
//	<token> b <attempt> <before> <expires> <lk> <lm>\n<key><mark><raw>  begun
//	<token> d                                                 recorded
//	<token> r                                                 taken away by recovery
type runField struct {
	token int64
	state byte // o, b, d, r
	// The rest is of begun runs. before is what the counter was ("-": absent),
	// expires when it was to expire, in ms ("-": never).
	attempt, before, expires string
	// counter is the counter's key without namespace, mark whose begin was noted
	// for it before this one.
	counter, mark string
	// raw is the element where the hand holds it as text only.
	raw []byte
}

func parseField(stored []byte) (runField, error) {
	head, data, _ := bytes.Cut(stored, []byte("\n"))
	words := strings.Fields(string(head))
	bad := func() (runField, error) {
		return runField{}, fmt.Errorf("resque: field %.60q of understudy:runs", stored)
	}
	if len(words) < 2 || len(words[1]) != 1 {
		return bad()
	}
	token, err := strconv.ParseInt(words[0], 10, 64)
	if err != nil {
		return bad()
	}
	f := runField{token: token, state: words[1][0], raw: data}
	if f.state != 'b' {
		return f, nil
	}
	if len(words) != 7 {
		return bad()
	}
	f.attempt, f.before, f.expires = words[2], words[3], words[4]
	nk, errKey := strconv.Atoi(words[5])
	nm, errMark := strconv.Atoi(words[6])
	if errKey != nil || errMark != nil || nk < 0 || nm < 0 || nk+nm > len(data) {
		return bad()
	}
	f.counter, f.mark, f.raw = string(data[:nk]), string(data[nk:nk+nm]), data[nk+nm:]
	return f, nil
}

// unfinished says that the run's job is still owed.
func (f runField) unfinished() bool { return f.state == 'o' || f.state == 'b' }
