package redact

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
	"testing"
)

func TestEveryFormIsTakenOut(t *testing.T) {
	t.Parallel()
	const secret = `a b+c/d="e"&<f>\é`
	quoted, err := json.Marshal(secret)
	if err != nil {
		t.Fatal(err)
	}
	for name, form := range map[string]string{
		"as it is":               secret,
		"in a query":             url.QueryEscape(secret),
		"in a query with %20":    strings.ReplaceAll(url.QueryEscape(secret), "+", "%20"),
		"in a path":              url.PathEscape(secret),
		"in lower-case percents": strings.NewReplacer("%2B", "%2b", "%2F", "%2f", "%3D", "%3d", "%3C", "%3c", "%3E", "%3e", "%5C", "%5c", "%C3%A9", "%c3%a9").Replace(url.QueryEscape(secret)),
		"in JSON":                strings.Trim(string(quoted), `"`),
		"in JSON for people":     `a b+c/d=\"e\"&<f>\\é`,
		"in base64":              base64.StdEncoding.EncodeToString([]byte(secret)),
	} {
		if got := Hide("before "+form+" after", []string{"a b", secret}); got != "before "+Mark+" after" {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestShortValuesStay(t *testing.T) {
	t.Parallel()
	if got := Hide("an ab", []string{"", "a", "ab"}); got != "an ab" {
		t.Errorf("got %q", got)
	}
	if got := Hide("long longer", []string{"long", "longer"}); got != Mark+" "+Mark {
		t.Errorf("got %q", got)
	}
	if got := lowerHex("%"); got != "%" {
		t.Errorf("got %q", got)
	}
}
