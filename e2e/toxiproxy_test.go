//go:build e2e

package e2e_test

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/restmapping/operator/e2e/suite"
	"github.com/restmapping/operator/internal/servers"
)

// toxic is one way in which Toxiproxy breaks connections, in one direction.
type toxic struct{ kind, stream, attributes string }

// toxics are all of them in both directions. What is sent upstream and broken may or may not have arrived; what is broken
// downstream has.
func toxics() []toxic {
	var all []toxic
	for _, stream := range []string{"upstream", "downstream"} {
		all = append(
			all,
			toxic{"latency", stream, `{"latency": 200, "jitter": 150}`},
			toxic{"reset_peer", stream, `{"timeout": 60}`},
			toxic{"timeout", stream, `{"timeout": 400}`},
			toxic{"limit_data", stream, `{"bytes": 900}`},
		)
	}
	return all
}

// weather is a proxy in front of a server whose connections break.
type weather struct {
	api   *suite.API
	began int
}

// newWeather puts a proxy in front of a server, and gives the server's URL behind it.
func newWeather(t *testing.T, s *suite.Suite, server string) (*weather, string) {
	t.Helper()
	proxy, err := servers.StartToxiproxy(t.Context(), servers.Options{})
	if err != nil {
		t.Fatal(err)
	}
	stops(t, proxy.Stop)
	target, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	w := &weather{api: suite.NewAPI(s.TB, proxy.BaseURL, func(*http.Request) {})}
	made, _ := w.api.Must(http.MethodPost, "/proxies", fmt.Sprintf(`{"name": "server", "listen": "127.0.0.1:0", "upstream": %q, "enabled": true}`, target.Host)).(map[string]any)
	listen, _ := made["listen"].(string)
	target.Host = listen
	return w, target.String()
}

// during lets one toxic after the other break two connections of three, for a while each, and clears the sky.
func (w *weather) during(each time.Duration) {
	for _, x := range toxics() {
		w.api.Must(http.MethodPost, "/proxies/server/toxics",
			fmt.Sprintf(`{"name": "bad", "type": %q, "stream": %q, "toxicity": 0.66, "attributes": %s}`, x.kind, x.stream, x.attributes))
		w.began++
		time.Sleep(each)
		w.api.Must(http.MethodDelete, "/proxies/server/toxics/bad", "")
	}
}

// The objects of the test: two organizations with a team each, and repositories and webhooks in them.
const (
	organizations = 2
	repositories  = 3 // of each organization
)

// forest applies all custom resources, with this description on each.
func forest(s *suite.Suite, description string) {
	var text strings.Builder
	for o := range organizations {
		fmt.Fprintf(&text, `
---
apiVersion: gitea.example.com/v1alpha1
kind: Organization
metadata: {name: wood-%[1]d}
spec: {description: %[2]s, teams: [{name: rangers, description: %[2]s, units: {repo.code: read}}]}
`, o, description)
		for r := range repositories {
			fmt.Fprintf(&text, `
---
apiVersion: gitea.example.com/v1alpha1
kind: Repository
metadata: {name: wood-%[1]d-tree-%[2]d}
spec: {owner: wood-%[1]d, name: tree-%[2]d, description: %[3]s}
---
apiVersion: gitea.example.com/v1alpha1
kind: Webhook
metadata: {name: wood-%[1]d-tree-%[2]d}
spec: {owner: wood-%[1]d, repository: tree-%[2]d, url: "https://ci.example.com/%[3]s", events: [push]}
`, o, r, description)
		}
	}
	s.Apply("%s", text.String())
}

// missing tells what in Gitea is not there exactly once, or not as described.
func missing(api *suite.API, description string) string {
	var problems []string
	check := func(what string, list []any, field, want string) {
		if len(list) != 1 {
			problems = append(problems, fmt.Sprintf("%s: %d instead of 1", what, len(list)))
			return
		}
		if got := fmt.Sprint(list[0]); !strings.Contains(got, want) {
			problems = append(problems, what+" has another "+field)
		}
	}
	for o := range organizations {
		org := fmt.Sprintf("/orgs/wood-%d", o)
		check(org, []any{api.Object(org)}, "description", description)
		teams := slices.DeleteFunc(api.List(org+"/teams"), func(item any) bool { return strings.Contains(fmt.Sprint(item), "name:Owners") })
		check(org+"/teams", teams, "description", description)
		if got := api.List(org + "/repos"); len(got) != repositories {
			problems = append(problems, fmt.Sprintf("%s/repos: %d instead of %d", org, len(got), repositories))
			continue
		}
		for r := range repositories {
			repo := fmt.Sprintf("/repos/wood-%d/tree-%d", o, r)
			check(repo, []any{api.Object(repo)}, "description", description)
			check(repo+"/hooks", api.List(repo+"/hooks"), "url", "/"+description)
		}
	}
	return strings.Join(problems, "; ")
}

// failures is how many requests of the operator had no usable answer.
func failures(t *testing.T, s *suite.Suite) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.Operator.Metrics, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 8<<20))
	if err != nil {
		t.Fatal(err)
	}
	sum := 0
	for _, match := range regexp.MustCompile(`(?m)^restmapping_http_requests_total\{.*class="failed".*\} (\d+)$`).FindAllSubmatch(text, -1) {
		n, _ := strconv.Atoi(string(match[1]))
		sum += n
	}
	return sum
}

// TestBrokenConnections keeps custom resources in a real Gitea while the connections to it are slow, reset, silent and cut
// off in both directions: while they are made, while they are changed, and while they are deleted. Afterwards each object
// is there exactly once and as specified, and after the deletion none is left.
func TestBrokenConnections(t *testing.T) {
	s := suite.New(t)
	gitea, err := servers.StartGitea(t.Context(), servers.Options{})
	if err != nil {
		t.Fatal(err)
	}
	stops(t, gitea.Stop)
	w, base := newWeather(t, s, gitea.BaseURL)
	api := suite.NewAPI(t, gitea.BaseURL, func(r *http.Request) { r.Header.Set("Authorization", "token "+gitea.Token) })
	s.Apply(`
apiVersion: v1
kind: Secret
metadata: {name: gitea, labels: {restmapping.dev/allow-read: "true"}}
stringData: {token: %s}
---
apiVersion: restmapping.dev/v1alpha1
kind: RestEndpoint
metadata: {name: gitea}
spec:
  baseURL: %s
  timeout: 2s
  auth:
    headers: [{name: Authorization, prefix: "token ", valueRef: {name: gitea, key: token}}]
  probe: {path: /user}
`, gitea.Token, base)
	s.Kubectl("apply", "-f", "mappings/gitea/rbac.yaml")
	s.Ready("restendpoint/gitea")
	plurals := map[string]string{"organization": "organizations", "repository": "repositories", "webhook": "webhooks"}
	for _, kind := range []string{"organization", "repository", "webhook"} { // a kind is there before those that refer to it
		plural := plurals[kind]
		s.Kubectl("apply", "-f", filepath.Join("mappings", "gitea", kind, "crd.yaml"))
		s.Kubectl("wait", "--for=condition=Established", "crd/"+plural+".gitea.example.com", "--timeout=60s")
		s.Apply("%s", strings.Replace(mappingText(t, s, "gitea", kind), "sync: {interval: 2s}",
			"sync: {interval: 2s, consistencyWindow: 1s, serverSlack: 5s}\n  policy: {deleteGuard: {mode: \"Off\"}}", 1))
		s.Ready("restmapping/gitea-" + plural)
	}
	for _, description := range []string{"made", "changed"} {
		forest(s, description)
		w.during(3 * time.Second)
		s.Eventually("everything is there once, "+description, func() string { return missing(api, description) })
	}
	for _, plural := range plurals {
		for _, obj := range s.Check(gvr("gitea.example.com", plural)) {
			s.Ready(plural + ".gitea.example.com/" + obj.GetName())
		}
	}
	for _, plural := range plurals {
		s.Kubectl("delete", plural+".gitea.example.com", "--all", "--wait=false")
	}
	w.during(3 * time.Second)
	s.Eventually("everything is gone", func() string {
		for _, plural := range plurals {
			list, err := s.Client.Resource(gvr("gitea.example.com", plural)).Namespace("default").List(t.Context(), metav1.ListOptions{})
			if err != nil || len(list.Items) > 0 {
				return fmt.Sprint(plural, ": ", len(list.Items), " ", err)
			}
		}
		return ""
	})
	for o := range organizations {
		if left := api.Object(fmt.Sprintf("/orgs/wood-%d", o)); left != nil {
			t.Errorf("left in Gitea: %v", left["username"])
		}
	}
	broken := failures(t, s)
	if broken < 10 {
		t.Errorf("only %d requests failed: that shows nothing", broken)
	}
	t.Logf("%d kinds of broken connections, %d requests without an answer, %d custom resources: duplicates 0, leaks 0",
		w.began, broken, organizations*(1+2*repositories))
}
