package cli

import (
	"container/heap"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"example.com/understudy/scheduler"
	"example.com/understudy/scheduler/cron"
	"example.com/understudy/scheduler/schedulefile"
)

const nextHelp = `Lists every firing of the jobs of a file, in its order, as a scheduler plans it that
loads the file at --from. Where clocks change, it says which times are skipped, and
which come twice.

Examples:
   understudy schedule next schedule.yml
   understudy schedule next schedule.yml clear_caches --limit 5 --to 8760h
   understudy schedule next schedule.yml --from 2026-03-28T12:00:00Z --tz Europe/Berlin
   understudy schedule next schedule.yml --output json`

// nextPeriod is what schedule next shows where nothing else is asked for.
const nextPeriod = 24 * time.Hour

func (a *app) scheduleNext() *cli.Command {
	return &cli.Command{
		Name:        "next",
		Usage:       "list when the jobs of a file fire",
		UsageText:   binary + " schedule next FILE [NAME...] [options]",
		Description: nextHelp,
		Flags: append(scheduleFlags(),
			&cli.StringFlag{Name: "from", Usage: "`MOMENT` at which the schedule is loaded: 2026-12-31T23:59:00Z, '2026-12-31 23:59' (of --tz), seconds since 1970, or from now, 2h and -2h (default: now)"},
			&cli.StringFlag{Name: "to", Usage: "`MOMENT` up to which firings are listed, or a time behind --from such as 48h (default: 24h)"},
			limitFlag(), outputFlag(),
		),
		Action: func(c *cli.Context) error { return unlessUnread(a.runScheduleNext(a.settings(c))) },
	}
}

// nextAsked is what schedule next was asked for.
type nextAsked struct {
	circumstances

	names    []string // none: all
	from, to time.Time
	limit    int64
	json     bool
}

func (s settings) next(now time.Time) (asked nextAsked, err error) {
	if s.c.NArg() == 0 {
		return asked, refuse(s.line(""), "which file? Name it, or - for standard input")
	}
	asked.names = s.c.Args().Tail()
	if asked.circumstances, err = s.circumstances(now); err != nil {
		return asked, err
	}
	if asked.from, err = s.instant("from", now, now, asked.zone); err != nil {
		return asked, err
	}
	if asked.to, err = s.instant("to", asked.from, asked.from.Add(nextPeriod), asked.zone); err != nil {
		return asked, err
	}
	if !asked.to.After(asked.from) {
		return asked, refuse(s.line("--to 48h"), "--to is not behind --from, so that there is nothing in between")
	}
	if asked.limit, err = s.limit(); err != nil {
		return asked, err
	}
	asked.json, err = s.json()
	return asked, err
}

// instant reads an option as settings.bound does; what names no zone is of the one
// given.
func (s settings) instant(option string, start, standard time.Time, zone *time.Location) (time.Time, error) {
	text := s.given(option)
	if text == nil {
		return standard.In(zone), nil
	}
	for _, layout := range []string{"2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02T15:04:05", "2006-01-02T15:04", time.DateOnly} {
		if at, err := time.ParseInLocation(layout, *text, zone); err == nil {
			return at, nil
		}
	}
	at, err := s.bound(option, start)
	return at.In(zone), err
}

func (a *app) runScheduleNext(s settings) error {
	asked, err := s.next(time.Now())
	if err != nil {
		return err
	}
	path := s.c.Args().First()
	file, err := a.readSchedule(path, asked.zone)
	if err != nil {
		if _, faulty := errors.AsType[*schedulefile.FaultsError](err); faulty {
			return refuse("", "%v", err)
		}
		return err
	}
	for _, name := range asked.names {
		if !slices.ContainsFunc(file.Entries, func(e schedulefile.Entry) bool { return e.Name == name }) {
			return refuse(s.line(""), "%s has no job %q", path, name)
		}
	}
	plans, err := plansOf(file, asked)
	if err != nil {
		return err
	}
	write, end := a.firingWriter(asked)
	if err := errors.Join(eachFiring(plans, asked, write), end()); err != nil {
		return err
	}
	if plans.listed == 0 {
		a.say("nothing fires between %s and %s%s", shownTime(asked.from), shownTime(asked.to), plans.nearest())
	}
	return nil
}

func shownTime(t time.Time) string { return t.Format("2006-01-02 15:04:05 -0700 MST") }

// firing is one line of schedule next.
type firing struct {
	At    time.Time `json:"at"`
	Name  string    `json:"name"`
	Class string    `json:"class"`
	Queue string    `json:"queue"`
	// Fires is false for a time that clocks skip.
	Fires bool   `json:"fires"`
	Note  string `json:"note,omitempty"`
	shown string // the time, where it is none
}

// firingWriter writes firings as a table or as JSON.
func (a *app) firingWriter(asked nextAsked) (write func(firing) error, end func() error) {
	if asked.json {
		encoder := jsonLines(a.stdout)
		return func(f firing) error { return encoder.Encode(f) }, func() error { return nil }
	}
	const most = 40
	t := newTable(a.stdout, a.width(), column{title: "TIME"}, column{title: "NAME", most: most}, column{title: "QUEUE", most: most},
		column{title: "CLASS", most: most}, column{title: "NOTE"})
	return func(f firing) error {
		at := f.shown
		if at == "" {
			at = shownTime(f.At)
		}
		return t.row(at, f.Name, f.Queue, f.Class, f.Note)
	}, t.end
}

// plan is a job with its next firing.
type plan struct {
	schedulefile.Entry

	queue   string
	timing  scheduler.Timing
	skipped []firing // times that clocks skip, in their order
	next    firing
}

// advance goes to the next firing, or to the next time that is none; not ok: there
// is none.
func (p *plan) advance(to time.Time) (ok bool) {
	at := p.timing.Planned()
	fires := !at.IsZero() && !at.After(to)
	if len(p.skipped) > 0 && (!fires || !p.skipped[0].At.After(at)) {
		p.next, p.skipped = p.skipped[0], p.skipped[1:]
		return true
	}
	if !fires {
		return false
	}
	p.next = firing{At: at, Name: p.Name, Class: p.Job.Class, Queue: p.queue, Fires: true, Note: clockNote(p.zoneOf(at), p.Job.Cron != "")}
	p.timing = p.timing.Fired(at)
	return true
}

// zoneOf is a time in the zone in which the job's line is read.
func (p *plan) zoneOf(at time.Time) time.Time {
	if line, err := cron.Parse(p.Job.Cron); p.Job.Cron != "" && err == nil && line.Location() != nil {
		return at.In(line.Location())
	}
	return at
}

// plans are a heap, the earliest firing at its top.
type plans struct {
	list   []*plan
	never  []*plan // those with nothing in the period
	listed int
}

func (p *plans) Len() int { return len(p.list) }
func (p *plans) Less(i, j int) bool {
	a, b := p.list[i].next, p.list[j].next
	return a.At.Before(b.At) || a.At.Equal(b.At) && a.Name < b.Name
}
func (p *plans) Swap(i, j int) { p.list[i], p.list[j] = p.list[j], p.list[i] }
func (p *plans) Push(x any)    { p.list = append(p.list, x.(*plan)) } //nolint:forcetypeassert,errcheck // heap's own
func (p *plans) Pop() any {
	last := p.list[len(p.list)-1]
	p.list = p.list[:len(p.list)-1]
	return last
}

// nearest says when something fires behind the period.
func (p *plans) nearest() string {
	var first *plan
	for _, one := range p.never {
		at := one.timing.Planned()
		if !at.IsZero() && (first == nil || at.Before(first.timing.Planned())) {
			first = one
		}
	}
	if first == nil {
		return ", nor later"
	}
	return fmt.Sprintf("; the next is %s at %s", visible(first.Name, 0), shownTime(first.timing.Planned()))
}

func plansOf(file *schedulefile.File, asked nextAsked) (*plans, error) {
	all := &plans{}
	for _, e := range file.Entries {
		if len(asked.names) > 0 && !slices.Contains(asked.names, e.Name) || !e.Job.Within(asked.Env) {
			continue
		}
		timing, err := e.Job.Timing(asked.from)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", e.Name, err) // the file would have been refused
		}
		p := &plan{Entry: e, queue: e.Job.Queue, timing: timing}
		if p.queue == "" {
			p.queue = asked.QueueOf(e.Job.Class)
		}
		p.skipped = skippedTimes(p, asked)
		if p.advance(asked.to) {
			all.list = append(all.list, p)
		} else {
			all.never = append(all.never, p)
		}
	}
	heap.Init(all)
	return all, nil
}

// eachFiring goes through all firings in their order.
func eachFiring(p *plans, asked nextAsked, write func(firing) error) error {
	for p.Len() > 0 && (asked.limit == 0 || int64(p.listed) < asked.limit) {
		first := p.list[0]
		if err := write(first.next); err != nil {
			return err
		}
		p.listed++
		if first.advance(asked.to) {
			heap.Fix(p, 0)
		} else {
			heap.Pop(p)
		}
	}
	return nil
}

// clockNote says of a time that its clock shows it twice.
func clockNote(at time.Time, byClock bool) string {
	if !byClock {
		return "" // every counts time, whatever clocks show
	}
	begin, end := at.ZoneBounds()
	_, offset := at.Zone()
	if !end.IsZero() {
		if _, later := end.Zone(); later < offset && !at.Before(end.Add(-time.Duration(offset-later)*time.Second)) {
			return "clocks go back: the first of two such times"
		}
	}
	if !begin.IsZero() {
		if _, before := begin.Add(-1).Zone(); before > offset && at.Before(begin.Add(time.Duration(before-offset)*time.Second)) {
			return "clocks went back: the second of two such times"
		}
	}
	return ""
}

// maxSkipped bounds the times of one change of clocks: a job of every second.
const maxSkipped = 100

// skippedTimes are the times of a line of cron that clocks skip in the period.
func skippedTimes(p *plan, asked nextAsked) (skipped []firing) {
	line, err := cron.Parse(p.Job.Cron)
	if p.Job.Cron == "" || err != nil {
		return nil
	}
	for at := p.zoneOf(asked.from); ; {
		_, change := at.ZoneBounds()
		if change.IsZero() || change.After(asked.to) {
			return skipped
		}
		if !change.After(at) { // at some turns of a year the standard library answers the time itself
			at = at.Add(time.Hour)
			continue
		}
		_, before := change.Add(-1).Zone()
		_, after := change.Zone()
		if after > before {
			skipped = append(skipped, p.skippedAt(line, change, time.Duration(after-before)*time.Second, before)...)
		}
		at = change
	}
}

// skippedAt are those of one change: what the line would name on a clock that
// doesn't change.
func (p *plan) skippedAt(line *cron.Schedule, change time.Time, gap time.Duration, offset int) (skipped []firing) {
	wall := change.UTC().Add(time.Duration(offset) * time.Second)
	still := line.In(time.UTC)
	for at := still.Next(wall.Add(-time.Second)); !at.IsZero() && at.Before(wall.Add(gap)) && len(skipped) < maxSkipped; at = still.Next(at) {
		shown := at.Format("2006-01-02 15:04:05")
		skipped = append(skipped, firing{
			At: change, Name: p.Name, Class: p.Job.Class, Queue: p.queue, shown: shown + " " + strings.Repeat("-", len("-0700")),
			Note: shown[len("2006-01-02 "):] + " doesn't exist: clocks go forward, so it doesn't fire",
		})
	}
	return skipped
}
