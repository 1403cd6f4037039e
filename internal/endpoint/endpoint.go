// Package endpoint performs jobs by posting them to an address: the payload as
// the body, the status as the answer.
package endpoint

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"example.com/understudy/internal/foreign"
	"example.com/understudy/resque"
)

// Handler performs a job by a POST to an address; it is a resque.Handler.
//
// The body is the job's payload, byte for byte, as application/json. The headers
// Resque-Class, Resque-Queue, Resque-Attempt (0 the first time) and Resque-Worker
// say what a program finds in its environment. A status from 200 to 299 is
// success, whatever the body says and even when it breaks off; any other fails
// the run with a *foreign.Error. Redirects are not followed: of most of them a
// POST comes out as a GET.
//
// When the run's context ends, the request is given up, and the error wraps the
// context's cause.
type Handler struct {
	// URL is the address. Its user and password are sent as basic
	// authentication, and stand in no error.
	URL *url.URL
	// Header is sent besides; its values stand in no error.
	Header http.Header
	// Transport is shared by all handlers of a worker; see NewTransport. It has
	// to follow no redirects, as http.Transport doesn't.
	Transport http.RoundTripper
}

const (
	// drainLimit and drainTime bound what is read of an answer that nobody
	// needs. One that is read to its end leaves its connection to the next job.
	drainLimit = 64 << 10
	drainTime  = 200 * time.Millisecond
	// idleTime is how long a connection waits for its next job. Many servers
	// close after 5 s; a job on its way at that moment would fail.
	idleTime = 4 * time.Second
)

// NewTransport makes the connections of a worker with so many slots: as many may
// wait for their next job. Proxies are those of Go's environment variables
// (HTTPS_PROXY, HTTP_PROXY, NO_PROXY). CloseIdleConnections ends it.
func NewTransport(slots int) *http.Transport {
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment}
	if standard, ok := http.DefaultTransport.(*http.Transport); ok {
		transport = standard.Clone() // its limits of time for connecting, and HTTP/2
	}
	transport.MaxIdleConns, transport.MaxIdleConnsPerHost = 0, slots // a slot has one at a time
	transport.IdleConnTimeout = idleTime
	transport.DisableCompression = true // answers are short, and read up to a bound
	return transport
}

// Perform posts the job.
func (h *Handler) Perform(ctx context.Context, job *resque.Job) error {
	reading, cancel := context.WithCancel(ctx)
	defer cancel()
	request, err := h.request(reading, job)
	if err != nil {
		return err
	}
	answer, err := h.Transport.RoundTrip(request)
	if err == nil {
		defer func() { _ = answer.Body.Close() }()
		if isSuccess(answer.StatusCode) {
			drain(answer.Body, cancel)
			return nil
		}
		err = readFailure(answer)
	} else if ctx.Err() == nil {
		err = h.noAnswer(err)
	}
	if ctx.Err() != nil {
		return foreign.Cancelled(context.Cause(ctx), fmt.Errorf("the request to %s was given up", h.URL.Host))
	}
	return err
}

func isSuccess(status int) bool { return status/100 == 2 }

func (h *Handler) request(ctx context.Context, job *resque.Job) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "", bytes.NewReader(job.Payload))
	if err != nil {
		return nil, err
	}
	request.URL = h.URL // set here, no error shows it
	if user := h.URL.User; user != nil {
		password, _ := user.Password()
		request.SetBasicAuth(user.Username(), password)
	}
	header := request.Header
	header.Set("User-Agent", "understudy")
	header.Set("Content-Type", "application/json")
	header.Set("Accept", "application/json")
	maps.Copy(header, h.Header)
	header.Set("Resque-Class", job.Class)
	header.Set("Resque-Queue", job.Queue)
	header.Set("Resque-Attempt", strconv.FormatInt(job.Attempt, 10))
	header.Set("Resque-Worker", job.WorkerID)
	return request, nil
}

// drain reads what is left of an answer, a little and for a short while: cancel
// ends the reading.
func drain(body io.Reader, cancel func()) {
	timer := time.AfterFunc(drainTime, cancel)
	defer timer.Stop()
	_, _ = io.CopyN(io.Discard, body, drainLimit) // the status has decided already
}
