package jobsfile

import (
	"slices"

	"go.yaml.in/yaml/v3"

	"example.com/understudy/internal/yamlfile"
)

// entry is one key of a mapping.
type entry struct {
	name  string
	line  int
	value *yaml.Node // never an alias
}

// entries lists a mapping's keys in their order, those merged in (<<) where they
// aren't overridden; a key that stands there twice is a problem. Not ok: the node
// is no mapping. A mapping is listed once, however often it is merged in: mappings
// of mappings of mappings would take for ever, and each problem be told as often.
func (p *parser) entries(node *yaml.Node) (entries []entry, ok bool) {
	node = yamlfile.Resolve(node)
	if node.Kind != yaml.MappingNode {
		return nil, false
	}
	if known, ok := p.listed[node]; ok {
		return known, true
	}
	if p.open[node] {
		p.fail(node.Line, "<< merges this mapping into itself: name another one")
		return nil, true
	}
	p.open[node] = true
	defer func() {
		delete(p.open, node)
		p.listed[node] = entries
	}()
	var merged []entry
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := yamlfile.Resolve(node.Content[i]), yamlfile.Resolve(node.Content[i+1])
		e := entry{name: key.Value, line: node.Content[i].Line, value: value}
		switch {
		case key.Tag == "!!merge":
			merged = append(merged, p.merged(e)...)
		case key.Kind != yaml.ScalarNode:
			p.fail(e.line, "%s stands where a name belongs", yamlfile.KindOf(key))
		case find(entries, e.name) >= 0:
			p.fail(e.line, "%s stands here for the second time (line %d): keep one of them", e.name, entries[find(entries, e.name)].line)
		default:
			entries = append(entries, e)
		}
	}
	for _, e := range merged {
		if find(entries, e.name) < 0 {
			entries = append(entries, e)
		}
	}
	return entries, true
}

// merged lists the keys of what << names: a mapping, or a list of them.
func (p *parser) merged(merge entry) []entry {
	sources := []*yaml.Node{merge.value}
	if merge.value.Kind == yaml.SequenceNode {
		sources = merge.value.Content
	}
	var all []entry
	for _, source := range sources {
		entries, ok := p.entries(source)
		if !ok {
			p.fail(merge.line, "<< takes a mapping, such as <<: *defaults")
		}
		all = append(all, entries...)
	}
	return all
}

func find(entries []entry, name string) int {
	return slices.IndexFunc(entries, func(e entry) bool { return e.name == name })
}
