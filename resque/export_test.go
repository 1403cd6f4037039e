package resque

// ScriptNames tells the tests which script of a worker a digest stands for.
func ScriptNames() map[string]string {
	s := newWorkerScripts()
	names := map[string]string{}
	for _, script := range append(s.all(), s.bury, s.sweep) {
		names[script.sha] = script.name
	}
	return names
}
