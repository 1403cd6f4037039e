package resque

import (
	"strconv"
	"time"
)

// Write is one Redis command that belongs to an outcome and is carried out in
// the script that records it: all of an outcome's writes happen, or none.
type Write struct {
	// Command is one of those that the record script knows: RPUSH, LPUSH, SADD,
	// ZADD, DEL, SETNX, SETEX, DECR.
	Command string
	// Key carries no namespace.
	Key string
	// Args follow the key.
	Args []string
}

// PushWrites is Ruby's Resque.push: the payload goes to the end of the queue,
// whose name joins the set of queues.
func PushWrites(queue string, payload []byte) []Write {
	return []Write{
		{Command: "SADD", Key: keyQueues, Args: []string{queue}},
		{Command: "RPUSH", Key: queueKey(queue), Args: []string{string(payload)}},
	}
}

// DelayedWrites is resque-scheduler's delayed_push: the item (class, args,
// queue) waits for the second of at.
func DelayedWrites(at time.Time, item []byte) []Write {
	second := at.Unix()
	text := strconv.FormatInt(second, 10)
	return []Write{
		{Command: "RPUSH", Key: delayedKey(second), Args: []string{string(item)}},
		{Command: "SADD", Key: timestampsKey(item), Args: []string{delayedKey(second)}},
		{Command: "ZADD", Key: keyDelayedSchedule, Args: []string{text, text}},
	}
}

// knownCommand says that the record script knows a command.
func knownCommand(name string) bool {
	switch name {
	case "RPUSH", "LPUSH", "SADD", "ZADD", "DEL", "SETNX", "SETEX", "DECR":
		return true
	}
	return false
}
