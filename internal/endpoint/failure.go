package endpoint

import (
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"example.com/understudy/internal/foreign"
)

// readFailure makes an error of an answer: what the object in its body says,
// else its status. A body of another form, too long a one or one that breaks off
// changes nothing.
func readFailure(answer *http.Response) error {
	e := statusError(answer.StatusCode)
	if answer.StatusCode < http.StatusOK {
		return e // 101: what follows is another protocol
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, foreign.Limit+1))
	if err == nil && len(body) <= foreign.Limit {
		e.Parse(body)
	}
	return e.Outcome()
}

// statusError is what a status says by itself. Its text is the standard one, not
// the server's, which HTTP/2 doesn't have.
func statusError(status int) *foreign.Error {
	number := strconv.Itoa(status)
	e := &foreign.Error{Exception: "HTTP::" + number, Parents: []string{foreign.StandardError}, Message: number}
	if text := http.StatusText(status); text != "" {
		e.Message += " " + text
	}
	switch {
	case status/100 == 5:
		e.Parents = []string{serverError, foreign.StandardError}
	case status/100 == 4:
		e.Parents = []string{clientError, foreign.StandardError}
	case redirects(status):
		e.Message += " (redirects aren't followed: the jobs file has to name the new address)"
	}
	return e
}

// The families of statuses, so that a list of errors need not name each status.
const (
	serverError = "HTTP::ServerError"
	clientError = "HTTP::ClientError"
)

func redirects(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	default:
		return false
	}
}

// quoted is what net/http quotes of an answer that it doesn't understand.
var quoted = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// noAnswer is the failure to get any answer. Neither the address, beyond its
// host, nor a header stands in it: what net/http quotes of an answer may be an
// echo of the request, and is left out.
func (h *Handler) noAnswer(err error) error {
	text := err.Error()
	if strings.Contains(text, "connection broken") { // by what came back
		text = quoted.ReplaceAllString(text, `"…"`)
	}
	return &foreign.Error{
		Exception: foreign.SystemCallError, Parents: []string{foreign.StandardError},
		Message: "no answer from " + h.URL.Host + ": " + text, Cause: err,
	}
}
