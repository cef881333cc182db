//go:build security

package security_test

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// hostile are values that a custom resource may hold; whatever they are, they must stay one segment, one value.
func hostile() []string {
	return []string{
		"..", ".", "../admin", "../../etc/passwd", "a/b", "/admin", "a%2fb", "a%2e%2e%2fadmin", "%2e%2e", "%2E%2E%2F", "..%2f", "%252e%252e",
		`..\admin`, `..%5cadmin`, "..;/admin", "a;b=c", "a?x=1", "a#b", "a&b=c", "a=b", "a b", "a+b", "a\tb",
		"a\r\nX-Evil: 1", "a\nX-Evil: 1", "a\r\n\r\nGET /admin HTTP/1.1\r\nHost: x\r\n\r\n", "a\x00b", "%00", "%0d%0aX-Evil:1",
		"․․/admin", "..／admin", "a⁄b", "ａ", "é", "e\u0301", "\u202egnp.exe", "\ufeffa", "\u2028", "a@evil.example", "http://evil.example/", "//evil.example/x",
		"${jndi:ldap://x}", "{{ secret }}", "{id}", "<script>", "' or 1=1 --", strings.Repeat("a", 4000),
	}
}

// injections sends each value as a path segment, a query parameter, a header and a body.
func injections(s *scene) {
	server := listen(s.t, allowedHost, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		fine(w, r)
	})
	s.Apply("%s", endpointYAML("RestEndpoint", "attacker", "echo", server.URL+"/base", ""))
	for _, place := range []string{"path", "query", "header", "body"} {
		s.Apply("%s", mapping("inject-"+place, "{kind: RestEndpoint, name: echo}", injectionMapping(place)))
	}
	values := hostile()
	var all strings.Builder
	for i, value := range values {
		encoded := strconv.QuoteToASCII(value)
		for _, place := range []string{"path", "query", "header", "body"} {
			all.WriteString(thing("inject-"+place, "attacker", fmt.Sprintf("%s-%d", place, i), "{id: "+encoded+"}"))
		}
	}
	s.Apply("%s", all.String())
	refused := 0
	for i := range values {
		for _, place := range []string{"path", "query", "header", "body"} {
			one := of("inject-"+place, fmt.Sprintf("%s-%d", place, i))
			said := s.reason(one, "attacker", "Synced", func(said string) bool { return !strings.Contains(said, " Progressing:") })
			if strings.Contains(said, "ExpressionFailed") || strings.Contains(said, "Rejected") || strings.Contains(said, "EndpointUnreachable") {
				refused++
			}
		}
	}
	requests := server.requests()
	for _, r := range requests {
		checkRequest(s, r)
	}
	if len(requests) < 2*len(values) {
		s.t.Errorf("only %d requests for %d values in 4 places", len(requests), len(values))
	}
	s.t.Logf("%d values in 4 places: %d requests, all kept to their path, query and headers; %d resources were refused before", len(values), len(requests), refused)
}

func injectionMapping(place string) string {
	id, more, field := "self.metadata.name", "", "{to: fixed, value: \"'x'\"}"
	switch place {
	case "path":
		id = "self.spec.id"
	case "query":
		more = ", query: [{name: q, value: self.spec.id}]"
	case "header":
		more = ", headers: [{name: X-Value, value: self.spec.id}]"
	default:
		field = "{from: spec.id, to: fixed}"
	}
	return fmt.Sprintf(`
  identifiers: [{name: id, value: %s}]
  operations:
    read: {path: "/%s/{id}"%s}
    create: {method: PUT, path: "/%s/{id}"%s}
  fields: [%s]
`, id, place, more, place, more, field)
}

// traceParent is what stands in the header of a trace (W3C Trace Context), and nothing else.
var traceParent = regexp.MustCompile(`^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$`)

// checkRequest: one segment below the mapping's path, one value in the query, no header that nobody wrote.
func checkRequest(s *scene, r seen) {
	s.t.Helper()
	if r.URI == "/base/probe" {
		return
	}
	path, query, _ := strings.Cut(r.URI, "?")
	segments := strings.Split(path, "/")
	if len(segments) != 4 || segments[1] != "base" {
		s.t.Errorf("%s %q leaves its path", r.Method, r.URI)
		return
	}
	decoded, err := url.PathUnescape(segments[3])
	if err != nil || decoded == "." || decoded == ".." || decoded == "" {
		s.t.Errorf("%s %q has a segment that a server may take for another path", r.Method, r.URI)
	}
	if parsed, err := url.ParseQuery(query); err != nil || len(parsed) > 1 || len(parsed["q"]) > 1 {
		s.t.Errorf("%s %q has a query that nobody wrote", r.Method, r.URI)
	}
	for name := range r.Header {
		switch name {
		case "Accept", "Accept-Encoding", "Content-Length", "Content-Type", "User-Agent", "X-Value":
		case "Traceparent": // the operator's own, since the suite has its traces sent somewhere
			if len(r.Header[name]) != 1 || !traceParent.MatchString(r.Header.Get(name)) {
				s.t.Errorf("%s %q has the header %s: %q", r.Method, r.URI, name, r.Header[name])
			}
		default:
			s.t.Errorf("%s %q has the header %s", r.Method, r.URI, name)
		}
	}
	if len(r.Header["X-Value"]) > 1 {
		s.t.Errorf("%s %q has the header twice", r.Method, r.URI)
	}
}
