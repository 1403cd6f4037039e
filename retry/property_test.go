package retry_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"example.com/understudy/compat/ruby"
	"example.com/understudy/resque"
	"example.com/understudy/retry"
)

// arguments draws the text of a job's arguments: few different ones, so that
// often two of them join alike.
func arguments() *rapid.Generator[string] {
	leaf := rapid.OneOf(
		rapid.SampledFrom([]string{`1`, `"1"`, `1.0`, `1.10`, `"1.0"`, `""`, `null`, `true`, `"true"`, `"a"`, `"-"`, `"a-1"`, `{}`, `"{}"`, `{"a":1}`, `{"a":"1"}`, `" a\t"`}),
		rapid.Map(rapid.String(), func(s string) string { return string(ruby.AppendString(nil, s)) }),
	)
	var tree func(t *rapid.T, depth int) string
	tree = func(t *rapid.T, depth int) string {
		elements := make([]string, rapid.IntRange(0, 3).Draw(t, "size"))
		for i := range elements {
			if depth > 0 && rapid.Bool().Draw(t, "nested") {
				elements[i] = tree(t, depth-1)
			} else {
				elements[i] = leaf.Draw(t, "leaf")
			}
		}
		return "[" + strings.Join(elements, ",") + "]"
	}
	return rapid.Custom(func(t *rapid.T) string { return tree(t, 2) })
}

func classes() *rapid.Generator[string] {
	return rapid.OneOf(rapid.SampledFrom([]string{"X", "Billing::Send", "A b\tc", " "}), rapid.StringN(1, 20, -1))
}

func drawKey(t *rapid.T, p retry.Policy, class, args string) string {
	retrier, err := p.Retrier()
	if err != nil {
		t.Fatal(err)
	}
	counter, err := retrier.Counter(&resque.Job{Class: class, Args: []byte(args)}, 0)
	if err != nil {
		t.Fatal(err)
	}
	return counter.Key
}

// spaced says that a text holds what Ruby's \s finds.
func spaced(text string) bool { return strings.ContainsAny(text, " \t\n\v\f\r") }

// Keys hold the class, no white space and a digest of 40 digits at most, whatever
// the arguments are.
func TestKeysAreShort(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		class, args := classes().Draw(t, "class"), arguments().Draw(t, "args")
		key := drawKey(t, retry.Policy{}, class, args)
		rest, ok := strings.CutPrefix(key, "resque-retry:"+ruby.Strip(class))
		if !ok || spaced(key) {
			t.Fatalf("the key %q", key)
		}
		joined, err := ruby.Join([]byte(args), "-", ruby.Inspect31)
		if err != nil {
			t.Fatal(err)
		}
		want := 0
		if len(joined) > 0 {
			want = len(":") + 40
		}
		if len(rest) != want || strings.Trim(rest, ":0123456789abcdef") != "" {
			t.Fatalf("behind the class of %q stands %q", key, rest)
		}
	})
}

// Two jobs share a counter just when their classes are the same, white space
// aside, and their arguments join to the same text.
func TestKeysFollowTheJoinedArguments(t *testing.T) {
	t.Parallel()
	shared := 0
	rapid.Check(t, func(t *rapid.T) {
		class, args := classes().Draw(t, "class"), arguments().Draw(t, "args")
		other := rapid.OneOf(rapid.Just(class), classes()).Draw(t, "other class")
		more := rapid.OneOf(arguments(), rapid.Just("["+args+"]"), rapid.Just(`["`+strings.Repeat("x", 20)+`"]`)).Draw(t, "other args")
		form := rapid.SampledFrom([]ruby.InspectForm{ruby.Inspect31, ruby.Inspect34}).Draw(t, "form")
		one, err := ruby.Join([]byte(args), "-", form)
		if err != nil {
			t.Fatal(err)
		}
		two, err := ruby.Join([]byte(more), "-", form)
		if err != nil {
			t.Fatal(err)
		}
		same := ruby.Strip(class) == ruby.Strip(other) && string(one) == string(two)
		if same {
			shared++
		}
		p := retry.Policy{Inspect: form}
		if a, b := drawKey(t, p, class, args), drawKey(t, p, other, more); (a == b) != same {
			t.Fatalf("%s %s and %s %s: %s and %s", class, args, other, more, a, b)
		}
	})
	if shared == 0 {
		t.Error("no two jobs shared a counter")
	}
}

// Identifiers and whole keys take the place of the digest.
func TestKeysOfOnesOwn(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		class, args, id, ok := classes().Draw(t, "class"), arguments().Draw(t, "args"), rapid.String().Draw(t, "id"), rapid.Bool().Draw(t, "ok")
		key := drawKey(t, retry.Policy{Identifier: func(*resque.Job) (string, bool) { return id, ok }}, class, args)
		want := "resque-retry:" + ruby.Strip(class)
		if ok {
			want += ":" + ruby.Strip(id)
		}
		if key != want {
			t.Fatalf("got %q, want %q", key, want)
		}
		whole := rapid.StringN(1, 20, -1).Draw(t, "key")
		if got := drawKey(t, retry.Policy{Key: func(*resque.Job) string { return whole }}, class, args); got != whole {
			t.Fatalf("got %q, want %q", got, whole)
		}
	})
}

// seconds draws a list of whole seconds.
func seconds(least int64) *rapid.Generator[[]time.Duration] {
	one := rapid.Map(rapid.Int64Range(least, 1_000_000), func(s int64) time.Duration { return time.Duration(s) * time.Second })
	return rapid.SliceOfN(one, 1, 5)
}

// Delays of a backoff are whole seconds between the two factors of their element;
// the last one goes on, and the counter outlives each by ExpireAfter.
func TestBackoffStaysInItsRange(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		backoff := seconds(0).Draw(t, "backoff")
		least := rapid.Float64Range(0, 3).Draw(t, "min")
		jitter := retry.Jitter{Min: least, Max: least + rapid.Float64Range(0, 3).Draw(t, "more")}
		p := retry.Policy{Backoff: backoff, Jitter: jitter, Limit: retry.Forever, ExpireAfter: time.Hour}
		random, attempt := rapid.Float64Range(0, 0.999).Draw(t, "random"), rapid.Int64Range(0, 12).Draw(t, "attempt")
		retrier, err := p.Retrier()
		if err != nil {
			t.Fatal(err)
		}
		run := failedRun(errPlain, attempt)
		run.Random = random
		delay := retrier.Decide(run).Retry.Delay
		element := backoff[min(attempt, int64(len(backoff)-1))]
		low, high := math.Floor(element.Seconds()*jitter.Min), math.Ceil(element.Seconds()*jitter.Max)
		if jitter.Min == 0 && jitter.Max == 0 {
			low, high = element.Seconds(), element.Seconds() // {} is no jitter
		}
		if delay%time.Second != 0 || delay.Seconds() < low || delay.Seconds() > high {
			t.Fatalf("%v by %+v is %v", element, jitter, delay)
		}
		counter, err := retrier.Counter(run.Job, random)
		if err != nil {
			t.Fatal(err)
		}
		if life := counter.TTLs[min(attempt, int64(len(counter.TTLs)-1))]; life != int64(delay/time.Second)+3600 {
			t.Fatalf("a delay of %v, and the counter lives %d s", delay, life)
		}
	})
}

// Delays by error are those of the nearest entry, and the last one goes on.
func TestDelaysByErrorAreTheirOwn(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		near, far := seconds(-10).Draw(t, "near"), seconds(-10).Draw(t, "far")
		on := retry.Errors{retry.Named("NetworkError").Wait(near...), retry.Named("StandardError").Wait(far...)}
		if rapid.Bool().Draw(t, "turned") {
			on[0], on[1] = on[1], on[0]
		}
		attempt := rapid.Int64Range(0, 12).Draw(t, "attempt")
		for err, waits := range map[error][]time.Duration{network: near, refused: near, errPlain: far} {
			retrier, problem := retry.Policy{On: on, Limit: retry.Forever}.Retrier()
			if problem != nil {
				t.Fatal(problem)
			}
			if got, want := retrier.Decide(failedRun(err, attempt)).Retry.Delay, waits[min(attempt, int64(len(waits)-1))]; got != want {
				t.Fatalf("%v at attempt %d waits %v, not %v", err, attempt, got, want)
			}
		}
	})
}

// There are as many counted retries as the limit says, then none. Ignored errors
// come on top.
func TestLimitsHold(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := retry.Policy{Ignore: retry.Errors{retry.Named("NetworkError")}}
		want := rapid.IntRange(-3, 6).Draw(t, "limit")
		switch by := rapid.SampledFrom([]string{"limit", "backoff", "errors"}).Draw(t, "by"); {
		case want <= 0 || by == "limit":
			if p.Limit = want; want == 0 {
				p.Limit = retry.Never
			}
		case by == "backoff":
			p.Backoff = make([]time.Duration, want)
		default:
			p.On = retry.Errors{retry.Named("EOFError").Wait(time.Second), retry.Named("Exception").Wait(make([]time.Duration, want)...)}
		}
		retrier, err := p.Retrier()
		if err != nil {
			t.Fatal(err)
		}
		counter, counted := int64(-1), 0
		for run := range 60 {
			var err error = network
			if rapid.IntRange(0, 3).Draw(t, fmt.Sprint("error of run ", run)) > 0 {
				err = errPlain
			}
			counter++
			d := retrier.Decide(failedRun(err, counter))
			if d.Uncount != (err == network) { //nolint:errorlint // the very one
				t.Fatalf("%v uncounted: %v", err, d.Uncount)
			}
			if d.Uncount {
				counter--
			}
			if d.Retry == nil {
				if want < 0 || counted != want || want > 0 && d.Uncount {
					t.Fatalf("given up after %d counted retries of %d, by %v", counted, want, err)
				}
				return
			}
			if !d.Uncount {
				counted++
			}
			if want >= 0 && counted > want {
				t.Fatalf("%d counted retries of %d", counted, want)
			}
		}
	})
}
