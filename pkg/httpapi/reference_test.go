package httpapi

import (
	"strings"
	"testing"

	"github.com/restmapping/operator/pkg/rest"
)

// TestAReferenceIsKeptWithoutTheCredential: what is kept leads to the same place, and holds nothing that must not be kept.
func TestAReferenceIsKeptWithoutTheCredential(t *testing.T) {
	t.Parallel()
	client := connect(t, Config{
		BaseURL:    "https://api.example.com/v1",
		Query:      []rest.Parameter{{Name: "project", Value: "p"}},
		Credential: Credential{APIKey: &APIKey{In: InQuery, Name: "key", Value: NewSecret("s3cret")}},
	})
	from := rest.Request{Method: "POST", Path: "/things"}
	kept := map[string]string{
		"/v1/operations/1":                              "/v1/operations/1",
		"https://api.example.com/v1/operations/1":       "/v1/operations/1",
		"https://api.example.com:443/v1/operations/1#x": "/v1/operations/1",
		"operations/1":                                  "/v1/operations/1",
		"?task=7":                                       "/v1/things?task=7",
		"/v1/operations/1?key=s3cret&project=q&a=%20b":  "/v1/operations/1?project=q&a=%20b",
		"/v1/operations/a%2Fb":                          "/v1/operations/a%2Fb",
	}
	for reference, want := range kept {
		got, err := client.Reference(from, reference)
		if err != nil || got != want {
			t.Errorf("%s is kept as %q (%v), want %q", reference, got, err, want)
		}
		if again, err := client.Reference(rest.Request{Path: "/"}, got); err != nil || again != want {
			t.Errorf("what is kept of %s leads to %q (%v)", reference, again, err)
		}
	}
	refused := []string{
		"https://evil.example.com/v1/operations/1", "http://api.example.com/v1/operations/1", "//evil.example.com/v1/x",
		"https://api.example.com:8443/v1/x", "/v2/operations/1", "/v1/../admin", "/v1/%2e%2e/admin",
		"https://user:pw@api.example.com/v1/x", "javascript:alert(1)", "/v1/%zz", "/v1/" + strings.Repeat("a", maxReference),
	}
	for _, reference := range refused {
		if got, err := client.Reference(from, reference); err == nil {
			t.Errorf("%s is kept as %q", cut(reference), got)
		}
	}
}
