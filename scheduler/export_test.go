package scheduler

// MoveSHA is the digest of the script that moves.
func MoveSHA() string { return moveScript.SHA() }

// LoadSHA is the digest of the script that reads the schedule.
func LoadSHA() string { return loadScript.SHA() }

// FireSHA is the digest of the script that fires.
func FireSHA() string { return fireScript.SHA() }

// The bounds of a call.
const (
	TimesPerCall = timesPerCall
	BatchBytes   = batchBytes
	DefaultBatch = defaultBatch
)

// KeepSHA is the digest of the script that keeps the lock.
func KeepSHA() string { return keepScript.SHA() }
