package resque

// NewPanicError is what the worker makes of a panic.
var NewPanicError = newPanicError
