package cron_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"example.com/understudy/scheduler/cron"
)

// A refusal names the part that is wrong, and says what to write.
func TestRefusals(t *testing.T) {
	t.Parallel()
	const (
		six = "write five fields (minute, hour, day, month, weekday), or six with the second first; a time zone may follow"
		day = "1 to 31, -1 to -31 from the end of the month, or L for the last"
	)
	tests := []struct{ line, want string }{
		{"", `line "": ` + six},
		{" \t", `line "": ` + six},
		{"nonsense", "line nonsense: has 1 fields; " + six},
		{"* * * *", "line * * * *: has 4 fields; " + six},
		{"* * * * * * * *", "line * * * * * * * *: has 8 fields; " + six},
		{"* * * * Paris", "weekday Paris: 0 to 7, or sun to sat"},
		{"60 * * * *", "minute 60: 0 to 59"},
		{"5-60 * * * *", "minute 60: 0 to 59"},
		{"1,2,60/5 * * * *", "minute 60: 0 to 59"},
		{"005 * * * *", "minute 005: 0 to 59"},
		{"+5 * * * *", "minute +5: 0 to 59"},
		{"60 * * * * *", "second 60: 0 to 59"},
		{"0 25 * * *", "hour 25: 0 to 23, or 24 for 0"},
		{"0 24-25 * * *", "hour 25: 0 to 23, or 24 for 0"},
		{"0 24-x/2 * * *", "hour x: 0 to 23, or 24 for 0"},
		{"0 0 32 * *", "day 32: " + day},
		{"0 0 0 * *", "day 0: " + day},
		{"0 0 -32 * *", "day -32: " + day},
		{"0 0 - * *", "day -: " + day},
		{"0 0 L-3 * *", "day L-3: what begins at the end of the month ends there, too: write L--1"},
		{"0 0 -5/2 * *", "day -5/2: what begins at the end of the month ends there, too: write -5--1"},
		{"0 0 15W * *", "day 15W: " + day},
		{"0 0 ? * 1", "day ?: write *"},
		{"0 0 * 13 *", "month 13: 1 to 12, or jan to dec"},
		{"0 0 * january *", "month january: write jan"},
		{"0 0 * * 8", "weekday 8: 0 to 7, or sun to sat"},
		{"0 0 * * 07", "weekday 07: 0 to 7, or sun to sat"},
		{"0 0 * * Monday", "weekday Monday: write mon"},
		{"0 0 * * mon-friday", "weekday friday: write fri"},
		{"0 0 * * *-5", "weekday *-5: 0 to 7, or sun to sat"},
		{"*-5 * * * *", "minute *-5: 0 to 59"},
		{"5/* * * * *", "minute 5/*: a step is a number: write */5"},
		{"*/0 * * * *", "minute */0: a step is 1 to 99, such as */5"},
		{"*/100 * * * *", "minute */100: a step is 1 to 99, such as */5"},
		{"*/ * * * *", "minute */: a step is 1 to 99, such as */5"},
		{"*/+5 * * * *", "minute */+5: a step is 1 to 99, such as */5"},
		{"1/2/3 * * * *", "minute 1/2/3: a step is 1 to 99, such as */5"},
		{"1,,2 * * * *", `minute "": something is missing; 0 to 59`},
		{"1- * * * *", `minute "": something is missing; 0 to 59`},
		{"10~20 * * * *", "minute 10~20: two schedulers would draw different numbers: write one"},
		{"5& * * * *", "minute 5&: 0 to 59"},
		{"0 0 * * mon#6", "weekday mon#6: after # stands 1 to 5, -1 to -5 from the end of the month, or L for the last"},
		{"0 0 * * mon#--1", "weekday mon#--1: after # stands 1 to 5, -1 to -5 from the end of the month, or L for the last"},
		{"0 0 * * mon-fri#2", "weekday mon-fri: 0 to 7, or sun to sat"},
		{"0 0 * * mon%0", "weekday mon%0: after % stands every how many weeks, and after + a shift: write %2, or %2+1 for the weeks between"},
		{"0 0 * * mon%2+", "weekday mon%2+: after % stands every how many weeks, and after + a shift: write %2, or %2+1 for the weeks between"},
		{"0 0 30 2 *", "day 30 of month 2: no such day is in these months"},
		{"0 0 31 feb,4 mon", "day 31 of month feb,4: no such day is in these months"},
		{"@dayly", "line @dayly: write @daily"},
		{"@reboot", "line @reboot: write one of @annually, @daily, @hourly, @midnight, @monthly, @noon, @weekly, @yearly"},
		{"0 0 * * * Europe/Pariss", "time zone Europe/Pariss: isn't known; write Europe/Paris"},
		{"0 0 * * * europe/paris", "time zone europe/paris: isn't known; write Europe/Paris"},
		{"0 0 * * * Berlin", "time zone Berlin: isn't known; write Europe/Berlin"},
		{"0 0 * * * Europe/New_York", "time zone Europe/New_York: isn't known; write America/New_York"},
		{"@daily *", "line @daily *: after @daily stands nothing but a time zone"},
		{"@daily UTC GMT", "line @daily UTC GMT: after @daily stands nothing but a time zone"},
		{"0 0 * * * Africa//Casablanca", "time zone Africa//Casablanca: isn't known; write Africa/Casablanca"},
		{"0 0 * * * Local", "time zone Local: isn't known; write a name such as Europe/Berlin, or an offset such as +05:30"},
		{"0 0 * * * ../Europe/Paris", "weekday ../Europe/Paris"},
		{"0 0 * * * +12:00", "time zone +12:00: an offset is -11:45 to +11:45, in quarters of an hour; beyond it write a name, such as Pacific/Auckland"},
		{"0 0 * * * +05:31", "time zone +05:31: an offset is -11:45 to +11:45, in quarters of an hour; beyond it write a name, such as Pacific/Auckland"},
		{"0 0 * * * +", "time zone +: an offset is -11:45 to +11:45, in quarters of an hour; beyond it write a name, such as Pacific/Auckland"},
		{"0 0 * * * -00:30", "time zone -00:30: Ruby takes it for +00:30; write a name"},
		{"\x00 * * * *", `minute "\x00": 0 to 59`},
		{"é * * * *", "minute é: 0 to 59"},
		{strings.Repeat("9", 100) + " * * * *", "minute " + strings.Repeat("9", 60) + "...: 0 to 59"},
	}
	for _, test := range tests {
		t.Run(test.line, func(t *testing.T) {
			t.Parallel()
			s, err := cron.Parse(test.line)
			var refusal *cron.FieldError
			if s != nil || !errors.As(err, &refusal) || !strings.HasPrefix(err.Error(), "cron: "+test.want) {
				t.Errorf("got %v, want cron: %s", err, test.want)
			}
			if never := strings.Contains(test.want, "no such day"); errors.Is(err, cron.ErrNever) != never {
				t.Errorf("is ErrNever: %t", !never)
			}
		})
	}
}

// Two texts that mean the same fire at the same times.
func TestSameTimes(t *testing.T) {
	t.Parallel()
	tests := []struct{ line, same string }{
		{" 0 0 * * *\n", "0 0 * * *"},
		{"0\t0   * * *\tEurope/Paris", "0 0 * * * Europe/Paris"},
		{"@daily Europe/Paris", "0 0 * * * Europe/Paris"},
		{"@midnight", "0 0 * * *"},
		{"@noon", "0 12 * * *"},
		{"@annually", "0 0 1 jan *"},
		{"0 0 * * * *", "0 * * * *"},
		{"0 0 * JAN Mon", "0 0 * 1 1"},
		{"0 0 * MAR-may THU", "0 0 * 3-5 4"},
		{"0 0 * * 7", "0 0 * * 0"},
		{"0 0 * * 5-7", "0 0 * * fri,sat,sun"},
		{"0 0 * * 7-2", "0 0 * * 0-2"},
		{"0 0 * * fri-mon/2", "0 0 * * fri,sun"},
		{"0 0 * * *,mon", "0 0 * * mon"},
		{"*,5 0 * * *", "* 0 * * *"},
		{"/20 0 * * *", "0,20,40 0 * * *"},
		{"*/90 0 * * *", "0 0 * * *"},
		{"50-10/7 0 * * *", "50,57,4 0 * * *"},
		{"58-3/2 0 * * *", "58,0,2 0 * * *"},
		{"7/20 0 * * *", "7,27,47 0 * * *"},
		{"7/1 0 * * *", "7 0 * * *"},
		{"0 22-2 * * *", "0 22,23,0,1,2 * * *"},
		{"0 24 * * *", "0 0 * * *"},
		{"0 22-24 * * *", "0 22,23,0 * * *"},
		{"0 0-24/9 * * *", "0 0,9,18 * * *"},
		{"0 24-24/3 * * *", "0 0 * * *"},
		{"0 24-5/2 * * *", "0 0,1,3,5 * * *"},
		{"0 24-1/5 * * *", "0 0 * * *"},
		{"0 24/6 * * *", "0 0,5,11,17,23 * * *"},
		{"0 0 L * *", "0 0 -1 * *"},
		{"0 0 last * *", "0 0 -1 * *"},
		{"0 0 -3--1 * *", "0 0 -3,-2,-1 * *"},
		{"0 0 -5--1/2 * *", "0 0 -5,-3,-1 * *"},
		{"0 0 28-L * *", "0 0 28-31 * *"},
		{"0 0 5--2/10 * *", "0 0 5,15,25 * *"},
		{"0 0 31 2,3 mon", "0 0 31 3 mon"},
		{"0 0 30,31 feb,apr *", "0 0 30 apr *"},
		{"0 0 */1 * mon", "0 0 * * mon"},
		{"0 0 13 * */1", "0 0 * * *"},
		{"0 0 * * mon#L", "0 0 * * mon#-1"},
		{"0 0 * * mon#last", "0 0 * * 1#-1"},
		{"0 0 * * mon#1,mon#3", "0 0 1-7,15-21& * mon"},
		{"0 0 13 * fri&", "0 0 13& * fri"},
		{"0 0 * * * +0530", "0 0 * * * Asia/Kolkata"},
		{"0 0 * * * UTC-11", "0 0 * * * Etc/GMT+11"},
		{"0 0 * * * CST5CDT", "0 0 * * * CST6CDT"},
	}
	for _, test := range tests {
		t.Run(test.line, func(t *testing.T) {
			t.Parallel()
			s, same := parse(t, test.line), parse(t, test.same)
			if s.String() != test.line {
				t.Errorf("String: %q", s)
			}
			at := time.Date(2026, time.January, 2, 3, 4, 5, 0, time.UTC)
			for range 300 {
				next := s.Next(at)
				if want := same.Next(at); !next.Equal(want) {
					t.Fatalf("after %v: %v, %s: %v", at, next, same, want)
				}
				at = next
			}
		})
	}
}

func TestLocation(t *testing.T) {
	t.Parallel()
	if got := parse(t, "0 0 * * *").Location(); got != nil {
		t.Errorf("no zone: %v", got)
	}
	for _, name := range []string{"Europe/Paris", "America/Argentina/Buenos_Aires", "America/Port-au-Prince", "EST", "Etc/GMT+5", "-03:45"} {
		if got := parse(t, "0 0 * * * "+name).Location().String(); got != name {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A zone that can't be read would be a poor suggestion.
func TestSuggestedZones(t *testing.T) {
	t.Parallel()
	names := cron.ZoneNames()
	if len(names) == 0 {
		t.Fatal("none")
	}
	for _, name := range names {
		if _, err := cron.Parse("0 0 * * * " + name); err != nil {
			t.Error(err)
		}
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	tests := []struct{ line, want string }{
		{"*/5 * * * *", ""},
		{"0 0 29 2 mon&", ""},
		{"0 0 -31 2 *", "0 0 -31 2 * never fires: there is no such time in 400 years"},
		{"0 0 1& * mon#3", "0 0 1& * mon#3 never fires: there is no such time in 400 years"},
		{"30 2 8-14& 3 sun America/New_York", ""},                                                                                    // the clocks haven't always gone forward then
		{"0 30 2 25-31& mar sun Europe/Paris", "0 30 2 25-31& mar sun Europe/Paris never fires: there is no such time in 400 years"}, // but here they do
		{"0 5/1 * * *", "hour 5/1 is 5 alone; later versions of Ruby's fugit go on to the end: write 5 or a range"},
		{"0 0 -5/1 * *", "day -5/1 is -5 alone; later versions of Ruby's fugit go on to the end: write -5 or a range"},
		{"0 0 * * 1/2", "weekday 1/2 is 1 alone: write a range, such as 1-6/2"},
		{"@daily", ""},
		{" @daily Europe/Paris", " @daily Europe/Paris: versions of Ruby's fugit refuse a time zone there; write the fields, such as 0 0 * * * Europe/Paris"},
		{"0 0 * * mon%2", "weekday mon%2: versions of Ruby's fugit count the weeks differently; look at the next times"},
	}
	for _, test := range tests {
		if got := strings.Join(parse(t, test.line).Warnings(), "; "); got != test.want {
			t.Errorf("%s: %q, want %q", test.line, got, test.want)
		}
	}
}

func parse(tb testing.TB, line string) *cron.Schedule {
	tb.Helper()
	s, err := cron.Parse(line)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}
