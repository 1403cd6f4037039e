package resque_test

import (
	"context"
	"encoding/json"
	"fmt"

	"example.com/understudy/resque"
)

// The arguments of Ruby's perform(id, options, note = nil) become those of a Go
// function; what doesn't fit is an ArgumentError in Ruby's words.
func ExampleFunc_arguments() {
	type options struct {
		Urgent bool
		Tags   []string `json:"tags"`
	}
	handler := resque.Func(func(_ context.Context, id int64, o options, note *string) error {
		fmt.Println(id, o.Urgent, o.Tags, note != nil)
		return nil
	})
	for _, args := range []string{
		`[7,{"urgent":true,"tags":["a","b"]}]`,
		`[8,{},"call first"]`,
		`[9]`,
		`["10",{}]`,
		`[11,{"tags":["a",5]}]`,
	} {
		err := handler.Perform(context.Background(), &resque.Job{Class: "Deliver", Args: json.RawMessage(args)})
		if err != nil {
			fmt.Println("ArgumentError:", err)
		}
	}
	// Output:
	// 7 true [a b] false
	// 8 false [] true
	// ArgumentError: wrong number of arguments (given 1, expected 2..3)
	// ArgumentError: wrong type of argument 1 (given String, expected int64)
	// ArgumentError: wrong type of argument 2 at tags[1] (given Integer, expected string)
}
