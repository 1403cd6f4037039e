package scheduler

// MoveSHA is the digest of the script that moves.
func MoveSHA() string { return moveScript.SHA() }
