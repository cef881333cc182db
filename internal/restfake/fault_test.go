package restfake

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestFaults(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		fault    Fault
		answered bool
		status   int // recorded and, when answered, seen
		live     int
	}{
		"none":                 {Fault{}, true, 201, 1},
		"a delay":              {Delay(time.Millisecond), true, 201, 1},
		"drop":                 {Drop(), false, 0, 0},
		"commit then drop":     {CommitThenDrop(), false, 0, 1},
		"commit then reset":    {Fault{Answer: AnswerReset}, false, 0, 1},
		"commit then truncate": {CommitThenTruncate(), false, 201, 1},
		"reply":                {Reply(500, "text/plain", "boom"), true, 500, 0},
		"commit then 502":      {CommitThenReply(502, "text/html", "<html>"), true, 502, 1},
		"HTML":                 {HTML(), true, 200, 0},
		"a redirect":           {RedirectTo(307, "/elsewhere"), true, 307, 0},
		"throttled":            {Throttle("7"), true, 429, 0},
		"huge":                 {Huge(1 << 20), true, 200, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := start(t, []Collection{{Path: "/x"}}, WithFaults(func(*Request) Fault { return tc.fault }))
			answer := send(t, l, "POST", "/x", `{"name":"n"}`)
			if answered := answer.err == nil; answered != tc.answered {
				t.Fatalf("answer %+v", answer)
			}
			if tc.answered && answer.status != tc.status {
				t.Errorf("status %d", answer.status)
			}
			if got := len(l.Live("/x")); got != tc.live {
				t.Errorf("%d objects", got)
			}
			record := l.Requests()[0]
			if record.Status != tc.status || record.Committed != (tc.live == 1) {
				t.Errorf("recorded status %d, committed %v", record.Status, record.Committed)
			}
		})
	}
}

func TestWhatFaultsAnswer(t *testing.T) {
	t.Parallel()
	var fault Fault
	l := start(t, []Collection{{Path: "/x"}}, WithFaults(func(*Request) Fault { return fault }))
	fault = Throttle(RetryAt(time.Date(2026, 11, 21, 7, 0, 0, 0, time.UTC)))
	if got := send(t, l, "GET", "/x", "").header.Get("Retry-After"); got != "Sat, 21 Nov 2026 07:00:00 GMT" {
		t.Errorf("Retry-After %q", got)
	}
	fault = Huge(100000)
	if got := send(t, l, "GET", "/x", ""); len(got.body) != 100000 || strings.TrimSpace(got.body) != "{}" {
		t.Errorf("%d bytes", len(got.body))
	}
	fault = RedirectTo(308, "/y?z")
	if got := send(t, l, "GET", "/x", "").header.Get("Location"); got != "/y?z" {
		t.Errorf("Location %q", got)
	}
	fault = HTML()
	if got := send(t, l, "GET", "/x", "").header.Get("Content-Type"); !strings.HasPrefix(got, "text/html") {
		t.Errorf("Content-Type %q", got)
	}
	fault = Fault{Answer: AnswerInstead, Commit: CommitNever}
	want(t, send(t, l, "GET", "/x", ""), 200, "")
	fault = CommitThenTruncate()
	if got := send(t, l, "POST", "/x", `{"a":"bcdefgh"}`); got.status != 201 || got.err == nil || !strings.HasPrefix(got.body, `{"a"`) {
		t.Errorf("truncated: %+v", got)
	}
}

func TestHangLastsUntilTheClientLeaves(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		fault Fault
		live  int
	}{
		"hang": {Hang(), 0}, "commit then hang": {CommitThenHang(), 1}, "a long delay": {Delay(time.Hour), 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := start(t, []Collection{{Path: "/x"}}, WithFaults(func(*Request) Fault { return tc.fault }))
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan got, 1)
			go func() { done <- sendWith(ctx, l, "POST", "/x", `{}`) }()
			eventually(t, "the request is there", func() bool { return len(l.Requests()) == 1 && len(l.Live("")) == tc.live })
			select {
			case answer := <-done:
				t.Fatalf("an answer: %+v", answer)
			default:
			}
			cancel()
			if answer := <-done; answer.err == nil {
				t.Errorf("an answer: %+v", answer)
			}
		})
	}
}

func TestCloseLetsGoOfEverything(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]Fault{"hang": Hang(), "delay": Delay(time.Hour)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := New([]Collection{{Path: "/x"}}, WithFaults(func(*Request) Fault { return fault }))
			outer := httptest.NewServer(server)
			defer outer.Close()
			l := &Listener{Server: server, URL: outer.URL}
			done := make(chan got, 1)
			go func() { done <- sendWith(t.Context(), l, "POST", "/x", `{}`) }()
			eventually(t, "the request is there", func() bool { return len(server.Requests()) == 1 })
			server.Close()
			server.Close()
			if answer := <-done; answer.err == nil {
				t.Errorf("an answer: %+v", answer)
			}
		})
	}
}

func TestCommitLate(t *testing.T) {
	t.Parallel()
	fault := CommitLate(50*time.Millisecond, Fault{Answer: AnswerDrop})
	l := start(t, []Collection{{Path: "/x"}}, WithFaults(func(r *Request) Fault {
		if r.Method == http.MethodPost {
			return fault
		}
		return Fault{}
	}))
	if answer := send(t, l, "POST", "/x", `{}`); answer.err == nil {
		t.Fatalf("an answer: %+v", answer)
	}
	eventually(t, "the late commit", func() bool { return len(l.Live("/x")) == 1 })
	if record := l.Requests()[0]; !record.Committed || record.Status != 0 {
		t.Errorf("record %+v", record)
	}

	fault = CommitLate(time.Hour, Fault{})
	want(t, send(t, l, "POST", "/x", `{}`), 202, "")
	l.Close()
	if got := len(l.Live("/x")); got != 1 {
		t.Errorf("%d objects: Close must give up what is late", got)
	}
}

func TestHiddenChanges(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	hide := true
	l := start(t, []Collection{{Path: "/x", Unique: [][]string{{"name"}}}},
		WithClock(func() time.Time { return now }),
		WithFaults(func(r *Request) Fault {
			if hide && r.Method != http.MethodGet {
				return Hidden(time.Minute)
			}
			return Fault{}
		}))
	want(t, send(t, l, "POST", "/x", `{"name":"n"}`), 201, `{"id":1,"name":"n"}`)
	want(t, send(t, l, "GET", "/x/1", ""), 404, "")
	want(t, send(t, l, "GET", "/x", ""), 200, `[]`)
	want(t, send(t, l, "POST", "/x", `{"name":"n"}`), 409, "")
	if len(l.Live("/x")) != 1 {
		t.Error("what is hidden is there all the same")
	}
	now = now.Add(time.Minute)
	want(t, send(t, l, "GET", "/x", ""), 200, `[{"id":1,"name":"n"}]`)

	want(t, send(t, l, "PATCH", "/x/1", `{"a":1}`), 200, `{"a":1,"id":1,"name":"n"}`)
	want(t, send(t, l, "GET", "/x/1", ""), 200, `{"id":1,"name":"n"}`)
	now = now.Add(time.Minute)
	want(t, send(t, l, "GET", "/x/1", ""), 200, `{"a":1,"id":1,"name":"n"}`)

	want(t, send(t, l, "DELETE", "/x/1", ""), 204, "")
	want(t, send(t, l, "GET", "/x/1", ""), 200, "")
	want(t, send(t, l, "DELETE", "/x/1", ""), 404, "")
	now = now.Add(time.Minute)
	want(t, send(t, l, "GET", "/x/1", ""), 404, "")
	want(t, send(t, l, "GET", "/x", ""), 200, `[]`)
	hide = false
	want(t, send(t, l, "POST", "/x", `{"name":"n"}`), 201, "")
}

func TestRules(t *testing.T) {
	t.Parallel()
	teapot := Reply(418, "text/plain", "")
	cases := map[string]struct {
		rule Rule
		want []int // statuses of POST /x, GET /x/1, GET /x/1, GET /x, GET /x/1
	}{
		"everything":                 {Rule{Fault: teapot}, []int{418, 418, 418, 418, 418}},
		"by method":                  {Rule{Method: "post", Fault: teapot}, []int{418, 404, 404, 200, 404}},
		"by pattern":                 {Rule{Path: "/x/{any}", Fault: teapot}, []int{201, 418, 418, 200, 418}},
		"by method and pattern":      {Rule{Method: "GET", Path: "/x", Fault: teapot}, []int{201, 200, 200, 418, 200}},
		"the second of its kind":     {Rule{Path: "/x/{any}", From: 2, Times: 1, Fault: teapot}, []int{201, 200, 418, 200, 200}},
		"from the second of its own": {Rule{Path: "/x/*", From: 2, Fault: teapot}, []int{201, 418, 418, 418, 418}},
		"the first two":              {Rule{Times: 2, Fault: teapot}, []int{418, 418, 404, 200, 404}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := start(t, []Collection{{Path: "/x"}})
			l.AddRule(tc.rule)
			for i, line := range []string{"POST /x", "GET /x/1", "GET /x/1", "GET /x", "GET /x/1"} {
				method, path, _ := strings.Cut(line, " ")
				if got := send(t, l, method, path, "").status; tc.want[i] != 0 && got != tc.want[i] {
					t.Errorf("request %d, %s: status %d, want %d", i, line, got, tc.want[i])
				}
			}
			l.ClearRules()
			want(t, send(t, l, "GET", "/x", ""), 200, "")
		})
	}
}

func TestARuleGoesBeforeTheHook(t *testing.T) {
	t.Parallel()
	l := start(t, []Collection{{Path: "/x"}}, WithFaults(func(*Request) Fault { return Reply(500, "", "") }))
	l.AddRule(Rule{Times: 1, Fault: Fault{}})
	want(t, send(t, l, "GET", "/x", ""), 200, "")
	want(t, send(t, l, "GET", "/x", ""), 500, "")
}
