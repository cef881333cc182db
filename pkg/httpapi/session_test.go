package httpapi

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/restmapping/operator/pkg/rest"
)

// office is a server with a login, that notes what it is asked.
type office struct {
	mu     sync.Mutex
	base   string
	logins []string
	calls  []string
	// login answers a login, the n-th.
	login func(w http.ResponseWriter, n int)
	// refuse answers a request whose credentials it holds bad.
	refuse func(header http.Header) int
}

func newOffice(t *testing.T, login func(w http.ResponseWriter, n int)) *office {
	t.Helper()
	o := &office{login: login}
	o.base = serve(t, func(w http.ResponseWriter, r *http.Request) {
		o.mu.Lock()
		defer o.mu.Unlock()
		if r.URL.Path == "/api/login" {
			body, _ := io.ReadAll(io.LimitReader(r.Body, 1000))
			o.logins = append(o.logins, r.Method+" "+r.Header.Get("Content-Type")+" "+string(body))
			o.login(w, len(o.logins))
			return
		}
		o.calls = append(o.calls, fmt.Sprintf("%s %s|%s|%s", r.Method, r.Header.Get("Authorization"), r.Header.Get("Cookie"), r.Header.Get("X-Csrf")))
		if o.refuse != nil {
			if status := o.refuse(r.Header); status != 0 {
				w.WriteHeader(status)
			}
		}
	})
	return o
}

func (o *office) seen() (logins, calls []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	logins, calls = o.logins, o.calls
	o.calls = nil
	return logins, calls
}

// refuseAuth lets the server refuse one value of a header from now on.
func (o *office) refuseAuth(header, value string, status int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.refuse = func(h http.Header) int {
		if strings.Contains(h.Get(header), value) {
			return status
		}
		return 0
	}
}

func inBody(w http.ResponseWriter, n int) {
	_, _ = fmt.Fprintf(w, `{"data":{"token":"token-%d"}}`, n)
}

func inCookie(w http.ResponseWriter, n int) {
	http.SetCookie(w, &http.Cookie{Name: "sid", Value: fmt.Sprint("session-", n), Path: "/", HttpOnly: true})
	http.SetCookie(w, &http.Cookie{Name: "csrftoken", Value: fmt.Sprint("csrf-", n)})
	http.SetCookie(w, &http.Cookie{Name: "lang", Value: "en"})
}

func session(change func(*Session)) Credential {
	s := &Session{
		Method: http.MethodPost, Path: "/login",
		Fields: []SessionField{{Name: "user", Literal: "me"}, {Name: "password", Secret: NewSecret("pä&\"ss"), Hidden: true}},
		Token:  SessionSource{Body: "data.token"}, Header: &SessionHeader{Name: "Authorization", Prefix: "Bearer "},
	}
	if change != nil {
		change(s)
	}
	return Credential{Session: s}
}

func byCookie(s *Session) {
	s.Token, s.Header, s.Cookie = SessionSource{Cookie: "sid"}, nil, "sid"
}

func TestASessionIsOpenedOnceAndUsed(t *testing.T) {
	t.Parallel()
	jsonLogin := `POST application/json {"password":"pä\u0026\"ss","user":"me"}`
	cases := map[string]struct {
		login  func(http.ResponseWriter, int)
		change func(*Session)
		asked  string
		call   string
	}{
		"a token in the body, into a header": {inBody, nil, jsonLogin, "GET Bearer token-1||"},
		"by JSON pointer":                    {inBody, func(s *Session) { s.Token.Body = "/data/token" }, jsonLogin, "GET Bearer token-1||"},
		"the whole body, JSON": {
			func(w http.ResponseWriter, _ int) { _, _ = io.WriteString(w, `"whole"`) },
			func(s *Session) { s.Token.Body = "." }, jsonLogin, "GET Bearer whole||",
		},
		"the whole body, text": {
			func(w http.ResponseWriter, _ int) { _, _ = io.WriteString(w, "whole\n") },
			func(s *Session) { s.Token.Body = "." }, jsonLogin, "GET Bearer whole||",
		},
		"in a list, a number": {
			func(w http.ResponseWriter, _ int) { _, _ = io.WriteString(w, `{"a/b":[{"id":42}]}`) },
			func(s *Session) { s.Token.Body = "/a~1b/0/id" }, jsonLogin, "GET Bearer 42||",
		},
		"a token in a header, into a cookie, by PUT": {
			func(w http.ResponseWriter, _ int) { w.Header().Set("X-Auth-Token", "t") },
			func(s *Session) {
				s.Method, s.Token, s.Header, s.Cookie = http.MethodPut, SessionSource{Header: "x-auth-token"}, nil, "auth"
			}, "PUT" + strings.TrimPrefix(jsonLogin, "POST"), "GET |auth=t|",
		},
		"a form that sets a cookie and redirects": {
			func(w http.ResponseWriter, n int) {
				inCookie(w, n)
				w.Header().Set("Location", "https://elsewhere.example/")
				w.WriteHeader(http.StatusFound)
			},
			func(s *Session) { byCookie(s); s.Form = true },
			"POST application/x-www-form-urlencoded password=p%C3%A4%26%22ss&user=me", "GET |sid=session-1|",
		},
		"CSRF from a cookie, which is sent back": {
			inCookie, func(s *Session) {
				byCookie(s)
				s.CSRF = &SessionCSRF{From: SessionSource{Cookie: "csrftoken"}, Header: "X-Csrf"}
			}, jsonLogin, "GET |sid=session-1; csrftoken=csrf-1|csrf-1",
		},
		"CSRF from the body": {
			inBody, func(s *Session) { s.CSRF = &SessionCSRF{From: SessionSource{Body: "data.token"}, Header: "X-Csrf"} },
			jsonLogin, "GET Bearer token-1||token-1",
		},
		"a cookie in quotes": {
			func(w http.ResponseWriter, _ int) { w.Header().Set("Set-Cookie", `sid="a b"; Path=/`) },
			byCookie, jsonLogin, `GET |sid="a b"|`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOffice(t, tc.login)
			client := connect(t, Config{BaseURL: o.base, Credential: session(tc.change)})
			for range 2 {
				wantStatus(t, client.Do(t.Context(), get("/x")), 200)
			}
			logins, calls := o.seen()
			if diff := cmp.Diff([]string{tc.asked}, logins); diff != "" {
				t.Errorf("logins (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{tc.call, tc.call}, calls); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
		})
	}
}

func TestARefusedSessionIsOpenedAnew(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		statuses []int
		refusal  int
	}{
		"401 by default": {nil, 401}, "another status": {[]int{401, 419}, 419},
	} {
		o := newOffice(t, inCookie)
		client := connect(t, Config{BaseURL: o.base, Credential: session(func(s *Session) { byCookie(s); s.ExpiredStatus = tc.statuses })})
		wantStatus(t, client.Do(t.Context(), get("/x")), 200)
		o.refuseAuth("Cookie", "session-1", tc.refusal)
		wantStatus(t, client.Do(t.Context(), get("/x")), 200)
		o.refuseAuth("Cookie", "session-2", tc.refusal)
		// A write is sent once, and its refusal is a fact.
		wantStatus(t, client.Do(t.Context(), write(http.MethodDelete, "/x", "")), tc.refusal)
		wantStatus(t, client.Do(t.Context(), write(http.MethodDelete, "/x", "")), 200)
		logins, calls := o.seen()
		want := []string{
			"GET |sid=session-1|", "GET |sid=session-1|", "GET |sid=session-2|", "DELETE |sid=session-2|", "DELETE |sid=session-3|",
		}
		if diff := cmp.Diff(want, calls); diff != "" || len(logins) != 3 {
			t.Errorf("%s: %d logins, calls (-want +got):\n%s", name, len(logins), diff)
		}
	}
}

func TestAStatusThatIsNotListedEndsNoSession(t *testing.T) {
	t.Parallel()
	o := newOffice(t, inBody)
	client := connect(t, Config{BaseURL: o.base, Credential: session(nil)})
	o.refuseAuth("Authorization", "token", 403)
	for range 3 {
		wantStatus(t, client.Do(t.Context(), get("/x")), 403)
	}
	if logins, calls := o.seen(); len(logins) != 1 || len(calls) != 3 {
		t.Errorf("%d logins for %d calls", len(logins), len(calls))
	}
}

func TestASessionEnds(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		login  func(http.ResponseWriter, int)
		change func(*Session)
	}{
		"after its TTL": {inCookie, func(s *Session) { s.TTL = time.Minute }},
		"with Max-Age": {func(w http.ResponseWriter, n int) {
			http.SetCookie(w, &http.Cookie{Name: "sid", Value: fmt.Sprint("session-", n), MaxAge: 60})
		}, func(*Session) {}},
		"with Expires": {func(w http.ResponseWriter, n int) {
			http.SetCookie(w, &http.Cookie{Name: "sid", Value: fmt.Sprint("session-", n), Expires: time.Now().Add(time.Duration(n) * time.Minute)})
		}, func(*Session) {}},
		"at the first of two ends": {func(w http.ResponseWriter, n int) {
			http.SetCookie(w, &http.Cookie{Name: "sid", Value: fmt.Sprint("session-", n), MaxAge: 3600})
		}, func(s *Session) { s.TTL = time.Minute }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, clock := newOffice(t, tc.login), &movedClock{}
			client := connect(t, Config{BaseURL: o.base, Credential: session(func(s *Session) { byCookie(s); tc.change(s) })}, WithClock(clock.now))
			for _, later := range []time.Duration{0, 30 * time.Second, 35 * time.Second} {
				clock.forward(later)
				wantStatus(t, client.Do(t.Context(), get("/x")), 200)
			}
			_, calls := o.seen()
			if diff := cmp.Diff([]string{"GET |sid=session-1|", "GET |sid=session-1|", "GET |sid=session-2|"}, calls); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatALoginCanDoWrong(t *testing.T) {
	t.Parallel()
	secret := canary + "&\"ä"
	says := func(status int, contentType, body string) func(http.ResponseWriter, int) {
		return func(w http.ResponseWriter, _ int) { answer(status, contentType, body)(w, nil) }
	}
	echo := `{"message":"no: ` + strings.ReplaceAll(secret, `"`, `\"`) + " " + url.QueryEscape(secret) + ` \n bye"}`
	cases := map[string]struct {
		login   func(http.ResponseWriter, int)
		change  func(*Session)
		refused bool
		say     string
	}{
		"it refuses and repeats the password": {says(401, "application/json", echo), nil, true, "answered 401 (no: [redacted] [redacted] bye): check auth.session.login.fields"},
		"it says so elsewhere":                {says(400, "application/json", `{"error":{"message":"bad name"}}`), nil, true, "answered 400 (bad name): check auth.session.login.fields"},
		"not found":                           {says(404, "text/html", "<html>"), nil, true, "answered 404 with text/html: is auth.session.login.path right?"},
		"a defect":                            {says(502, "text/html", canary), nil, false, "answered 502 with text/html: it is tried again"},
		"a page for people":                   {says(200, "text/html", "<html>"+canary), nil, false, "answered 200 with text/html: there is no text at data.token of the body: check auth.session.token.from"},
		"another field":                       {says(200, "application/json", `{"token":"`+canary+`"}`), nil, false, "answered 200: there is no text at data.token of the body"},
		"an object for a token":               {says(200, "application/json", `{"data":{"token":{"a":"`+canary+`"}}}`), nil, false, "no text at data.token"},
		"no cookie":                           {inBody, byCookie, false, `there is no cookie "sid"`},
		"a cookie that is taken away": {func(w http.ResponseWriter, _ int) {
			http.SetCookie(w, &http.Cookie{Name: "sid", Value: canary, MaxAge: -1})
		}, byCookie, false, `there is no cookie "sid"`},
		"no header": {inBody, func(s *Session) { s.Token = SessionSource{Header: "X-T"} }, false, `there is no header "X-T"`},
		"no CSRF":   {inBody, func(s *Session) { s.CSRF = &SessionCSRF{SessionSource{Header: "X-C"}, "X-C"} }, false, `there is no header "X-C": check auth.session.csrf.from`},
		"a redirect for a token in the body": {func(w http.ResponseWriter, _ int) {
			w.Header().Set("Location", "/?"+canary)
			w.WriteHeader(http.StatusFound)
		}, nil, false, "a redirect, which is not followed"},
		"a token with a line break": {says(200, "application/json", `{"data":{"token":"`+canary+`\r\nX: y"}}`), nil, false, "a token with a line break"},
		"an endless body":           {says(200, "text/plain", strings.Repeat("x", 2<<20)), nil, false, "more than 1 MiB"},
		"a dropped connection":      {func(w http.ResponseWriter, _ int) { drop(t, w, false) }, nil, false, "closed the connection"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOffice(t, tc.login)
			client := connect(t, Config{BaseURL: o.base, Credential: session(func(s *Session) {
				s.Fields[1].Secret = NewSecret(secret)
				if tc.change != nil {
					tc.change(s)
				}
			})})
			exchange := client.Do(t.Context(), write(http.MethodPost, "/x", "{}"))
			failure := wantFailure(t, exchange, rest.NotSent, "POST /things: not sent: the login POST /login at 127.0.0.1:", tc.say)
			refusal := (*LoginError)(nil)
			if !errors.As(failure, &refusal) || refusal.Refused != tc.refused {
				t.Errorf("error %#v", failure.Err)
			}
			for _, text := range []string{failure.Message, fmt.Sprintf("%v %+v %#v", failure.Err, failure.Err, refusal), fmt.Sprintf("%+v %+v", *client, exchange)} {
				if strings.Contains(text, canary) {
					t.Errorf("a secret is shown: %s", text)
				}
			}
			if _, calls := o.seen(); len(calls) != 0 {
				t.Errorf("sent without a session: %v", calls)
			}
		})
	}
}

func TestManyRequestsOpenOneSession(t *testing.T) {
	t.Parallel()
	o := newOffice(t, inCookie)
	client := connect(t, Config{BaseURL: o.base, InFlight: 40, Credential: session(byCookie)})
	round := func() {
		var group sync.WaitGroup
		for range 40 {
			group.Go(func() {
				if exchange := client.Do(t.Context(), get("/x")); exchange.Failure != nil || exchange.Response.Status != 200 {
					t.Errorf("%+v", exchange)
				}
			})
		}
		group.Wait()
	}
	round()
	o.refuseAuth("Cookie", "session-1", 401)
	round()
	if logins, _ := o.seen(); len(logins) != 2 {
		t.Errorf("%d logins for two sessions", len(logins))
	}
	if got := client.Redact("session-1 session-2 p%C3%A4%26%22ss"); got != "[redacted] [redacted] [redacted]" {
		t.Errorf("left: %s", got)
	}
}

func TestASessionIsChecked(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		field  string
		change func(*Session)
	}{
		"by GET":                  {".login.method", func(s *Session) { s.Method = http.MethodGet }},
		"a path upwards":          {".login.path", func(s *Session) { s.Path = "/../login" }},
		"an absolute URL":         {".login.path", func(s *Session) { s.Path = "https://evil.example/login" }},
		"a path with a query":     {".login.path", func(s *Session) { s.Path = "/login?" + canary }},
		"a field without a name":  {".login.fields[0]", func(s *Session) { s.Fields[0].Name = "" }},
		"an empty password":       {".login.fields[1]", func(s *Session) { s.Fields[1].Secret = NewSecret("") }},
		"a token from nowhere":    {".token.from", func(s *Session) { s.Token = SessionSource{} }},
		"a token from two places": {".token.from", func(s *Session) { s.Token.Cookie = "sid" }},
		"a token for two places":  {".token", func(s *Session) { s.Cookie = "sid" }},
		"a token for no place":    {".token", func(s *Session) { s.Header = nil }},
		"a bad header":            {".token.header.name", func(s *Session) { s.Header = &SessionHeader{Name: "Host"} }},
		"a bad prefix":            {".token.header.prefix", func(s *Session) { s.Header = &SessionHeader{Name: "X", Prefix: canary + "\n"} }},
		"a bad cookie":            {".token.cookie", func(s *Session) { s.Header, s.Cookie = nil, "a=b" }},
		"CSRF from nowhere":       {".csrf.from", func(s *Session) { s.CSRF = &SessionCSRF{Header: "X"} }},
		"CSRF for a bad header":   {".csrf.header", func(s *Session) { s.CSRF = &SessionCSRF{From: SessionSource{Body: "a"}, Header: "a b"} }},
	}
	for name, tc := range cases {
		_, err := NewClient(Config{BaseURL: "http://h/api", Credential: session(tc.change)})
		wrong := (*ConfigError)(nil)
		if !errors.As(err, &wrong) || wrong.Field != "credential.session"+tc.field || strings.Contains(err.Error(), canary) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
