package endpoint_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"example.com/understudy/internal/endpoint"
	"example.com/understudy/internal/redistest"
	"example.com/understudy/resque"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// secret is what no error may show.
const secret = "s3cret"

// to is a handler that posts to an address, with secrets wherever they may be.
func to(t *testing.T, address string) *endpoint.Handler {
	t.Helper()
	parsed, err := url.Parse(strings.Replace(address, "://", "://"+secret+"user:"+secret+"@", 1) + "/deliver?key=" + secret)
	if err != nil {
		t.Fatal(err)
	}
	transport := endpoint.NewTransport(4)
	t.Cleanup(transport.CloseIdleConnections)
	return &endpoint.Handler{URL: parsed, Header: http.Header{"X-Api-Key": {secret}}, Transport: transport}
}

// serve is an endpoint, with a handler that posts to it.
func serve(t *testing.T, answer http.HandlerFunc) (*endpoint.Handler, *httptest.Server) {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	return to(t, server.URL), server
}

// say answers with a status and a body, once the request is read.
func say(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// cut answers with raw bytes, then resets the connection.
func cut(raw string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		_, _ = io.WriteString(conn, raw)
		if tcp, ok := conn.(*net.TCPConn); ok && raw == "" {
			_ = tcp.SetLinger(0)
		}
		_ = conn.Close()
	}
}

func job() *resque.Job {
	return &resque.Job{
		Class: "DeliverSMS", Queue: "mt_messages", Attempt: 3, WorkerID: "h.go:1-a-0:*",
		Payload: []byte("{\"class\":\"DeliverSMS\",\"args\":[\"\xff\"]}"),
	}
}

func TestEndpointSeesTheJob(t *testing.T) {
	t.Parallel()
	handler, server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		user, password, _ := r.BasicAuth()
		got := fmt.Sprintf("%s %s %s %d\n%s:%s\n", r.Method, r.RequestURI, r.Host, r.ContentLength, user, password)
		for _, name := range []string{
			"Content-Type", "Accept", "User-Agent", "X-Api-Key",
			"Resque-Class", "Resque-Queue", "Resque-Attempt", "Resque-Worker", "Accept-Encoding",
		} {
			got += name + ": " + strings.Join(r.Header[name], ", ") + "\n"
		}
		w.WriteHeader(http.StatusTeapot)
		_, _ = fmt.Fprintf(w, `{"error":%q}`, got+fmt.Sprintf("%q", body))
	})
	want := "POST /deliver?key=s3cret " + server.Listener.Addr().String() + " 35\n" + `s3cretuser:s3cret
Content-Type: application/json
Accept: application/json
User-Agent: understudy
X-Api-Key: s3cret
Resque-Class: DeliverSMS
Resque-Queue: mt_messages
Resque-Attempt: 3
Resque-Worker: h.go:1-a-0:*
Accept-Encoding: 
"{\"class\":\"DeliverSMS\",\"args\":[\"\xff\"]}"`
	if err := handler.Perform(t.Context(), job()); err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}

func TestEndpointTakesTheFilesHeaders(t *testing.T) {
	t.Parallel()
	handler, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Content-Type") != "application/resque" || r.Header.Get("User-Agent") != "ours" {
			w.WriteHeader(http.StatusBadRequest)
		}
	})
	handler.Header = http.Header{"Content-Type": {"application/resque"}, "User-Agent": {"ours"}}
	if err := handler.Perform(t.Context(), job()); err != nil {
		t.Error(err)
	}
}

func TestEndpointAnswers(t *testing.T) {
	t.Parallel()
	const full = `{"exception":"NetworkError","ancestors":["IOError","StandardError"],"error":"unreachable","backtrace":["a.py:1","b.py:2"]}`
	redirect := func(status int, location string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/elsewhere" {
				return // 200, if somebody followed
			}
			w.Header().Set("Location", location)
			say(status, "")(w, r)
		}
	}
	const redirected = " (redirects aren't followed: the jobs file has to name the new address)"
	tests := []struct {
		name      string
		answer    http.HandlerFunc
		ancestors string // with the class itself; "": success
		message   string
		backtrace string
	}{
		{"200", say(200, ""), "", "", ""},
		{"200 that speaks of an error", say(200, full), "", "", ""},
		{"200 that breaks off", cut("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"), "", "", ""},
		{"201", say(201, "made"), "", "", ""},
		{"204", say(204, ""), "", "", ""},
		{"299", say(299, ""), "", "", ""},
		{"103 before 200", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusEarlyHints)
			w.WriteHeader(http.StatusOK)
		}, "", "", ""},
		{"103 before 500", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusEarlyHints)
			w.WriteHeader(http.StatusInternalServerError)
		}, "HTTP::500 HTTP::ServerError StandardError", "500 Internal Server Error", ""},
		{
			"101", cut("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n" + full),
			"HTTP::101 StandardError", "101 Switching Protocols", "",
		},

		{"301", redirect(301, "/elsewhere"), "HTTP::301 StandardError", "301 Moved Permanently" + redirected, ""},
		{"302", redirect(302, "/elsewhere"), "HTTP::302 StandardError", "302 Found" + redirected, ""},
		{"303", redirect(303, "/elsewhere"), "HTTP::303 StandardError", "303 See Other" + redirected, ""},
		{"307", redirect(307, "/elsewhere"), "HTTP::307 StandardError", "307 Temporary Redirect" + redirected, ""},
		{"308", redirect(308, "/elsewhere"), "HTTP::308 StandardError", "308 Permanent Redirect" + redirected, ""},
		{"302 to nowhere", redirect(302, "http://%zz"), "HTTP::302 StandardError", "302 Found" + redirected, ""},
		{"304", say(304, ""), "HTTP::304 StandardError", "304 Not Modified", ""},

		{"404", say(404, "<h1>Not here</h1>"), "HTTP::404 HTTP::ClientError StandardError", "404 Not Found", ""},
		{"503", say(503, ""), "HTTP::503 HTTP::ServerError StandardError", "503 Service Unavailable", ""},
		{"a status of its own", say(555, ""), "HTTP::555 HTTP::ServerError StandardError", "555", ""},
		{"beyond 599", say(999, ""), "HTTP::999 StandardError", "999", ""},
		{"a text of its own", cut("HTTP/1.1 503 Gone Fishing\r\n\r\n"), "HTTP::503 HTTP::ServerError StandardError", "503 Service Unavailable", ""},

		{"an object", say(500, full), "NetworkError IOError StandardError", "unreachable", "a.py:1 b.py:2"},
		{"an object and a line end", say(422, full+"\n"), "NetworkError IOError StandardError", "unreachable", "a.py:1 b.py:2"},
		{"a text only", say(503, `{"error":"boom"}`), "HTTP::503 HTTP::ServerError StandardError", "boom", ""},
		{"a name only", say(503, `{"exception":"BadRecipient"}`), "BadRecipient StandardError", "BadRecipient", ""},
		{"an object in 307", say(307, `{"exception":"A","error":"b"}`), "A StandardError", "b", ""},
		{"an object of another form", say(500, `{"message":"boom","code":7}`), "HTTP::500 HTTP::ServerError StandardError", "500 Internal Server Error", ""},
		{"other types", say(500, `{"exception":"A","ancestors":"B","error":{"code":1},"backtrace":"here"}`), "A StandardError", "A", ""},
		{"an array", say(500, "["+full+"]"), "HTTP::500 HTTP::ServerError StandardError", "500 Internal Server Error", ""},
		{"null", say(500, "null"), "HTTP::500 HTTP::ServerError StandardError", "500 Internal Server Error", ""},
		{"two objects", say(500, full+full), "HTTP::500 HTTP::ServerError StandardError", "500 Internal Server Error", ""},
		{"invalid UTF-8", say(500, "{\"exception\":\"A\xff\",\"error\":\"b\xff\"}"), "A\uFFFD StandardError", "b\uFFFD", ""},
		{"no text at all", say(500, "\x00\xff"), "HTTP::500 HTTP::ServerError StandardError", "500 Internal Server Error", ""},
		{
			"an object that breaks off", cut("HTTP/1.1 500 X\r\nContent-Length: 1000\r\n\r\n" + full),
			"HTTP::500 HTTP::ServerError StandardError", "500 Internal Server Error", "",
		},
		{
			"the largest object", say(500, `{"error":"boom"}`+strings.Repeat(" ", 256<<10-16)),
			"HTTP::500 HTTP::ServerError StandardError", "boom", "",
		},
		{
			"a larger object", say(500, `{"error":"boom"}`+strings.Repeat(" ", 256<<10-15)),
			"HTTP::500 HTTP::ServerError StandardError", "500 Internal Server Error", "",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			handler, _ := serve(t, tt.answer)
			err := handler.Perform(t.Context(), job())
			if tt.ancestors == "" || err == nil {
				if tt.ancestors != "" || err != nil {
					t.Errorf("got %v", err)
				}
				return
			}
			got := resque.DescribeError(err)
			if ancestors := strings.Join(got.Ancestors, " "); ancestors != tt.ancestors || got.Message != tt.message {
				t.Errorf("got  %s: %q\nwant %s: %q", ancestors, got.Message, tt.ancestors, tt.message)
			}
			if backtrace := strings.Join(got.Backtrace, " "); backtrace != tt.backtrace {
				t.Errorf("backtrace %q", backtrace)
			}
		})
	}
}

// TestEndpointThatDoesNotStop: an answer without end is read up to a bound, and
// one that stops coming holds up no job that is done.
func TestEndpointThatDoesNotStop(t *testing.T) {
	t.Parallel()
	flood := func(w http.ResponseWriter) {
		for _, err := w.Write(make([]byte, 32<<10)); err == nil; {
			_, err = w.Write(make([]byte, 32<<10))
		}
	}
	hang := func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "half")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
	tests := []struct {
		name   string
		status int
		then   func(http.ResponseWriter, *http.Request)
	}{
		{"success without end", 200, func(w http.ResponseWriter, _ *http.Request) { flood(w) }},
		{"failure without end", 500, func(w http.ResponseWriter, _ *http.Request) { flood(w) }},
		{"success that hangs", 200, hang},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			handler, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
				say(tt.status, "")(w, r)
				tt.then(w, r)
			})
			if err := handler.Perform(t.Context(), job()); (err == nil) != (tt.status == 200) {
				t.Error(err)
			}
		})
	}
}

func TestNobodyAnswers(t *testing.T) {
	t.Parallel()
	_, reset := serve(t, cut(""))
	_, garbage := serve(t, cut("SSH-2.0\r\n"))
	_, echo := serve(t, cut("Bearer "+secret+"\r\n"))
	_, status := serve(t, cut("HTTP/1.1 /?token="+secret+" OK\r\n\r\n"))
	_, length := serve(t, cut("HTTP/1.1 503 Busy\r\nContent-Length: "+secret+"\r\n\r\n"))
	unknown := httptest.NewUnstartedServer(say(200, ""))
	unknown.Config.ErrorLog = log.New(io.Discard, "", 0) // it complains of us
	unknown.StartTLS()
	t.Cleanup(unknown.Close)
	gone := httptest.NewServer(say(200, ""))
	gone.Close()
	tests := []struct {
		name, address string
		says          string
		is            error
	}{
		{"refused", gone.URL, "connection refused", syscall.ECONNREFUSED},
		{"reset", reset.URL, "", nil},
		{"another protocol", garbage.URL, "malformed HTTP response", nil},
		{"an echo", echo.URL, "malformed HTTP", nil},
		{"an echo in the first line", status.URL, "malformed HTTP", nil},
		{"a length that is none", length.URL, "bad Content-Length", nil},
		{"an unknown authority", unknown.URL, "certificate signed by unknown authority", nil},
		{"TLS where there is none", strings.Replace(reset.URL, "http:", "https:", 1), "", nil},
		{"no host at all", "http://", "no Host in request URL", nil},
		{"no such host", "http://sms.invalid", "lookup sms.invalid: no such host", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			handler := to(t, tt.address)
			if tt.name == "no such host" { // without asking anybody
				transport := endpoint.NewTransport(1)
				transport.DialContext = func(context.Context, string, string) (net.Conn, error) {
					return nil, &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "sms.invalid", IsNotFound: true}}
				}
				handler.Transport = transport
			}
			err := handler.Perform(t.Context(), job())
			got := resque.DescribeError(err)
			if strings.Join(got.Ancestors, " ") != "SystemCallError StandardError" {
				t.Errorf("got %v", got.Ancestors)
			}
			if !strings.HasPrefix(got.Message, "no answer from "+handler.URL.Host+": ") || !strings.Contains(got.Message, tt.says) {
				t.Errorf("got %s", got.Message)
			}
			if strings.Contains(fmt.Sprintf("%v %+v", err, got), secret) {
				t.Errorf("it shows a secret: %v", err)
			}
			if tt.is != nil && !errors.Is(err, tt.is) {
				t.Errorf("%v isn't %v", err, tt.is)
			}
		})
	}
}

// TestHeaderThatCannotBeSent: no header holds every byte of a queue's name.
func TestHeaderThatCannotBeSent(t *testing.T) {
	t.Parallel()
	handler, _ := serve(t, say(200, ""))
	strange := job()
	strange.Queue = "a\nb"
	got := resque.DescribeError(handler.Perform(t.Context(), strange))
	if got.Name != "SystemCallError" || !strings.HasSuffix(got.Message, `invalid header field value for "Resque-Queue"`) {
		t.Errorf("got %s: %s", got.Name, got.Message)
	}
}

func TestConnectionsAreReused(t *testing.T) {
	t.Parallel()
	var connections, requests atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := strings.Repeat("x", 10<<10)
		say([]int{200, 500, 404, 307}[requests.Add(1)%4], body)(w, r)
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	handler := to(t, server.URL)
	const jobs = 20
	for range jobs {
		_ = handler.Perform(t.Context(), job())
	}
	if requests.Load() != jobs || connections.Load() != 1 {
		t.Errorf("%d requests on %d connections", requests.Load(), connections.Load())
	}
}

func TestEveryIdleConnectionIsKept(t *testing.T) {
	t.Parallel()
	const slots = 300 // more than Go keeps by itself
	transport := endpoint.NewTransport(slots)
	if transport.MaxIdleConnsPerHost != slots || transport.MaxIdleConns != 0 || transport.Proxy == nil || transport.TLSHandshakeTimeout == 0 {
		t.Errorf("got %+v", transport)
	}
}

// telling calls come when the head of an answer has come.
type telling struct {
	http.RoundTripper
	come func()
}

func (r telling) RoundTrip(request *http.Request) (*http.Response, error) {
	answer, err := r.RoundTripper.RoundTrip(request)
	r.come()
	return answer, err
}

func TestRequestIsGivenUp(t *testing.T) {
	t.Parallel()
	errStop := errors.New("stop")
	tests := []struct {
		name  string
		begin string // what is answered before it hangs
		cause error
		want  string // the class of the error
	}{
		{"no answer", "", errStop, "RuntimeError"},
		{"half an answer", "HTTP/1.1 500 X\r\nContent-Length: 100\r\n\r\nhalf", errStop, "RuntimeError"},
		{"timeout", "", resque.ErrTimeout, "Timeout::Error"},
		{"timeout in the answer", "HTTP/1.1 500 X\r\nContent-Length: 100\r\n\r\nhalf", resque.ErrTimeout, "Timeout::Error"},
		{"deadline of a plain context", "", context.DeadlineExceeded, "Timeout::Error"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			asked, aborted := make(chan struct{}), make(chan error, 1)
			handler, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				conn, _, err := http.NewResponseController(w).Hijack()
				if err != nil {
					aborted <- err
					return
				}
				defer func() { _ = conn.Close() }()
				_, _ = io.WriteString(conn, tt.begin)
				close(asked)
				_, err = conn.Read(make([]byte, 1))
				aborted <- err
			})
			ctx, cancel := context.WithCancelCause(t.Context())
			come := make(chan struct{})
			handler.Transport = telling{handler.Transport, func() { close(come) }}
			ended := make(chan error, 1)
			go func() { ended <- handler.Perform(ctx, job()) }()
			<-asked
			if tt.begin != "" {
				<-come
			}
			cancel(tt.cause)
			err := <-ended
			got := resque.DescribeError(err)
			if !errors.Is(err, tt.cause) || got.Name != tt.want || !strings.HasSuffix(got.Message, "(the request to "+handler.URL.Host+" was given up)") {
				t.Errorf("got %s: %v", got.Name, err)
			}
			if strings.Contains(err.Error(), secret) {
				t.Errorf("it shows a secret: %v", err)
			}
			if err := <-aborted; !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("the endpoint sees %v", err)
			}
		})
	}
}

func TestNothingIsPostedAfterACancel(t *testing.T) {
	t.Parallel()
	var requests atomic.Int64
	handler, _ := serve(t, func(http.ResponseWriter, *http.Request) { requests.Add(1) })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := handler.Perform(ctx, job()); !errors.Is(err, context.Canceled) || requests.Load() != 0 {
		t.Errorf("error %v, %d requests", err, requests.Load())
	}
}

// TestSuccessOutlivesACancel: what the endpoint has done is done, even if the
// worker stops just then.
func TestSuccessOutlivesACancel(t *testing.T) {
	t.Parallel()
	handler, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		say(200, "half")(w, r)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	ctx, cancel := context.WithCancelCause(t.Context())
	handler.Transport = telling{handler.Transport, func() { cancel(resque.ErrStopping) }}
	if err := handler.Perform(ctx, job()); err != nil {
		t.Error(err)
	}
}

func TestEndpointOverHTTP2(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		say(503, fmt.Sprintf(`{"error":%q}`, r.Proto))(w, r)
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	handler := to(t, server.URL)
	transport := endpoint.NewTransport(4)
	t.Cleanup(transport.CloseIdleConnections)
	transport.TLSClientConfig = &tls.Config{RootCAs: x509.NewCertPool()}
	transport.TLSClientConfig.RootCAs.AddCert(server.Certificate())
	handler.Transport = transport
	got := resque.DescribeError(handler.Perform(t.Context(), job()))
	if got.Name != "HTTP::503" || got.Message != "HTTP/2.0" {
		t.Errorf("got %s: %s", got.Name, got.Message)
	}
}
