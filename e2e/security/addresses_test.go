//go:build security

package security_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// addresses points endpoints, their proxies, their token endpoints and their Vaults at what they may not reach: a server beside the
// operator, the API server, and metadata services.
func addresses(s *scene) {
	forbidden := listen(s.t, "127.0.0.1", fine)
	api, err := url.Parse(s.Plane.Admin().Host)
	if err != nil {
		s.t.Fatal(err)
	}
	hosts := []string{
		"127.0.0.1:" + forbidden.port(), "localhost:" + forbidden.port(), "LOCALHOST:" + forbidden.port(), "127.1:" + forbidden.port(),
		"2130706433:" + forbidden.port(), "0x7f000001:" + forbidden.port(), "0177.0.0.1:" + forbidden.port(), "0.0.0.0:" + forbidden.port(),
		"[::1]:" + forbidden.port(), "[::ffff:127.0.0.1]:" + forbidden.port(), "[::]:" + forbidden.port(), "[64:ff9b::7f00:1]:" + forbidden.port(),
		"127.0.0.3:" + forbidden.port(), api.Host, "localhost:" + api.Port(),
		"169.254.169.254", "[fd00:ec2::254]", "100.100.100.200", "168.63.129.16", "224.0.0.1", "255.255.255.255",
	}
	var all strings.Builder
	var names []string
	for i, host := range hosts {
		for j, fields := range []string{
			"", "proxy: {url: \"http://HOST\"}", "auth: {oauth2: {tokenURL: \"http://HOST/token\", clientID: me, clientSecretRef: {name: own, key: value}}}",
			"vault: {address: \"http://HOST\", tokenRef: {name: own, key: value}}\n  auth: {bearer: {tokenRef: {vault: {path: x, key: value}}}}",
		} {
			base := "http://" + host
			if j > 0 {
				base = "http://" + allowedHost + ":1"
			}
			name := fmt.Sprintf("ssrf-%d-%d", i, j)
			names = append(names, name)
			all.WriteString(endpointYAML("RestEndpoint", "attacker", name, base, strings.ReplaceAll(fields, "HOST", host)) + "---")
		}
	}
	s.Apply("%s", all.String())
	refused := 0
	for _, name := range names {
		said := s.reason("restendpoint/"+name, "attacker", "Ready", oneOf("AddressNotAllowed", "EndpointUnreachable", "InvalidEndpoint", "VaultUnavailable"))
		if strings.Contains(said, "AddressNotAllowed") || strings.Contains(said, "VaultUnavailable") && strings.Contains(said, "not allowed") {
			refused++
		}
	}
	if n := len(forbidden.requests()); n > 0 {
		s.t.Errorf("the forbidden server got %d requests: %v", n, forbidden.requests())
	}
	// The rest are forms that this machine's resolver does not know, and would be refused where one does.
	if refused < len(names)*2/3 {
		s.t.Errorf("only %d of %d were refused for their address", refused, len(names))
	}
	allowed := listen(s.t, allowedHost, fine)
	s.Apply("%s", endpointYAML("RestEndpoint", "attacker", "ssrf-control", allowed.URL, ""))
	s.reason("restendpoint/ssrf-control", "attacker", "Ready", oneOf("ProbeSucceeded"))
	s.t.Logf("%d addresses in 4 fields: %d refused by address, 0 requests arrived; the allowed one works", len(hosts), refused)
}

// redirects: a server that may be reached sends the operator elsewhere, by a redirect and by the link to a next page.
func redirects(s *scene) {
	forbidden := listen(s.t, "127.0.0.1", fine)
	other := listen(s.t, allowedHost, fine)
	targets := []string{
		forbidden.URL + "/steal", "//127.0.0.1:" + forbidden.port() + "/steal", other.URL + "/steal", "/outside", "/base/../outside", "/base/%2e%2e/outside",
		"http://user@" + allowedHost + "/base/x", "https://" + allowedHost + "/base/x", "file:///etc/passwd", "gopher://127.0.0.1/", "http://169.254.169.254/latest/meta-data/",
		"\\\\127.0.0.1\\x", "http:///base", "javascript:alert(1)",
	}
	evil := listen(s.t, allowedHost, func(w http.ResponseWriter, r *http.Request) {
		var n int
		switch {
		case strings.HasPrefix(r.URL.Path, "/base/list/"):
			_, _ = fmt.Sscanf(r.URL.Path, "/base/list/%d", &n)
			w.Header().Set("Link", "<"+targets[n]+">; rel=\"next\"")
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte("[]"))
		case strings.HasPrefix(r.URL.Path, "/base/poll/") && r.Method == http.MethodPut:
			_, _ = fmt.Sscanf(r.URL.Path, "/base/poll/poll-%d", &n)
			w.Header().Set("Location", targets[n])
			w.WriteHeader(http.StatusAccepted)
		case strings.HasPrefix(r.URL.Path, "/base/poll/"):
			w.WriteHeader(http.StatusNotFound)
		case strings.HasPrefix(r.URL.Path, "/base/read/"):
			_, _ = fmt.Sscanf(r.URL.Path, "/base/read/redirect-%d", &n)
			w.Header().Set("Location", targets[n])
			w.WriteHeader([]int{301, 302, 303, 307, 308}[n%5])
		default:
			fine(w, r)
		}
	})
	s.Apply("%s", endpointYAML("RestEndpoint", "attacker", "evil", evil.URL+"/base", "auth: {headers: [{name: X-Api-Key, valueRef: {name: own, key: value}}]}"))
	s.Apply("%s", mapping("redirect", "{kind: RestEndpoint, name: evil}", `
  identifiers: [{name: id, value: self.metadata.name}]
  operations:
    read: {path: "/read/{id}"}
    create: {method: PUT, path: "/read/{id}"}
  fields: [{from: spec.note, to: note}]
`))
	s.Apply("%s", mapping("link", "{kind: RestEndpoint, name: evil}", `
  identifiers: [{name: id, value: self.spec.id}]
  operations:
    list: {path: "/list/{id}", match: "item.id == self.spec.id", pagination: {type: Link}}
    create: {method: PUT, path: "/made/{id}"}
  fields: [{from: spec.note, to: note}]
`))
	var all strings.Builder
	for i := range targets {
		all.WriteString(thing("redirect", "attacker", fmt.Sprintf("redirect-%d", i), "{note: x}"))
		all.WriteString(thing("link", "attacker", fmt.Sprintf("link-%d", i), fmt.Sprintf("{id: %q, note: x}", fmt.Sprint(i))))
	}
	s.Apply("%s", all.String())
	polled := polls(s, targets)
	for i, target := range targets {
		for _, name := range []string{"redirect", "link"} {
			said := s.reason(of(name, fmt.Sprintf("%s-%d", name, i)), "attacker", "Synced", func(said string) bool { return !strings.Contains(said, " Progressing:") })
			if strings.HasPrefix(said, "True") {
				s.t.Errorf("%s to %s was taken: %s", name, target, said)
			}
		}
	}
	for i, name := range polled {
		s.Eventually("the operation of "+name+" is accepted", func() string {
			if evil.holds("PUT /base/poll/" + name + " ") {
				return ""
			}
			return s.condition(of("poll", name), "attacker", "Synced")
		})
		if said := s.condition(of("poll", name), "attacker", "Ready"); strings.HasPrefix(said, "True") {
			s.t.Errorf("the operation at %s was taken for done: %s", targets[i], said)
		}
	}
	time.Sleep(3 * time.Second) // several times the interval at which an operation is asked about
	for _, server := range []*server{forbidden, other} {
		if n := len(server.requests()); n > 0 {
			s.t.Errorf("%s got %d requests: %v", server.URL, n, server.requests())
		}
	}
	for _, r := range evil.requests() {
		if !strings.HasPrefix(r.URI, "/base/") || strings.Contains(r.URI, "..") {
			s.t.Errorf("%s %s leaves the base path", r.Method, r.URI)
		}
		if r.Method != http.MethodGet && !strings.HasPrefix(r.URI, "/base/poll/") {
			s.t.Errorf("%s %s follows from an answer that says nothing", r.Method, r.URI)
		}
	}
	s.t.Logf("%d targets by redirect, by link and as the URL of an operation: none was followed, nothing was written", len(targets))
}
