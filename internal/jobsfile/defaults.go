package jobsfile

import (
	"slices"

	"example.com/understudy/internal/yamlfile"
	"example.com/understudy/retry"
)

// queues reads the policies by queue.
func (p *parser) queues(queues entry) {
	entries, ok := p.entries(queues.value)
	if !ok {
		p.fail(queues.line, "queues is %s: write a queue with its options of retry under it, such as\n%s", yamlfile.KindOf(queues.value), defaultsExample)
		return
	}
	p.file.Queues = map[string]*retry.Policy{}
	for _, e := range entries {
		if e.name == "" {
			p.fail(e.line, "a queue without a name under queues: write its name")
			continue
		}
		if policy, ok := p.retries(e, "queue "+e.name); ok {
			p.file.Queues[e.name] = policy
		}
	}
}

const defaultsExample = `queues:
  mails: {retry_waits: [10, 60, 600], max_attempts: 5}
defaults:
  retry_waits: default`

// retries reads options of retry that stand for no class. Not ok: there is
// something wrong with them.
func (p *parser) retries(e entry, where string) (policy *retry.Policy, ok bool) {
	entries, ok := p.entries(e.value)
	if !ok {
		p.fail(e.line, "%s is %s: write options of retry under it, such as\n%s", where, yamlfile.KindOf(e.value), defaultsExample)
		return nil, false
	}
	before := len(p.problems)
	var spec retry.Spec
	for _, option := range entries {
		if slices.Contains(ownKeys(), option.name) {
			p.fail(option.line, "%s: %s belongs to a class, under jobs", where, option.name)
			continue
		}
		p.option(&spec, where, option)
	}
	if len(p.problems) > before {
		return nil, false
	}
	if spec.Plugin != retry.PluginNone && !spec.Enabled() {
		p.fail(e.line, "%s is empty: write options of retry under it, such as\n%s", where, defaultsExample)
		return nil, false
	}
	policy, waits := p.policy(where, e.line, spec, entries)
	p.file.delayed = p.file.delayed || waits
	return policy, len(p.problems) == before
}
