package httpapi

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/restmapping/operator/pkg/rest"
)

func TestThePathArrivesByteForByte(t *testing.T) {
	t.Parallel()
	seen := make(chan string, 1)
	base := serve(t, func(_ http.ResponseWriter, r *http.Request) { seen <- r.RequestURI })
	for _, path := range []string{
		"/a", "/a/", "/a%2Fb", "/%252A", "/%2A", "/a%20b", "/%C3%A9", "/a//b", "/a;v=1,2", "/a:b@c", "/%2e%2e%2e", "/%3Fx%23y",
		"/a%2fb", "/~a_b-c.d", "/(a)", "/'a'", "/[a]", "/a+b&c=$!*",
	} {
		t.Run(path, func(t *testing.T) {
			wantStatus(t, connect(t, Config{BaseURL: base + "/"}).Do(t.Context(), get(path)), http.StatusOK)
			if got := <-seen; got != "/api"+path {
				t.Errorf("the server saw %s, want /api%s", got, path)
			}
		})
	}
}

func TestAPathThatCouldLeaveTheBaseURLIsNotSent(t *testing.T) {
	t.Parallel()
	base := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("sent") })
	client := connect(t, Config{BaseURL: base})
	cases := map[string]string{
		"no slash":                         "a",
		"nothing":                          "",
		"another host by user":             "@evil.example/x",
		"a port":                           ":1/x",
		"up":                               "/../x",
		"up at the end":                    "/a/..",
		"up, escaped":                      "/%2e%2E/x",
		"here":                             "/./x",
		"here, escaped":                    "/%2e",
		"up inside a segment":              "/a%2F..%2F..%2Fadmin",
		"up with backslashes":              `/a%5C..%5Cadmin`,
		"a query":                          "/a?b=c",
		"a fragment":                       "/a#b",
		"a space":                          "/a b",
		"a line break":                     "/a\r\nHost: evil",
		"a bare percent":                   "/100%",
		"a character outside RFC 3986":     "/a|b",
		"a letter outside ASCII":           "/é",
		"a control character":              "/a\x00",
		"a backslash":                      `/a\..\b`,
		"a quote that must be escaped too": `/"`,
	}
	for name, path := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantFailure(t, client.Do(t.Context(), get(path)), rest.NotSent, "GET /things/{id}: not sent: ")
		})
	}
}

func TestFollow(t *testing.T) {
	t.Parallel()
	seen := make(chan string, 1)
	base := serve(t, func(_ http.ResponseWriter, r *http.Request) { seen <- r.RequestURI })
	client := connect(t, Config{
		BaseURL: base,
		Query:   []rest.Parameter{{Name: "tenant", Value: "a b"}, {Name: "limit", Value: "9"}},
		Credential: Credential{APIKey: &APIKey{
			In: InQuery, Name: "key", Value: NewSecret(canary),
		}},
	})
	good := map[string]struct{ follow, want string }{
		"an absolute URL":           {base + "/things?page=2&limit=5", "/api/things?page=2&limit=5&tenant=a%20b&key=" + canary},
		"an absolute path":          {"/api/things?page=2", "/api/things?page=2&tenant=a%20b&limit=9&key=" + canary},
		"a query alone":             {"?page=2", "/api/things?page=2&tenant=a%20b&limit=9&key=" + canary},
		"the key of another time":   {"/api/things?key=old&page=2", "/api/things?page=2&tenant=a%20b&limit=9&key=" + canary},
		"a fragment, which is cut":  {"/api/things?a=1#x", "/api/things?a=1&tenant=a%20b&limit=9&key=" + canary},
		"a path step that stays in": {"/api/x/../things", "/api/things?tenant=a%20b&limit=9&key=" + canary},
	}
	for name, tc := range good {
		t.Run(name, func(t *testing.T) {
			req := get("/things")
			req.Operation, req.Follow = rest.List, tc.follow
			wantStatus(t, client.Do(t.Context(), req), http.StatusOK)
			if diff := cmp.Diff(tc.want, <-seen); diff != "" {
				t.Error(diff)
			}
		})
	}
	_, hostPort, _ := strings.Cut(strings.TrimSuffix(base, "/api"), "://")
	bad := map[string]string{
		"another host":           "http://127.0.0.2:1/api/things",
		"another port":           "http://127.0.0.1:1/api/things",
		"another scheme":         "https://" + hostPort + "/api/things",
		"no scheme":              "//evil.example/api/things",
		"a user":                 "http://a:b@" + hostPort + "/api/things",
		"another path":           "/admin",
		"a longer first segment": "/apix/things",
		"up and out":             "/api/../admin",
		"up and out, escaped":    "/api/%2e%2e/admin",
		"not a URL":              "http://[::1",
		"opaque":                 "mailto:x",
	}
	for name, follow := range bad {
		t.Run(name, func(t *testing.T) {
			req := get("/things")
			req.Follow = follow
			failure := wantFailure(t, client.Do(t.Context(), req), rest.NotSent, "next page is refused")
			if strings.Contains(failure.Message, follow) {
				t.Error("the message repeats what the server said")
			}
		})
	}
}

func TestBaseURLIsChecked(t *testing.T) {
	t.Parallel()
	for _, base := range []string{
		"", "x", "ftp://h", "http://", "http:///x", "http://u:" + canary + "@h", "http://h?" + canary, "http://h?", "http://h#x",
		"http://h/../x", "http://h/%2e%2e", "http://h:" + canary + "/", "http://%zz" + canary, "/x",
	} {
		_, err := NewClient(Config{BaseURL: base})
		if config := (*ConfigError)(nil); !errors.As(err, &config) || config.Field != "baseURL" {
			t.Errorf("%q: error %v", base, err)
		} else if strings.Contains(err.Error(), canary) {
			t.Errorf("%q: the error repeats the URL: %v", base, err)
		}
	}
	client := connect(t, Config{BaseURL: "https://h.example:8443/a%2Fb//"})
	if got := client.BaseURL(); got != "https://h.example:8443/a%2Fb" {
		t.Errorf("BaseURL() = %s", got)
	}
}

func TestDefaultPortsAreTheSameOrigin(t *testing.T) {
	t.Parallel()
	for base, reference := range map[string]string{
		"http://h":        "http://H:80/x",
		"https://h:443/a": "https://h/a/x",
	} {
		where, err := newTarget(base)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := where.follow(where.base, reference); err != nil {
			t.Errorf("%s from %s: %v", reference, base, err)
		}
	}
}

func FuzzResolve(f *testing.F) {
	for _, seed := range []string{"/a%2F", "/..", "/%2e%2e/", "@h", "//h/x", "/a\\..\\b"} {
		f.Add(seed)
	}
	where, err := newTarget("https://h.example/api")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, path string) {
		u, err := where.resolve(path)
		if err == nil && (u.Host != "h.example" || u.Scheme != "https" || u.User != nil || !strings.HasPrefix(u.RequestURI(), "/api/")) {
			t.Errorf("%q goes to %s", path, u)
		}
		if u, err := where.follow(where.base, path); err == nil && (u.Host != "h.example" || u.User != nil || where.check(u) != nil) {
			t.Errorf("reference %q goes to %s", path, u)
		}
	})
}
