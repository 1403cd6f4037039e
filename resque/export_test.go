package resque

// ScriptNames tells the tests which script of a worker a digest stands for.
func ScriptNames() map[string]string {
	s := newWorkerScripts()
	names := map[string]string{}
	for _, script := range []*Script{
		s.reserve, s.begin, s.record, s.rewrite, s.epoch, s.register, s.renew, s.beat, s.move, s.giveBack, s.finish, s.leave, s.bury,
	} {
		names[script.sha] = script.name
	}
	return names
}
