package resque

import "context"

// ScriptNames tells the tests which script of a worker a digest stands for.
func ScriptNames() map[string]string {
	s := newWorkerScripts()
	names := map[string]string{}
	for _, script := range append(s.all(), s.bury, s.sweep) {
		names[script.sha] = script.name
	}
	return names
}

// PruneForTest prunes as in the background.
func (w *Worker) PruneForTest(ctx context.Context) error { return w.prune(ctx, "x") }
