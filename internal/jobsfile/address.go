package jobsfile

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"example.com/understudy/internal/yamlfile"
)

// Address is where jobs are posted to.
type Address struct {
	// URL is http or https, with a host and without a fragment.
	URL *url.URL
	// Headers are sent with each job, in the order of the file.
	Headers []Header
}

// Header is one header of a request.
type Header struct {
	// Name is in the canonical form, such as X-Api-Key.
	Name string
	// Value is the text; until Resolve, with variables as ${NAME}.
	Value string

	line int
}

// addressKeys are the keys of http, where it is a mapping.
func addressKeys() []string { return []string{"url", "headers"} }

// http reads an address: a text, or a mapping with url and headers.
func (p *parser) http(job *Job, e entry) {
	switch {
	case e.value.Kind == yaml.MappingNode:
		job.HTTP = p.address(job.Class, e)
	case e.value.Kind == yaml.ScalarNode && !yamlfile.IsNull(e.value):
		job.HTTP = &Address{URL: p.url(job.Class+": http", e)}
	default:
		p.wrongType(job.Class, e, nil)
	}
}

func (p *parser) address(class string, e entry) *Address {
	where, address, named := class+": http", &Address{}, false
	entries, _ := p.entries(e.value)
	for _, part := range entries {
		switch part.name {
		case "url":
			named = true
			address.URL = p.url(where+": url", part)
		case "headers":
			address.Headers = p.headers(where+": headers", part)
		default:
			p.unknown(part, where, addressKeys())
		}
	}
	if !named {
		p.fail(e.line, "%s has no url: write %s", where, howTo("http"))
	}
	if address.URL != nil && address.URL.User != nil {
		if i := slices.IndexFunc(address.Headers, func(h Header) bool { return h.Name == "Authorization" }); i >= 0 {
			p.fail(address.Headers[i].line, "%s: headers: Authorization and the user in the url exclude each other: keep one of them", where)
		}
	}
	return address
}

// url reads a URL. A refusal doesn't show what is written there: it may hold a
// password.
func (p *parser) url(where string, e entry) *url.URL {
	text := e.value.Value
	address, err := url.Parse(text)
	const example = "write one such as https://sms.internal/deliver"
	switch {
	case e.value.Kind != yaml.ScalarNode || yamlfile.IsNull(e.value):
		p.fail(e.line, "%s is %s: %s", where, yamlfile.KindOf(e.value), example)
	case strings.Contains(text, "${"):
		p.fail(e.line, "%s holds a variable, which only headers can: write the address itself, and secrets into headers: {Authorization: \"Bearer ${SMS_TOKEN}\"}", where)
	case strings.Contains(text, "#"):
		p.fail(e.line, "%s has a fragment, which is never sent: leave out # and what follows", where)
	case strings.Contains(text, "://") && err == nil && address.Scheme != "http" && address.Scheme != "https":
		p.fail(e.line, "%s has the scheme %s: jobs are posted by http and https, so %s", where, address.Scheme, example)
	case !strings.Contains(text, "://"):
		p.fail(e.line, "%s doesn't begin with http:// or https://: %s", where, example)
	case err != nil, strings.ContainsAny(text, " \t\n"):
		p.fail(e.line, "%s is no address: %s", where, example)
	case address.Hostname() == "":
		p.fail(e.line, "%s has no host: %s", where, example)
	case !isPort(address.Port()):
		p.fail(e.line, "%s has the port %s: write one from 1 to 65535", where, address.Port())
	default:
		address.Host = strings.TrimSuffix(address.Host, ":")
		return address
	}
	return nil
}

// isPort says that a port is one, or the scheme's own.
func isPort(text string) bool {
	n, err := strconv.ParseUint(text, 10, 16)
	return text == "" || err == nil && n > 0
}

func (p *parser) headers(where string, e entry) []Header {
	entries, ok := p.entries(e.value)
	if !ok {
		p.fail(e.line, "%s is %s: write each name with its value, such as headers: {Authorization: \"Bearer ${SMS_TOKEN}\"}", where, yamlfile.KindOf(e.value))
	}
	var headers []Header
	for _, part := range entries {
		h := Header{Name: http.CanonicalHeaderKey(part.name), Value: part.value.Value, line: part.line}
		if problem := problemOf(h, headers, part.value); problem != "" {
			p.fail(part.line, "%s: %s %s", where, cmp.Or(part.name, `""`), problem)
			continue
		}
		headers = append(headers, h)
	}
	return headers
}

// problemOf says why a header can't stand beside those before it; "": it can.
func problemOf(h Header, before []Header, value *yaml.Node) string {
	_, whole := expand(h.Value, func(string) string { return "" })
	switch {
	case h.Name == "" || strings.Trim(h.Name, headerLetters) != "":
		return "is no header's name: letters, digits and - make one, such as X-Api-Key"
	case ownHeader(h.Name):
		return "is set by the worker itself: leave it out"
	case slices.ContainsFunc(before, func(b Header) bool { return b.Name == h.Name }):
		return "stands here for the second time: keep one of them"
	case value.Kind != yaml.ScalarNode || yamlfile.IsNull(value):
		return "is " + yamlfile.KindOf(value) + ": write a text, such as \"Bearer ${SMS_TOKEN}\""
	case !whole:
		return "has a ${ that begins no variable: write its name in braces, such as ${SMS_TOKEN}"
	case !isHeaderText(h.Value):
		return "holds a line end or another control character, which no header can: leave it out"
	}
	return ""
}

// ownHeader says that a header is the connection's or the job's own.
func ownHeader(name string) bool {
	switch name {
	case "Connection", "Content-Length", "Expect", "Host", "Keep-Alive", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade":
		return true
	default:
		return strings.HasPrefix(name, "Resque-")
	}
}

func isHeaderText(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}

// resolve puts the environment's values in the places of their names.
func (a *Address) resolve(path, class string, lookupEnv func(string) (string, bool)) (problems []*LineError) {
	for i := range a.Headers {
		h := &a.Headers[i]
		fail := func(format string, args ...any) {
			problems = append(problems, &LineError{File: path, Line: h.line, Text: class + ": http: headers: " + h.Name + ": " + fmt.Sprintf(format, args...)})
		}
		h.Value, _ = expand(h.Value, func(name string) string {
			value, _ := lookupEnv(name)
			switch {
			case value == "":
				fail("the environment has no %s: set it before the worker starts", name)
			case !isHeaderText(value):
				fail("%s holds a line end or another control character, which no header can: set it without", name)
			}
			return value
		})
	}
	return problems
}

// expand puts values in the places of ${NAME}. Not ok: some ${ begins no name.
func expand(text string, value func(name string) string) (expanded string, ok bool) {
	for {
		before, after, found := strings.Cut(text, "${")
		expanded += before
		if !found {
			return expanded, true
		}
		name, rest, closed := strings.Cut(after, "}")
		if !closed || name == "" || strings.Trim(name, nameLetters) != "" {
			return "", false
		}
		expanded, text = expanded+value(name), rest
	}
}

const (
	nameLetters   = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
	headerLetters = nameLetters + "!#$%&'*+.^`|~-"
)
