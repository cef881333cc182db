package httpapi

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/restmapping/operator/pkg/rest"
)

// answer is a handler of one fixed answer.
func answer(status int, contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Type"] = nil // net/http would guess one
		if contentType != "" {
			w.Header().Set("Content-Type", contentType)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func TestBodiesAreDecodedByTheirMediaType(t *testing.T) {
	t.Parallel()
	object := map[string]any{"a": int64(1)}
	cases := map[string]struct {
		status            int
		contentType, body string
		want              any
		isJSON            bool
	}{
		"JSON":                         {200, "application/json", `{"a":1}`, object, true},
		"JSON with a charset":          {200, "Application/JSON; charset=utf-8", `{"a":1}`, object, true},
		"JSON with a bad parameter":    {200, "application/json; charset", `{"a":1}`, object, true},
		"problem JSON with an error":   {422, "application/problem+json", `{"a":1}`, object, true},
		"JSON without a type":          {200, "", `{"a":1}`, object, true},
		"null":                         {200, "application/json", `null`, nil, true},
		"text without a type":          {200, "", `hello`, "hello", false},
		"JSON that is called text":     {200, "text/plain", `{"a":1}`, `{"a":1}`, false},
		"HTML with 200":                {200, "text/html", `<html>`, `<html>`, false},
		"empty JSON":                   {200, "application/json", "", nil, false},
		"white space that says JSON":   {200, "application/json", "\n", nil, false},
		"no content":                   {204, "", "", nil, false},
		"bytes that are no text":       {200, "application/octet-stream", "\xff\xfe", "", false},
		"an error page":                {500, "text/plain", "boom", "boom", false},
		"a type that only begins like": {200, "application/jsonlines", "{}\n{}", "{}\n{}", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := connect(t, Config{BaseURL: serve(t, answer(tc.status, tc.contentType, tc.body))})
			response := wantStatus(t, client.Do(t.Context(), get("/x")), tc.status)
			if diff := cmp.Diff(tc.want, response.Body); diff != "" || response.IsJSON != tc.isJSON {
				t.Errorf("IsJSON %v, %s", response.IsJSON, diff)
			}
		})
	}
}

func TestBadBodiesKeepTheStatus(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		handler http.HandlerFunc
		kind    rest.FailureKind
		say     string
	}{
		"truncated JSON":       {answer(201, "application/json", `{"id":"canary-s3cr3t`), rest.Undecodable, "answered 201 but the JSON document is cut off"},
		"HTML that says JSON":  {answer(201, "application/json", "<html>canary-s3cr3t"), rest.Undecodable, "not valid at byte 1"},
		"a length not kept":    {cutShort, rest.Broken, "status 201 arrived, but its body did not"},
		"a chunk not finished": {cutChunk, rest.Broken, "status 201 arrived, but its body did not"},
		"not the gzip it says": {coded("gzip", "plain text, at least ten bytes"), rest.Undecodable, "not the gzip"},
		"cut gzip":             {coded("gzip", string(pack([]byte(`{}`))[:12])), rest.Broken, "status 201 arrived"},
		"gzip with a bad sum":  {coded("gzip", spoil(pack([]byte(`{}`)))), rest.Undecodable, "not the gzip"},
		"another compression":  {coded("br", "xxxx"), rest.Undecodable, "only gzip"},
		"over the length":      {answer(201, "application/json", strings.Repeat(" ", 3000)), rest.TooLarge, "more than 2048 bytes"},
		"over it in chunks":    {endless, rest.TooLarge, "limits.responseBytes"},
		"a gzip bomb":          {coded("gzip", string(pack(make([]byte, 50<<20)))), rest.TooLarge, "more than 2048 bytes"},
		"fifty megabytes":      {fifty, rest.TooLarge, "more than 2048 bytes"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := connect(t, Config{ResponseBytes: 2048, BaseURL: serve(t, tc.handler)})
			exchange := client.Do(t.Context(), write(http.MethodPost, "/x", "{}"))
			failure := wantFailure(t, exchange, tc.kind, "POST /things: ", tc.say)
			if exchange.Response == nil || exchange.Response.Status != 201 || exchange.Response.Body != nil {
				t.Errorf("response %+v", exchange.Response)
			}
			if text := fmt.Sprintf("%v %#v", failure.Message, failure.Err); strings.Contains(text, canary) {
				t.Errorf("the failure quotes the body: %s", text)
			}
		})
	}
}

func cutShort(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", "100")
	w.WriteHeader(http.StatusCreated)
	_, _ = io.WriteString(w, `{"id":1`)
	w.(http.Flusher).Flush() // or the status line stays in the server's buffer
	panic(http.ErrAbortHandler)
}

func cutChunk(w http.ResponseWriter, _ *http.Request) {
	w.WriteHeader(http.StatusCreated)
	_, _ = io.WriteString(w, `{"id":1`)
	w.(http.Flusher).Flush()
	panic(http.ErrAbortHandler)
}

func coded(coding, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Encoding", coding)
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, body)
	}
}

func endless(w http.ResponseWriter, r *http.Request) {
	w.WriteHeader(http.StatusCreated)
	for r.Context().Err() == nil {
		if _, err := io.WriteString(w, strings.Repeat("x", 512)); err != nil {
			return
		}
	}
}

func fifty(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", fmt.Sprint(50<<20))
	w.WriteHeader(http.StatusCreated)
	_, _ = w.Write(make([]byte, 50<<20))
}

func pack(data []byte) []byte {
	var buffer bytes.Buffer
	w := gzip.NewWriter(&buffer)
	_, _ = w.Write(data)
	_ = w.Close()
	return buffer.Bytes()
}

func spoil(packed []byte) string {
	packed[len(packed)-8] ^= 0xff
	return string(packed)
}

func TestGzipIsUnpacked(t *testing.T) {
	t.Parallel()
	client := connect(t, Config{ResponseBytes: 2048, BaseURL: serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept-Encoding") != "gzip" {
			t.Errorf("Accept-Encoding %q", r.Header.Get("Accept-Encoding"))
		}
		coded("gzip", string(pack([]byte(`{"a":`+strings.Repeat(" ", 1000)+`1}`))))(w, r)
	})})
	response := wantStatus(t, client.Do(t.Context(), get("/x")), http.StatusCreated)
	if diff := cmp.Diff(map[string]any{"a": int64(1)}, response.Body); diff != "" {
		t.Error(diff)
	}
}

func TestABodyOfExactlyTheLimitIsTaken(t *testing.T) {
	t.Parallel()
	body := strings.Repeat("x", 2048)
	client := connect(t, Config{ResponseBytes: 2048, BaseURL: serve(t, answer(200, "text/plain", body))})
	if got := wantStatus(t, client.Do(t.Context(), get("/x")), 200).Body; got != body {
		t.Error("the body is not whole")
	}
}

func TestAHugeHeaderIsRefused(t *testing.T) {
	t.Parallel()
	client := connect(t, Config{BaseURL: serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Big", strings.Repeat("x", 2*responseHeaderBytes))
	})})
	wantFailure(t, client.Do(t.Context(), get("/x")), rest.Broken, "header below 64 KiB")
}

func TestHeadersAreLowerCaseAndJoined(t *testing.T) {
	t.Parallel()
	client := connect(t, Config{BaseURL: serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Add("X-Many", "a")
		w.Header().Add("X-Many", "b")
		w.Header().Set("Location", "/api/things/7?x=1")
		w.WriteHeader(http.StatusCreated)
	})})
	headers := wantStatus(t, client.Do(t.Context(), write(http.MethodPost, "/x", "{}")), 201).Headers
	if headers["x-many"] != "a, b" || headers["location"] != "/api/things/7?x=1" {
		t.Errorf("headers %v", headers)
	}
}

func TestAHangingServerHoldsNoLongerThanTheTimeout(t *testing.T) {
	t.Parallel()
	const timeout = 500 * time.Millisecond
	cases := map[string]struct {
		handler func(w http.ResponseWriter, wait <-chan struct{})
		status  int
	}{
		"no answer at all": {func(_ http.ResponseWriter, wait <-chan struct{}) { <-wait }, 0},
		"half a body": {func(w http.ResponseWriter, wait <-chan struct{}) {
			w.WriteHeader(http.StatusCreated)
			_, _ = io.WriteString(w, `{"a":`)
			w.(http.Flusher).Flush()
			<-wait
		}, 201},
		"a body in drops": {func(w http.ResponseWriter, wait <-chan struct{}) {
			w.WriteHeader(http.StatusCreated)
			for {
				select {
				case <-wait:
					return
				case <-time.After(time.Millisecond):
					_, _ = io.WriteString(w, " ")
					w.(http.Flusher).Flush()
				}
			}
		}, 201},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := connect(t, Config{Timeout: timeout, BaseURL: serve(t, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body) // or the server does not notice the end of the connection
				tc.handler(w, r.Context().Done())
			})})
			exchange := client.Do(t.Context(), write(http.MethodPost, "/x", "{}"))
			failure := wantFailure(t, exchange, rest.TimedOut, "POST /things: no whole answer", "timeout of 500ms")
			if !errors.Is(failure, context.DeadlineExceeded) {
				t.Errorf("cause %v", failure.Err)
			}
			if status := statusOf(exchange); status != tc.status {
				t.Errorf("status %d, want %d", status, tc.status)
			}
			if client.InFlight() != 0 {
				t.Error("the slot is not given back")
			}
		})
	}
}

func statusOf(exchange rest.Exchange) int {
	if exchange.Response == nil {
		return 0
	}
	return exchange.Response.Status
}

func TestGivingUpAfterTheRequestLeftIsBroken(t *testing.T) {
	t.Parallel()
	arrived := make(chan struct{})
	client := connect(t, Config{BaseURL: serve(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		close(arrived)
		<-r.Context().Done()
	})})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-arrived; cancel() }()
	failure := wantFailure(t, client.Do(ctx, write(http.MethodPost, "/x", "{}")), rest.Broken, "gave up waiting")
	if !errors.Is(failure, context.Canceled) {
		t.Errorf("cause %v", failure.Err)
	}
}

func TestAnEarlierDeadlineWins(t *testing.T) {
	t.Parallel()
	client := connect(t, Config{Timeout: time.Hour, BaseURL: serve(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	})})
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	wantFailure(t, client.Do(ctx, write(http.MethodPost, "/x", "{}")), rest.TimedOut, "the deadline of this pass")
}

func TestNothingIsSentWithoutAConnection(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := "http://" + listener.Addr().String()
	_ = listener.Close()
	cases := map[string]struct{ base, say string }{
		"refused":      {closed, "connection refused: is the base URL right and the server up?"},
		"unknown host": {"http://does-not-exist.invalid", "the host of the base URL"},
		"no TLS":       {strings.Replace(serve(t, answer(200, "", "")), "http", "https", 1), "does not speak TLS"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			exchange := connect(t, Config{BaseURL: tc.base}).Do(t.Context(), write(http.MethodPost, "/x?", "{}"))
			wantFailure(t, exchange, rest.NotSent, "POST /things: not sent: ")
			exchange = connect(t, Config{BaseURL: tc.base}).Do(t.Context(), write(http.MethodPost, "/x", "{}"))
			wantFailure(t, exchange, rest.NotSent, "POST /things: not sent: ", tc.say)
		})
	}
}

func TestAnswersThatAreNotHTTP(t *testing.T) {
	t.Parallel()
	for name, raw := range map[string]string{
		"another protocol":    "SSH-2.0-" + canary + "\r\n",
		"nothing":             "",
		"half a status line":  "HTTP/1.1 20",
		"half a header":       "HTTP/1.1 200 OK\r\nX: " + canary,
		"a bad chunk":         "HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n" + canary,
		"two lengths":         "HTTP/1.1 201 Created\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
		"an endless preamble": strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 50),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := connect(t, Config{BaseURL: serve(t, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				conn, _, err := w.(http.Hijacker).Hijack()
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = io.WriteString(conn, raw)
				_ = conn.Close()
			})})
			failure := wantFailure(t, client.Do(t.Context(), write(http.MethodPost, "/x", "{}")), rest.Broken)
			if text := fmt.Sprintf("%v %#v", failure.Message, failure.Err); strings.Contains(text, canary) {
				t.Errorf("the failure quotes the server: %s", text)
			}
		})
	}
}
