package resque

import (
	"context"
	"errors"
)

// editor carries out any number of edits that remove elements, in several steps.
// Those of one list stand in its order, with the indices that they have before the
// first step.
type editor struct {
	client *Client
	edits  []Edit
	// done is called behind each step for those that found an element; nil: for
	// none.
	done func(edit int)
	// refused is called for those whose keys are of the wrong type, and the others
	// are carried out. nil: that is an error of all of them.
	refused func(edit int, err error)
}

// editAll is an editor without refusals. It answers how many elements were found.
func (c *Client) editAll(ctx context.Context, edits []Edit, done func(edit int)) (total int64, err error) {
	return editor{client: c, edits: edits, done: done}.run(ctx)
}

func (e editor) run(ctx context.Context) (total int64, err error) {
	gone := map[string]int64{} // how many elements of each list earlier steps removed
	left := make([]int, len(e.edits))
	for i := range left {
		left[i] = i
	}
	for len(left) > 0 {
		count := e.stepOf(left)
		step := make([]Edit, count)
		for i := range step {
			step[i] = e.edits[left[i]]
			step[i].Near -= gone[step[i].Key]
		}
		found, err := e.client.Edit(ctx, step...)
		if rest := e.refuse(left, err); len(rest) < len(left) {
			left = rest
			continue
		}
		if err != nil {
			return total, err
		}
		for i, n := range found {
			total += n
			gone[step[i].Key] += n
			if e.done != nil && n > 0 {
				e.done(left[i])
			}
		}
		left = left[count:]
	}
	return total, nil
}

// refuse tells of the edits that need the key of which an error speaks, and answers
// the others.
func (e editor) refuse(edits []int, err error) (rest []int) {
	wrong, ok := errors.AsType[*wrongTypeError](err)
	if !ok || e.refused == nil {
		return edits
	}
	for _, i := range edits {
		if e.edits[i].touches(e.client.keys, wrong.key) {
			e.refused(i, err)
		} else {
			rest = append(rest, i)
		}
	}
	return rest
}

// editBatch is how many edits go in one step.
const editBatch = 250

// stepOf is how many of the edits go in one step: at least one, and so few that
// large elements don't keep the server from others.
func (e editor) stepOf(edits []int) int {
	size := 0
	for n, i := range edits {
		size += len(e.edits[i].Raw)
		if n > 0 && (n == editBatch || size > maxStepBytes) {
			return n
		}
	}
	return len(edits)
}
