package retry

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"example.com/understudy/compat/ruby"
	"example.com/understudy/resque"
)

// anyException stands for all classes that aren't named.
const anyException = "*"

// delayByException looks the delay up by the exact class of the error; before a
// run, when there is none, all others count.
func delayByException(delays map[string]Seconds) Delay {
	return Delay{of: func(_ *resque.Job, err error) (time.Duration, error) {
		if err != nil {
			if wait, ok := delays[resque.DescribeError(err).Name]; ok {
				return wait.duration(), nil
			}
		}
		return delays[anyException].duration(), nil
	}}
}

// delayFromArg reads the delay from an argument.
func delayFromArg(index int) Delay {
	return Delay{of: func(job *resque.Job, _ error) (time.Duration, error) {
		elements, err := ruby.Elements(job.Args)
		if err != nil {
			return 0, err
		}
		i, ok := place(elements, index)
		if !ok {
			return 0, nil
		}
		seconds, err := toI(elements[i])
		if err != nil {
			return 0, fmt.Errorf("argument %d: %w", index, err)
		}
		return Seconds(seconds).duration(), nil
	}}
}

// place is an index as Ruby counts it, negative ones from the end.
func place[T any](list []T, index int) (int, bool) {
	if index < 0 {
		index += len(list)
	}
	return index, index >= 0 && index < len(list)
}

// toI is Ruby's to_i of a JSON value, as far as a delay can hold it.
func toI(raw []byte) (int64, error) {
	kind := ruby.KindOf(raw)
	if kind == ruby.Null {
		return 0, nil
	}
	if kind == ruby.Number {
		return numberToI(string(raw))
	}
	if kind != ruby.Text {
		return 0, fmt.Errorf("%s has no to_i", raw)
	}
	text, err := ruby.String(raw)
	if err != nil {
		return 0, err
	}
	return boundedSeconds(leadingInteger(text))
}

// numberToI cuts a fraction off.
func numberToI(number string) (int64, error) {
	if n, ok := new(big.Int).SetString(number, 10); ok {
		return boundedSeconds(n)
	}
	f, err := strconv.ParseFloat(number, 64)
	if err != nil || math.Abs(f) > float64(maxSeconds) {
		return 0, fmt.Errorf("%s is no number of seconds", number)
	}
	return int64(f), nil
}

func boundedSeconds(n *big.Int) (int64, error) {
	if !n.IsInt64() || n.Int64() > maxSeconds || n.Int64() < -maxSeconds {
		return 0, fmt.Errorf("%v is too many seconds", n)
	}
	return n.Int64(), nil
}

// leadingInteger is String#to_i: blanks, a sign, then digits with single
// underscores between them; whatever follows is not looked at.
func leadingInteger(text string) *big.Int {
	text = strings.TrimLeft(text, " \t\n\v\f\r")
	var digits strings.Builder
	if text != "" && (text[0] == '-' || text[0] == '+') {
		digits.WriteByte(text[0])
		text = text[1:]
	}
	for i := range len(text) {
		c := text[i]
		if c == '_' && i > 0 && text[i-1] != '_' {
			continue
		}
		if c < '0' || c > '9' {
			break
		}
		digits.WriteByte(c)
	}
	n, ok := new(big.Int).SetString(digits.String(), 10)
	if !ok {
		return new(big.Int)
	}
	return n
}

// identify joins some of the arguments, or is the same for all.
func (s *IdentifierSpec) identify(job *resque.Job, form ruby.InspectForm) (string, error) {
	if s.Fixed != nil {
		return *s.Fixed, nil
	}
	elements, err := ruby.Elements(job.Args)
	if err != nil {
		return "", fmt.Errorf("retry: the arguments of %s: %w", job.Class, err)
	}
	chosen := []byte{'['}
	for n, index := range s.Fields {
		if n > 0 {
			chosen = append(chosen, ',')
		}
		if i, ok := place(elements, index); ok {
			chosen = append(chosen, elements[i]...)
		} else {
			chosen = append(chosen, "null"...)
		}
	}
	joined, err := ruby.Join(append(chosen, ']'), s.Join, form)
	return string(joined), err
}

// ways is how many changes are asked for.
func (s *ArgsSpec) ways() int {
	n := 0
	if s.Replace != nil {
		n++
	}
	if s.Increment != nil {
		n++
	}
	if s.AppendException {
		n++
	}
	return n
}

// change makes the arguments of the retry.
func (s *ArgsSpec) change() ArgsFunc {
	switch {
	case s == nil:
		return nil
	case s.Replace != nil:
		return func(*resque.Job, error) ([]any, error) {
			return Arguments(&resque.Job{Args: s.Replace.JSON()}), nil
		}
	case s.Increment != nil:
		return func(job *resque.Job, _ error) ([]any, error) { return incremented(Arguments(job), *s.Increment) }
	default:
		return func(job *resque.Job, err error) ([]any, error) {
			e := resque.DescribeError(err)
			return append(Arguments(job), e.Name+": "+e.Message), nil
		}
	}
}

func incremented(args []any, index int) ([]any, error) {
	i, ok := place(args, index)
	if !ok {
		return nil, fmt.Errorf("there is no argument %d to increment", index)
	}
	raw, _ := args[i].(json.RawMessage) // Arguments gives nothing else
	number := string(raw)
	if n, ok := new(big.Int).SetString(number, 10); ok {
		args[i] = json.RawMessage(n.Add(n, big.NewInt(1)).String())
		return args, nil
	}
	f, err := strconv.ParseFloat(number, 64)
	if err != nil || ruby.KindOf(raw) != ruby.Number {
		return nil, fmt.Errorf("argument %d is %s, which can't be incremented", index, raw)
	}
	args[i] = json.RawMessage(ruby.AppendFloat(nil, f+1))
	return args, nil
}

// checks are the criteria checks.
func (s Spec) checks() []Check {
	var checks []Check
	for _, c := range s.CriteriaChecks {
		checks = append(checks, func(_ *resque.Job, err error) bool {
			return c.Returns && strings.Contains(err.Error(), c.MessageIncludes)
		})
	}
	return checks
}
