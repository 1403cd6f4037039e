package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/alicebob/miniredis/v2"

	"example.com/understudy/resque"
	"example.com/understudy/scheduler"
)

// runReports fires two recurring jobs until ctx ends, and those that other
// processes, Ruby's too, keep in Redis.
func runReports(ctx context.Context, client *resque.Client) error {
	schedules := scheduler.NewSchedules(client)
	err := schedules.SetAll(ctx, map[string]scheduler.Recurring{
		"weekly report": {Cron: "30 6 * * mon Europe/Berlin", Class: "Report", Queue: "reports", Args: []any{"weekly"}},
		"PollPartner":   {Every: "5m", FirstIn: "10s", Queue: "partners"},
	})
	if err != nil {
		return err
	}
	s, err := scheduler.New(client, scheduler.Config{Schedules: schedules, Dynamic: true})
	if err != nil {
		return err
	}
	return s.Run(ctx)
}

// A job that is set in Redis is seen by every scheduler, whoever sets it.
func ExampleSchedules_Set() {
	server, err := miniredis.Run()
	if err != nil {
		panic(err)
	}
	defer server.Close()
	ctx, cancel := context.WithCancel(context.Background())
	client, err := resque.Open(ctx, "redis://"+server.Addr(), resque.Options{})
	if err != nil {
		panic(err)
	}
	schedules := scheduler.NewSchedules(client)
	err = schedules.Set(ctx, "clean up", scheduler.Recurring{
		Every: "1h", FirstIn: "now", Class: "CleanUp", Queue: "low", Args: 30, Persist: true,
	})
	fmt.Println(err, server.HGet("resque:persistent_schedules", "clean up"))

	ended := make(chan error)
	go func() { ended <- runReports(ctx, client) }()
	job, err := resque.Strings(client.Do(ctx, "BLPOP", client.Keys().Of("queue:low"), 4))
	fmt.Println(job, err)
	cancel()
	fmt.Println(errors.Join(<-ended, client.Close()))
	// Output:
	// <nil> {"every":["1h",{"first_in":0}],"class":"CleanUp","queue":"low","args":30}
	// [resque:queue:low {"class":"CleanUp","args":[30]}] <nil>
	// <nil>
}

// A recurring job is shown, changed, enqueued out of turn, and removed. One that
// can never fire is refused.
func ExampleSchedules() {
	server, err := miniredis.Run()
	if err != nil {
		panic(err)
	}
	defer server.Close()
	ctx := context.Background()
	client, err := resque.Open(ctx, "redis://"+server.Addr(), resque.Options{})
	if err != nil {
		panic(err)
	}
	defer func() { _ = client.Close() }()
	server.HSet("resque:persistent_schedules", "clear", `{"cron":"0 0 * * *","class":"Clear","args":"weekly","queue":"low"}`)

	schedules := scheduler.NewSchedules(client)
	job, ok, err := schedules.Get(ctx, "clear")
	fmt.Println(job.Cron, job.Class, ok, err)
	fmt.Println(schedules.Enqueue(ctx, job))
	job.Queue = "high"
	fmt.Println(schedules.Set(ctx, job.Name, job.Recurring))
	fmt.Println(server.HGet("resque:persistent_schedules", "clear"))
	fmt.Println(schedules.Remove(ctx, "clear"))

	fmt.Println(schedules.Set(ctx, "never", scheduler.Recurring{Cron: "0 24 * * funday", Class: "Clear"}))
	// Output:
	// 0 0 * * * Clear true <nil>
	// <nil>
	// <nil>
	// {"cron":"0 0 * * *","class":"Clear","queue":"high","args":"weekly"}
	// <nil>
	// scheduler: the recurring job's cron "0 24 * * funday": weekday funday: 0 to 7, or sun to sat (the job "never")
}

// noon is a clock at noon.
type noon struct{}

func (noon) Now() time.Time                             { return time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC) }
func (noon) Sleep(context.Context, time.Duration) error { return nil }

// A master plans when the jobs fire next.
func ExampleScheduler_Planned() {
	server, err := miniredis.Run()
	if err != nil {
		panic(err)
	}
	defer server.Close()
	ctx := context.Background()
	client, err := resque.Open(ctx, "redis://"+server.Addr(), resque.Options{})
	if err != nil {
		panic(err)
	}
	defer func() { _ = client.Close() }()
	schedules := scheduler.NewSchedules(client)
	fmt.Println(schedules.Set(ctx, "report", scheduler.Recurring{Cron: "@daily Asia/Tokyo", Class: "Report", Queue: "reports"}))
	s, err := scheduler.New(client, scheduler.Config{Schedules: schedules, Clock: noon{}, Location: time.UTC})
	if err != nil {
		panic(err)
	}
	moved, err := s.Tick(ctx)
	fmt.Println(moved, err)
	var lines []string
	for name, at := range s.Planned() {
		lines = append(lines, fmt.Sprint(name, " ", at))
	}
	slices.Sort(lines)
	fmt.Println(lines)
	// Output:
	// <nil>
	// 0 <nil>
	// [report 2026-01-02 15:00:00 +0000 UTC]
}
