package resque

import "strconv"

// DefaultNamespace is the namespace of a Ruby Resque that sets none.
const DefaultNamespace = "resque"

// Keys names every key of the layout within one namespace. The zero value has
// no namespace at all.
type Keys struct{ prefix string }

// NewKeys returns the keys of namespace; a trailing colon is dropped, and an
// empty namespace gives keys without a prefix.
func NewKeys(namespace string) Keys {
	for len(namespace) > 0 && namespace[len(namespace)-1] == ':' {
		namespace = namespace[:len(namespace)-1]
	}
	if namespace == "" {
		return Keys{}
	}
	return Keys{prefix: namespace + ":"}
}

// Of puts the namespace before a key.
func (k Keys) Of(key string) string { return k.prefix + key }

// Namespace is the namespace without its colon.
func (k Keys) Namespace() string {
	if k.prefix == "" {
		return ""
	}
	return k.prefix[:len(k.prefix)-1]
}

// The names below carry no namespace: they are what a Write takes, and what a
// member of timestamps:* holds.
const (
	keyQueues          = "queues"
	keyWorkers         = "workers"
	keyHeartbeats      = "workers:heartbeat"
	keyPruningLock     = "pruning_dead_workers_in_progress"
	keyPauseAll        = "pause-all-workers"
	keyProcessed       = "stat:processed"
	keyFailedStat      = "stat:failed"
	keyFailed          = "failed"
	keyFailedQueues    = "failed_queues"
	keyDelayedSchedule = "delayed_queue_schedule"

	// Our own, see docs/protocol.md.
	keyProcesses = "understudy:processes"
	keyBegins    = "understudy:begins"
	keyEpoch     = "understudy:epoch"
	keySchema    = "understudy:schema"
	keyHistory   = "understudy:history"
)

const delayedPrefix = "delayed:"

func queueKey(queue string) string     { return "queue:" + queue }
func handKey(id string) string         { return "worker:" + id }
func startedKey(id string) string      { return "worker:" + id + ":started" }
func processedKey(id string) string    { return keyProcessed + ":" + id }
func failedStatKey(id string) string   { return keyFailedStat + ":" + id }
func delayedKey(second int64) string   { return delayedPrefix + strconv.FormatInt(second, 10) }
func timestampsKey(item []byte) string { return "timestamps:" + string(item) }
func runsKey(process string) string    { return "understudy:runs:" + process }
