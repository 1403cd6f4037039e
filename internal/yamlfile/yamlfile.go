// Package yamlfile reads files of YAML whose faults are told with their lines.
package yamlfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"go.yaml.in/yaml/v3"
)

// LineError is one thing that is wrong with a file.
type LineError struct {
	// File is the path of the file.
	File string
	// Line counts from 1; 0: the file as a whole.
	Line int
	// Text says what is wrong, and what to write instead.
	Text string
}

func (p *LineError) Error() string {
	if p.Line == 0 {
		return p.File + ": " + p.Text
	}
	return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Text)
}

// Sort joins problems in the order of their lines.
func Sort(problems []*LineError) error {
	slices.SortStableFunc(problems, func(a, b *LineError) int { return a.Line - b.Line })
	list := make([]error, 0, len(problems))
	for _, p := range problems {
		list = append(list, p)
	}
	return errors.Join(list...)
}

// Document reads the one document of a file, and says how many lines the file
// has: what is missing at its end stands on none of them. empty says what to do
// about a file that holds nothing. Errors are *LineError.
func Document(path string, text []byte, empty string) (root *yaml.Node, lines int, err error) {
	f := file{path, countLines(string(text))}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var document, second yaml.Node
	if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
		return nil, f.lines, &LineError{path, 0, empty}
	} else if err != nil {
		return nil, f.lines, f.syntax(err, string(text))
	}
	if err := decoder.Decode(&second); err == nil {
		return nil, f.lines, f.problem(second.Line, "a second document begins here: keep all jobs in one, without ---")
	} else if !errors.Is(err, io.EOF) {
		return nil, f.lines, f.syntax(err, string(text))
	}
	return document.Content[0], f.lines, nil
}

type file struct {
	path  string
	lines int
}

func (f file) problem(line int, text string) *LineError {
	return &LineError{f.path, min(line, f.lines), text}
}

// Resolve is what an alias stands for.
func Resolve(node *yaml.Node) *yaml.Node {
	for node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	return node
}

// IsNull says that a value is missing, or null.
func IsNull(node *yaml.Node) bool { return node.Kind == yaml.ScalarNode && node.Tag == "!!null" }

// KindOf names what stands there.
func KindOf(node *yaml.Node) string {
	switch node = Resolve(node); {
	case IsNull(node):
		return "empty"
	case node.Kind == yaml.SequenceNode:
		return "a list"
	case node.Kind == yaml.MappingNode:
		return "a mapping"
	default:
		return node.Value
	}
}
