package resque

import "example.com/understudy/compat/ruby"

// rewriteLua writes a hand anew: an element that Ruby couldn't carry there as
// malformed, or a large one that the reserve left out. The field keeps the
// element's own bytes beside it.
//
//	KEYS 1 runs of the process, 2 hand
//	ARGV 1 slot, 2 token, 3 hand's text, 4 element
//
// It answers 1, or 0 where the run isn't reserved or the hand is empty.
const rewriteLua = `
local field = redis.call('HGET', KEYS[1], ARGV[1])
if not field or string.match(field, '^%d+ o') ~= ARGV[2] .. ' o' or redis.call('EXISTS', KEYS[2]) == 0 then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2] .. ' o\n' .. ARGV[4])
redis.call('SET', KEYS[2], ARGV[3])
return 1
`

func (d *dispatcher) rewriteCall(r *run) Call {
	return Call{
		Script: d.scripts.rewrite,
		Keys:   []string{d.keys.Of(runsKey(d.process)), d.keys.Of(handKey(r.slot.id))},
		Args:   []any{r.slot.field, r.token, r.handText(r.wraps()), r.element},
	}
}

// handText is the text of the run's hand; wrapped: with the element as malformed.
func (r *run) handText(wrapped bool) []byte {
	hand := handPrefix(r.queue, ruby.ISO8601UTC(r.began))
	if wrapped {
		hand = append(hand, wrapMalformed(r.element, "")...)
	} else {
		hand = append(hand, r.element...)
	}
	return append(hand, '}')
}
