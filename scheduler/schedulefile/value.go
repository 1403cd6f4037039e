package schedulefile

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"example.com/understudy/compat/ruby"
	"example.com/understudy/internal/yamlfile"
)

// member is one key of a mapping.
type member struct {
	key  string
	line int
	kind string     // of the key, where it is no text
	node *yaml.Node // its value, never an alias
}

const (
	// largest bounds what aliases of aliases can grow to.
	largest = 1 << 20
	// deepest is how many levels Ruby writes as JSON.
	deepest = 100
)

// value is the JSON that Ruby makes of a node.
func (p *parser) value(node *yaml.Node) json.RawMessage {
	var raw json.RawMessage
	p.written(node, &raw, 0)
	return raw
}

// written appends the JSON of a node. What is wrong with it is told once, and
// null stands in its place.
func (p *parser) written(node *yaml.Node, raw *json.RawMessage, depth int) {
	at := node.Line
	node = yamlfile.Resolve(node)
	switch {
	case depth > deepest:
		p.once(node, at, "holds more than %d levels, or itself: write a flatter one", deepest)
	case len(*raw) > largest:
		p.once(node, at, "becomes more than 1 MB, by aliases: write less")
	case node.Kind == yaml.ScalarNode:
		*raw = append(*raw, p.scalar(node).json...)
		return
	case p.refusesTag(node):
	case node.Kind == yaml.SequenceNode && strings.HasSuffix(node.Tag, "omap"):
		p.writePairs(node, raw, depth)
		return
	case node.Kind == yaml.SequenceNode:
		*raw = append(*raw, '[')
		for i, element := range node.Content {
			if i > 0 {
				*raw = append(*raw, ',')
			}
			p.written(element, raw, depth+1)
		}
		*raw = append(*raw, ']')
		return
	default:
		p.writeMembers(p.members(node), raw, depth)
		return
	}
	*raw = append(*raw, "null"...)
}

func (p *parser) writeMembers(members []member, raw *json.RawMessage, depth int) {
	*raw = append(*raw, '{')
	for i, m := range members {
		if i > 0 {
			*raw = append(*raw, ',')
		}
		*raw = append(ruby.AppendString(*raw, m.key), ':')
		p.written(m.node, raw, depth+1)
	}
	*raw = append(*raw, '}')
}

// writePairs writes a list of mappings of one key each, which !!omap is.
func (p *parser) writePairs(node *yaml.Node, raw *json.RawMessage, depth int) {
	var all []member
	for _, pair := range node.Content {
		all = append(all, p.members(yamlfile.Resolve(pair))...)
	}
	p.writeMembers(all, raw, depth)
}

// members lists a mapping in the order that Ruby gives it. What << names counts
// where it stands: it overrides what stands before it, and is overridden by what
// follows. A mapping is listed once, however often it is merged in: mappings of
// mappings of mappings would take for ever.
func (p *parser) members(node *yaml.Node) []member {
	if known, ok := p.listed[node]; ok || node.Kind != yaml.MappingNode {
		return known
	}
	p.listed[node] = nil // for a mapping that merges itself
	var all listing
	own := map[string]int{} // the line of each key that stands here
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], yamlfile.Resolve(node.Content[i+1])
		name := yamlfile.Resolve(key)
		switch {
		case name.Kind != yaml.ScalarNode:
			p.once(key, key.Line, "%s stands where a name belongs: write a name", yamlfile.KindOf(name))
		case name.Value == "<<" && name.Style&yaml.TaggedStyle == 0:
			for _, m := range p.merged(key, value) {
				if line, known := own[m.key]; known {
					p.warnOnce(key, key.Line, "<< overrides %s of line %d, as in Ruby: write << first", m.key, line)
				}
				all.set(m)
			}
		default:
			text := p.scalar(name)
			if line, known := own[text.key]; known {
				p.once(key, key.Line, "%s stands here for the second time (line %d): keep one of them", text.key, line)
				continue
			}
			own[text.key] = key.Line
			all.set(member{text.key, key.Line, text.kind, value})
		}
	}
	p.listed[node] = all.members
	return all.members
}

// listing is members in the order of a Ruby Hash.
type listing struct {
	members []member
	index   map[string]int
}

func (l *listing) set(m member) {
	if i, known := l.index[m.key]; known {
		l.members[i] = m
		return
	}
	if l.index == nil {
		l.index = map[string]int{}
	}
	l.index[m.key] = len(l.members)
	l.members = append(l.members, m)
}

// merged lists what << names: a mapping, or a list of them, of which the first
// wins.
func (p *parser) merged(key, value *yaml.Node) []member {
	sources := []*yaml.Node{value}
	if value.Kind == yaml.SequenceNode {
		sources = slices.Clone(value.Content)
		slices.Reverse(sources)
	}
	var all listing
	for _, source := range sources {
		source = yamlfile.Resolve(source)
		if source.Kind != yaml.MappingNode {
			p.once(key, key.Line, "<< takes a mapping, such as <<: *defaults")
			continue
		}
		for _, m := range p.members(source) {
			all.set(m)
		}
	}
	return all.members
}

var rubyTag = regexp.MustCompile(`^!ruby/`)

// refusesTag tells of lists and mappings that would be objects of Ruby.
func (p *parser) refusesTag(node *yaml.Node) bool {
	if !rubyTag.MatchString(node.Tag) {
		return false
	}
	p.once(node, node.Line, "%s makes an object of Ruby: write a plain list or mapping", node.Tag)
	return true
}

// scalar reads a scalar by its tag.
func (p *parser) scalar(node *yaml.Node) scalar {
	value, err := p.tagged(node)
	if err != nil {
		p.once(node, node.Line, "%v", err)
		return constant("null", "")
	}
	if value.warning != "" {
		p.warnOnce(node, node.Line, "%s", value.warning)
	}
	return value
}

func (p *parser) tagged(node *yaml.Node) (scalar, error) {
	tagged := node.Style&yaml.TaggedStyle != 0
	quoted := node.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0
	tag := node.Tag
	if !tagged {
		tag = ""
	}
	switch {
	case tag == "" && quoted, tag == "!!str", tag == "!str", tag == "!ruby/string":
		return textual(node.Value), nil
	case tag == "!!binary", tag == "!binary":
		data, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(node.Value), ""))
		if err != nil || !utf8.Valid(data) {
			return scalar{}, fmt.Errorf("%s isn't text in base64, as a job needs it: write the text in quotes", tag)
		}
		return textual(string(data)), nil
	case strings.HasPrefix(tag, "!ruby/sym"):
		return textual(node.Value), nil
	case rubyTag.MatchString(tag):
		return scalar{}, fmt.Errorf("%s makes an object of Ruby: write a text or a number", tag)
	case tag == "!!float", tag == "!float":
		value, err := plain(node.Value, p.zone)
		if err != nil {
			return value, err
		}
		f, err := strconv.ParseFloat(value.key, 64)
		if err != nil {
			return scalar{}, fmt.Errorf("%s %s is no number: write one", tag, node.Value)
		}
		return number(f), nil
	}
	return plain(node.Value, p.zone)
}
