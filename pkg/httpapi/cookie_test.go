package httpapi

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/restmapping/operator/pkg/rest"
)

func TestAKeyInACookie(t *testing.T) {
	t.Parallel()
	seen := make(chan []string, 1)
	client := connect(t, Config{
		BaseURL:    serve(t, func(_ http.ResponseWriter, r *http.Request) { seen <- r.Header["Cookie"] }),
		Headers:    []rest.Parameter{{Name: "cookie", Value: "lang=en"}},
		Credential: Credential{APIKey: &APIKey{InCookie, "key", NewSecret("a=b")}},
	})
	cases := map[string]struct {
		own  []rest.Parameter
		want string
	}{
		"alone with the endpoint's own":     {nil, "lang=en; key=a=b"},
		"with one of the operation":         {[]rest.Parameter{{Name: "COOKIE", Value: "x=1; y=2"}}, "x=1; y=2; key=a=b"},
		"in place of one of the same name":  {[]rest.Parameter{{Name: "Cookie", Value: "key=forged; z=3"}}, "z=3; key=a=b"},
		"in place of all of the same name":  {[]rest.Parameter{{Name: "Cookie", Value: " key = 1;key=2"}, {Name: "Cookie", Value: "key=3"}}, "key=a=b"},
		"a name in another case stays":      {[]rest.Parameter{{Name: "Cookie", Value: "KEY=1"}}, "KEY=1; key=a=b"},
		"a cookie that begins like it does": {[]rest.Parameter{{Name: "Cookie", Value: "key2=1"}}, "key2=1; key=a=b"},
	}
	for name, tc := range cases {
		req := get("/x")
		req.Headers = tc.own
		wantStatus(t, client.Do(t.Context(), req), 200)
		if got := <-seen; len(got) != 1 || got[0] != tc.want {
			t.Errorf("%s: Cookie %q, want %q", name, got, tc.want)
		}
	}
}

func TestACookieThatCannotBeCarriedIsRefused(t *testing.T) {
	t.Parallel()
	for name, key := range map[string]APIKey{
		"a semicolon":        {InCookie, "key", NewSecret(canary + ";admin=1")},
		"a line break":       {InCookie, "key", NewSecret(canary + "\r\n")},
		"a space":            {InCookie, "key", NewSecret(canary + " ")},
		"a bad name":         {InCookie, "a=b", NewSecret(canary)},
		"no value":           {InCookie, "key", Secret{}},
		"a byte above ASCII": {InCookie, "key", NewSecret(canary + "ä")},
	} {
		_, err := NewClient(Config{BaseURL: "http://h", Credential: Credential{APIKey: &key}})
		wrong := (*ConfigError)(nil)
		if !errors.As(err, &wrong) || !strings.HasPrefix(wrong.Field, "credential.apiKey") || strings.Contains(err.Error(), canary) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
