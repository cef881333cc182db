//go:build cluster

package operator_test

import (
	"fmt"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/restmapping/operator/internal/charttest"
	"github.com/restmapping/operator/internal/lab"
	"github.com/restmapping/operator/internal/restfake"
)

// badEndpoints are faults of the endpoint as a whole, and a server that talks.
func badEndpoints() map[string]badTrust {
	return map[string]badTrust{
		"a session that the server forgets":       {run: forgottenSession},
		"a namespace that is shut out":            {run: shutOut},
		"an endpoint that is deleted while used":  {run: deletedWhileUsed},
		"an endpoint that is torn away":           {run: tornAway},
		"a base URL that leads to another server": {run: movedAway},
		"a server that speaks in templates":       {run: templates},
	}
}

// forgottenSession: the server forgets all sessions under twelve custom resources. One login follows, whoever notices first,
// and no pass fails for it.
func forgottenSession(s *trusted) {
	a := newAuthority(s.t)
	s.secret("login", "password", "l0gin-password")
	s.hidden = append(s.hidden, "issued-t0ken")
	s.server.only(a.knows)
	s.server.login = func(w http.ResponseWriter, _ *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "sid", Value: a.issue(), Path: "/"})
		refuse(w, http.StatusOK, "welcome")
	}
	s.endpoint(s.server.URL, `  auth:
    session:
      login: {path: /login, fields: [{name: password, valueRef: {name: login, key: password}}]}
      token: {from: {cookie: sid}, cookie: sid}`)
	s.Mapping(upsertMapping)
	names := make([]string, 12)
	for i := range names {
		names[i] = fmt.Sprintf("one-%d", i)
		s.Create(names[i], "{size: 3}")
	}
	s.Ready(names...)
	if n := a.count(); n != 1 {
		s.t.Errorf("%d logins for one endpoint", n)
	}
	a.revoke()
	_, before := s.server.counts()
	s.lab.Eventually("all go on with a new session", func() string {
		if _, served := s.server.counts(); served < before+3*len(names) {
			return fmt.Sprintf("%d requests were served since then", served-before)
		}
		return ""
	})
	refused, _ := s.server.counts()
	if n := a.count(); n != 2 {
		s.t.Errorf("%d logins, want one more", n-1)
	}
	for _, name := range names {
		s.Ready(name)
		if s.StatusField(name, "lastError") != nil {
			s.t.Errorf("a pass failed: %s", s.Status(name))
		}
	}
	s.nothingShown()
	s.gone(names[0]) // all at once would be held for confirmation
	s.t.Logf("%d requests with the forgotten session were refused and sent once more: 1 login, no failed pass", refused)
}

// shutOut: a ClusterRestEndpoint closes itself to a namespace that uses it.
func shutOut(s *trusted) {
	s.lab.Apply("apiVersion: v1\nkind: Secret\nmetadata: {name: token-%[1]s, namespace: %[2]s, labels: {restmapping.dev/allow-read: \"true\"}}\nstringData: {value: first-t0ken}\n", s.Namespace, charttest.Namespace)
	s.hidden = append(s.hidden, "first-t0ken")
	s.server.only(byHeader("X-Key", "first-t0ken"))
	open := func(names string) {
		s.lab.Apply(`
apiVersion: restmapping.dev/v1alpha1
kind: ClusterRestEndpoint
metadata: {name: %[1]s}
spec:
  baseURL: %[2]s
  auth: {headers: [{name: X-Key, valueRef: {name: token-%[1]s, key: value}}]}
  allowedNamespaces: {names: [%[3]s]}
`, s.Namespace, s.server.URL, names)
	}
	open(s.Namespace)
	s.MappingFor("", "endpoint: {kind: ClusterRestEndpoint, name: "+s.Namespace+"}", upsertMapping)
	s.Create("one", "{size: 3}")
	s.Ready("one")
	open("elsewhere")
	s.Patch("one", `{"spec":{"size":4}}`)
	said := s.told("one", "EndpointNotAllowed", []string{
		"ClusterRestEndpoint " + s.Namespace + " is not open to namespace " + fmt.Sprintf("%q", s.Namespace), "add the namespace to its spec.allowedNamespaces.names",
	})
	_, before := s.server.counts()
	s.Create("two", "{size: 3}")
	s.told("two", "EndpointNotAllowed", nil)
	if _, served := s.server.counts(); served != before {
		s.t.Errorf("%d requests were sent for a namespace that is shut out", served-before)
	}
	open(s.Namespace)
	s.Ready("one", "two")
	if got, _ := s.server.fake.Get("/things/one"); lab.Int(got.Fields["size"]) != 4 {
		s.t.Errorf("outside: %v", got.Fields)
	}
	s.nothingShown()
	s.gone("one", "two")
	s.t.Log(said)
}

// deletedWhileUsed: the endpoint waits for the objects, says for which, and serves them on.
func deletedWhileUsed(s *trusted) {
	byToken(s, nil)
	s.Mapping(upsertMapping)
	s.Create("one", "{size: 3}")
	s.Ready("one")
	s.lab.Eventually("the endpoint is held", func() string {
		obj, err := s.lab.Client.Resource(lab.EndpointGVR).Namespace(s.Namespace).Get(s.t.Context(), "server", metav1.GetOptions{})
		if err != nil {
			return err.Error()
		}
		if len(obj.GetFinalizers()) == 0 {
			return "no finalizer"
		}
		return ""
	})
	s.DeleteEndpoint()
	said := s.EndpointCondition("Ready", "False", "InUse")
	if lacks := lacking(said, []string{"waits for 1 custom resources", s.Name + " " + s.Namespace + "/one", "delete them, or set policy.deletion to Orphan"}); lacks != "" {
		s.t.Errorf("the message lacks %q: %s", lacks, said)
	}
	s.deleteSecret("token")
	s.Patch("one", `{"spec":{"size":4}}`)
	s.lab.Eventually("it is served on, with the credential that was good last", func() string {
		if got, _ := s.server.fake.Get("/things/one"); lab.Int(got.Fields["size"]) != 4 {
			return fmt.Sprint(got.Fields, s.Status("one"))
		}
		return ""
	})
	s.gone("one")
	s.EndpointGone()
	s.nothingShown()
	s.t.Log(said)
}

// tornAway: somebody takes the finalizer off. Nothing is lost, and it goes on when the endpoint is made again.
func tornAway(s *trusted) {
	byToken(s, nil)
	s.Mapping(upsertMapping)
	s.Create("one", "{size: 3}")
	s.Ready("one")
	s.DeleteEndpoint()
	s.lab.Eventually("the endpoint is gone", func() string {
		s.ForceEndpoint()
		if _, err := s.lab.Client.Resource(lab.EndpointGVR).Namespace(s.Namespace).Get(s.t.Context(), "server", metav1.GetOptions{}); err == nil {
			return "it is still there"
		}
		return ""
	})
	s.Patch("one", `{"spec":{"size":4}}`)
	said := s.told("one", "EndpointNotFound", []string{"RestEndpoint " + s.Namespace + "/server does not exist: create it"})
	s.Delete("one")
	if live := s.server.fake.Live("/things"); len(live) != 1 {
		s.t.Errorf("outside: %v", live)
	}
	byToken(s, nil)
	s.Gone("one")
	if live := s.server.fake.Live("/things"); len(live) != 0 {
		s.t.Errorf("left outside: %v", live)
	}
	s.nothingShown()
	s.t.Log(said)
}

// movedAway: another server stands behind the endpoint. Nothing is made there or deleted; both say so.
func movedAway(s *trusted) {
	byToken(s, nil)
	s.Mapping(upsertMapping)
	s.Create("one", "{size: 3}")
	s.Ready("one")
	other := newGuarded(s.t, upsertThings)
	s.patchEndpoint(`{"spec":{"baseURL":"` + other.URL + `"}}`)
	s.Patch("one", `{"spec":{"size":4}}`)
	said := s.told("one", "TargetIdentityChanged", nil)
	s.Stalled("one", "TargetIdentityChanged")
	endpoint := s.EndpointCondition("TargetIdentityChanged", "True", "TargetIdentityChanged")
	if lacks := lacking(endpoint, []string{"leads to another server or path than before", s.Name + " " + s.Namespace + "/one", "set spec.baseURL back"}); lacks != "" {
		s.t.Errorf("the endpoint's message lacks %q: %s", lacks, endpoint)
	}
	for _, r := range other.fake.Requests() {
		if r.Method != http.MethodGet {
			s.t.Errorf("%s %s was sent to the new server", r.Method, r.Path)
		}
	}
	if live := s.server.fake.Live("/things"); len(live) != 1 {
		s.t.Errorf("outside: %v", live)
	}
	s.patchEndpoint(`{"spec":{"baseURL":"` + s.server.URL + `"}}`)
	s.Ready("one")
	if got, _ := s.server.fake.Get("/things/one"); lab.Int(got.Fields["size"]) != 4 {
		s.t.Errorf("outside: %v", got.Fields)
	}
	s.lab.Eventually("the endpoint says no more of it", func() string {
		obj, err := s.lab.Client.Resource(lab.EndpointGVR).Namespace(s.Namespace).Get(s.t.Context(), "server", metav1.GetOptions{})
		if err != nil {
			return err.Error()
		}
		if text := fmt.Sprint(obj.Object["status"]); strings.Contains(text, "TargetIdentityChanged") {
			return text
		}
		return ""
	})
	s.nothingShown()
	s.gone("one")
	s.t.Logf("custom resource: %s\nendpoint: %s", said, endpoint)
}

// spoken are texts that some controller would evaluate.
var spoken = []string{
	`{{ .Values.token }} {{ printf "%s" .secrets.password }}`,
	"${secrets.password} ${{ secrets.password }} $(cat /var/run/secrets/kubernetes.io/serviceaccount/token)",
	"secrets.password + self.spec.note", `{{ lookup "v1" "Secret" "victim" "loot" }}`, "%!s(MISSING) %s %v", "{{ victim:loot:value }}",
}

// templates: what a server answers is shown and compared as it is, in the status and in messages.
func templates(s *trusted) {
	byToken(s, nil)
	s.Mapping(strings.Replace(upsertMapping, "value: observed.size}]", "value: observed.size}, {to: url, value: \"observed.?note\"}]", 1))
	s.Create("one", "{size: 3}")
	s.Ready("one")
	for _, text := range spoken {
		if err := s.server.fake.Change("/things/one", func(f map[string]any) { f["note"] = text }); err != nil {
			s.t.Fatal(err)
		}
		s.lab.Eventually("it is shown as it is", func() string {
			if got := s.StatusField("one", "url"); got != text {
				return fmt.Sprint(got)
			}
			return ""
		})
		rule := restfake.Rule{Method: "GET", Path: "/things/{id}", Fault: restfake.Reply(http.StatusForbidden, "application/json", fmt.Sprintf(`{"message":%q}`, text))}
		s.server.fake.AddRule(rule)
		s.told("one", "Unauthorized", []string{text})
		s.server.fake.ClearRules()
		s.Condition("one", "Synced", "True", "InSync")
	}
	s.nothingShown()
	s.gone("one")
	s.t.Logf("%d texts, each in a field and in an error: shown as they are", len(spoken))
}
