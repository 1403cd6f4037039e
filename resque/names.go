package resque

import (
	"fmt"
	"strings"
)

// rename takes a new process name, and with it new worker ids.
func (d *dispatcher) rename() error {
	name, err := d.w.processName()
	if err != nil {
		return err
	}
	d.process = name
	d.w.name.Store(name)
	for _, s := range d.slots {
		if d.cfg.WorkerID != nil {
			s.id = d.cfg.WorkerID(s.number)
		} else {
			s.id = name + "-" + s.field + ":" + d.w.queues.IDText()
		}
		s.asked = 0
	}
	return checkIDs(d.slots)
}

// checkIDs looks at what WorkerConfig.WorkerID answered: Ruby splits ids into
// host, pid and queues, and one of another form breaks every page of resque-web.
func checkIDs(slots []*slot) error {
	seen := make(map[string]bool, len(slots))
	for _, s := range slots {
		host, rest, _ := strings.Cut(s.id, ":")
		pid, queues, _ := strings.Cut(rest, ":")
		if host == "" || queues == "" || pid == "" || pid[0] < '0' || pid[0] > '9' || seen[s.id] {
			return configError("WorkerConfig.WorkerID", fmt.Sprintf(
				"answers %q for slot %d: answer host:pid:queues, the pid beginning with a digit, and another id for each slot", s.id, s.number))
		}
		seen[s.id] = true
	}
	return nil
}

// name takes a process name, where there is none: an earlier try to start may
// have registered one.
func (d *dispatcher) name() error {
	if d.process != "" {
		return nil
	}
	err := d.rename()
	if err != nil {
		d.process = ""
	}
	return err
}
