//go:build security

package security_test

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/restmapping/operator/internal/vaultfake"
)

// credentialFiles makes the operator's directory of credentials, with the loot beside it and a link in it that leads there.
func credentialFiles(t *testing.T) string {
	t.Helper()
	base := t.TempDir()
	inside := filepath.Join(base, "inside")
	if err := os.MkdirAll(filepath.Join(inside, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	for path, content := range map[string]string{
		filepath.Join(inside, "token"): "file-value", filepath.Join(inside, "folder", "token"): "file-value", filepath.Join(base, "loot"): loot,
	} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{"link": filepath.Join("..", "loot"), "absolute-link": filepath.Join(base, "loot"), "up": ".."} {
		if err := os.Symlink(target, filepath.Join(inside, name)); err != nil {
			t.Fatal(err)
		}
	}
	return inside
}

// refused applies an endpoint that the API server must not take; it tells whether it was so.
func (s *scene) refused(what, endpoint string) bool {
	s.t.Helper()
	err := s.attempt(endpoint)
	switch {
	case err == nil:
		s.t.Errorf("%s was taken", what)
	case !strings.Contains(err.Error(), "nvalid") && !strings.Contains(err.Error(), "field not declared in schema"):
		s.t.Errorf("%s: %v", what, err)
	}
	return err != nil
}

// nothing checks that a server was not asked at all, and never got the loot.
func (s *scene) nothing(server *server) {
	s.t.Helper()
	if server.holds(loot) {
		s.t.Error("the attacker's server got the loot")
	}
	if n := len(server.requests()); n > 0 {
		s.t.Errorf("%d requests were sent without the credential: %v", n, server.requests())
	}
}

// foreignFiles names files in every field: any at all in a RestEndpoint, those outside the directory in a ClusterRestEndpoint.
func foreignFiles(s *scene) {
	server := listen(s.t, allowedHost, fine)
	attempts, refusedEarly := 0, 0
	names := map[string][]string{ // with the reasons of a ClusterRestEndpoint, none where the API server refuses the name
		"token": nil, "../loot": nil, "folder/../../loot": nil, "/etc/passwd": nil, "./token": nil, "..": nil, "folder//token": nil,
		`..\\loot`: nil, "%2e%2e/loot": nil, "token\\0": nil, "file:///etc/passwd": nil, "~/loot": nil, "..data/../../loot": nil,
		"link": {"EndpointNotReady"}, "absolute-link": {"EndpointNotReady"}, "up/loot": {"EndpointNotReady"}, "folder": {"EndpointNotReady"},
		"none": {"SecretNotFound"},
	}
	want := map[string][]string{}
	for i, path := range slices.Sorted(maps.Keys(credentials)) {
		if path == wholeSecret {
			continue
		}
		for j, name := range slices.Sorted(maps.Keys(names)) {
			fields := filled(credentials[path], `{file: "`+name+`"}`, server.URL)
			attempts++
			if s.refused(fmt.Sprintf("%s of RestEndpoint with the file %q", path, name), endpointYAML("RestEndpoint", "attacker", "file", server.URL, fields)) {
				refusedEarly++
			}
			if name == "token" {
				continue // a ClusterRestEndpoint may name this one
			}
			attempts++
			endpoint := fmt.Sprintf("file%d-%d", i, j)
			text := endpointYAML("ClusterRestEndpoint", "", endpoint, server.URL, fields)
			if reasons := names[name]; reasons != nil {
				s.Apply("%s", text)
				want[endpoint] = reasons
			} else if s.refused(fmt.Sprintf("%s of ClusterRestEndpoint with the file %q", path, name), text) {
				refusedEarly++
			}
		}
		both := filled(credentials[path], "{file: token, name: own, key: value}", server.URL)
		s.refused(path+" with a file and a Secret", endpointYAML("RestEndpoint", "attacker", "file", server.URL, both))
	}
	for endpoint, reasons := range want {
		s.reason("clusterrestendpoint/"+endpoint, "", "Ready", oneOf(reasons...))
	}
	s.nothing(server)
	s.Apply("%s", endpointYAML("ClusterRestEndpoint", "", "file-control", server.URL, "auth: {bearer: {tokenRef: {file: folder/token}}}"))
	s.reason("clusterrestendpoint/file-control", "", "Ready", oneOf("ProbeSucceeded"))
	if !server.holds("file-value") {
		s.t.Error("the file that may be read was not: nothing was tried")
	}
	s.t.Logf("%d attempts through %d fields of 2 kinds: none got a file; %d were refused by the API server; the allowed one works", attempts, len(credentials)-1, refusedEarly)
}

// foreignAccounts asks for tokens of ServiceAccounts of another namespace, and of those that nobody opened: the operator's
// own is one of them.
func foreignAccounts(s *scene) {
	server := listen(s.t, allowedHost, fine)
	const notFound, notAllowed = "ServiceAccountNotFound", "ServiceAccountNotAllowed"
	names := map[string]map[string]string{ // name, kind, reason; none where the API server refuses the name
		"robot":                              {"RestEndpoint": notFound, "ClusterRestEndpoint": notFound}, // it is in victim alone
		"closed":                             {"RestEndpoint": notAllowed, "ClusterRestEndpoint": notFound},
		"restmapping-operator":               {"RestEndpoint": notFound, "ClusterRestEndpoint": notAllowed},
		"victim.robot":                       {"RestEndpoint": notFound, "ClusterRestEndpoint": notFound},
		"victim/robot":                       nil,
		"../../victim/serviceaccounts/robot": nil,
		"own/token?x=":                       nil,
		"robot%00":                           nil,
		"system:serviceaccount:victim:robot": nil,
		"robot, namespace: victim":           nil, // a field that does not exist
	}
	attempts, refusedEarly := 0, 0
	want := map[string]string{}
	for i, path := range slices.Sorted(maps.Keys(accounts)) {
		for j, name := range slices.Sorted(maps.Keys(names)) {
			for kind, namespace := range map[string]string{"RestEndpoint": "attacker", "ClusterRestEndpoint": ""} {
				attempts++
				quoted := fmt.Sprintf("%q", name)
				if before, after, more := strings.Cut(name, ", "); more {
					quoted = fmt.Sprintf("%q, %s", before, after)
				}
				endpoint := fmt.Sprintf("account%d-%d", i, j)
				fields := filled(strings.ReplaceAll(accounts[path], "ACCOUNT", quoted), "", server.URL)
				text := endpointYAML(kind, namespace, endpoint, server.URL, fields)
				if reason := names[name][kind]; reason != "" {
					s.Apply("%s", text)
					want[strings.ToLower(kind)+"/"+endpoint] = reason
				} else if s.refused(fmt.Sprintf("%s of %s with the account %q", path, kind, name), text) {
					refusedEarly++
				}
			}
		}
	}
	for endpoint, reason := range want {
		s.reason(endpoint, "attacker", "Ready", oneOf(reason))
	}
	s.nothing(server)
	s.Apply("%s", endpointYAML("RestEndpoint", "attacker", "account-control", server.URL, strings.ReplaceAll(accounts["auth.serviceAccountToken.serviceAccountName"], "ACCOUNT", "own")))
	s.reason("restendpoint/account-control", "attacker", "Ready", oneOf("ProbeSucceeded"))
	if !server.holds("Bearer eyJ") {
		s.t.Error("the token of the account that is open did not arrive: nothing was tried")
	}
	s.t.Logf("%d attempts through %d fields of 2 kinds: none got a token; %d were refused by the API server; the allowed one works", attempts, len(accounts), refusedEarly)
}

// foreignVault reads in Vault by paths that lead elsewhere, from another of its namespaces, with a token that Vault does
// not know, and with an account that it does not take.
func foreignVault(s *scene) {
	server := listen(s.t, allowedHost, fine)
	fake := vaultfake.New()
	s.t.Cleanup(fake.Close)
	kept := listen(s.t, allowedHost, fake.Config.Handler.ServeHTTP)
	fake.In("team-a")
	fake.Allow("own-value", true) // what the Secret "own" holds
	fake.AllowLogin(vaultfake.Login{Role: "apis", Review: func(string) bool { return false }, Lease: time.Hour})
	fake.Put("mine", map[string]any{"value": "vault-value"})
	attempts, refusedEarly := 0, 0
	settings := func(more string) string { return fmt.Sprintf("vault: {address: %q, %s}", kept.URL, more) }
	mine := settings("namespace: team-a, tokenRef: {name: own, key: value}")
	paths := []string{
		"../../sys/mounts", "../mine", "a/../../mine", "/mine", "mine/", "a//mine", "%2e%2e/mine", "mine?version=1", "mine#x", `a\\mine`, "mine\\0", ".", "", "http://elsewhere.example/x",
	}
	scopes := map[string]string{"RestEndpoint": "attacker", "ClusterRestEndpoint": ""}
	for _, path := range slices.Sorted(maps.Keys(credentials)) {
		if path == wholeSecret {
			continue
		}
		for kind, namespace := range scopes {
			for _, name := range paths {
				attempts++
				fields := filled(credentials[path], `{vault: {path: "`+name+`", key: value}}`, server.URL)
				if path != "vault.tokenRef" {
					fields += "\n  " + mine
				}
				if s.refused(fmt.Sprintf("%s of %s with the path %q", path, kind, name), endpointYAML(kind, namespace, "vaulted", server.URL, fields)) {
					refusedEarly++
				}
			}
		}
	}
	for kind, namespace := range scopes {
		token := filled(credentials["vault.tokenRef"], "{vault: {path: mine, key: value}}", kept.URL)
		s.refused("a token for Vault out of Vault, of "+kind, endpointYAML(kind, namespace, "vaulted", server.URL, token))
		for _, mount := range []string{"../sys", "secret/../../sys", "/secret", "%2e%2e", ""} {
			attempts++
			wrong := settings(fmt.Sprintf("mount: %q, tokenRef: {name: own, key: value}", mount)) + "\n  auth: {bearer: {tokenRef: {vault: {path: mine, key: value}}}}"
			if s.refused(fmt.Sprintf("mount %q of %s", mount, kind), endpointYAML(kind, namespace, "vaulted", server.URL, wrong)) {
				refusedEarly++
			}
		}
	}
	s.plantToken()
	read := "\n  auth: {bearer: {tokenRef: {vault: {path: PATH, key: KEY}}}}"
	denied := map[string]struct{ vault, path, key, reason string }{
		"not-there":         {mine, "victims", "value", "SecretNotFound"},
		"no-such-key":       {mine, "mine", "../value", "SecretNotFound"},
		"other-namespace":   {settings("namespace: team-b, tokenRef: {name: own, key: value}"), "mine", "value", "SecretNotFound"},
		"parent-namespace":  {settings("namespace: ../team-a, tokenRef: {name: own, key: value}"), "mine", "value", "SecretNotFound"},
		"without-namespace": {settings("tokenRef: {name: own, key: value}"), "mine", "value", "SecretNotFound"},
		"unknown-token":     {settings("namespace: team-a, tokenRef: {name: stranger, key: value}"), "mine", "value", "VaultDenied"},
		"unknown-account":   {settings("namespace: team-a, kubernetes: {role: apis, serviceAccountToken: {serviceAccountName: own, audiences: [vault]}}"), "mine", "value", "VaultDenied"},
		"unknown-role":      {settings("namespace: team-a, kubernetes: {role: victim, serviceAccountToken: {serviceAccountName: own, audiences: [vault]}}"), "mine", "value", "VaultDenied"},
		"unknown-mount":     {settings("namespace: team-a, kubernetes: {role: apis, mount: jwt, serviceAccountToken: {serviceAccountName: own, audiences: [vault]}}"), "mine", "value", "VaultDenied"},
	}
	for name, tc := range denied {
		attempts++
		s.Apply("%s", endpointYAML("RestEndpoint", "attacker", "vaulted-"+name, server.URL, tc.vault+strings.NewReplacer("PATH", tc.path, "KEY", tc.key).Replace(read)))
	}
	for name, tc := range denied {
		s.reason("restendpoint/vaulted-"+name, "attacker", "Ready", oneOf(tc.reason))
	}
	s.nothing(server)
	for _, r := range kept.requests() {
		if !strings.HasPrefix(r.URI, "/v1/secret/data/") && !strings.HasPrefix(r.URI, "/v1/auth/") || strings.Contains(r.URI, "..") {
			s.t.Errorf("%s %s was sent to Vault", r.Method, r.URI)
		}
	}
	s.Apply("%s", endpointYAML("RestEndpoint", "attacker", "vaulted-control", server.URL, mine+strings.NewReplacer("PATH", "mine", "KEY", "value").Replace(read)))
	s.reason("restendpoint/vaulted-control", "attacker", "Ready", oneOf("ProbeSucceeded"))
	if !server.holds("vault-value") {
		s.t.Error("the secret that may be read was not: nothing was tried")
	}
	s.t.Logf("%d attempts: none got a secret out of Vault; %d were refused by the API server; the allowed one works", attempts, refusedEarly)
}

// plantToken makes a Secret with a token that Vault does not know.
func (s *scene) plantToken() {
	s.t.Helper()
	s.Apply("%s", `
apiVersion: v1
kind: Secret
metadata: {name: stranger, namespace: attacker, labels: {restmapping.dev/allow-read: "true"}}
stringData: {value: stranger-value}
`)
}

// foreignReferents refers to a custom resource of another namespace, to read it and to keep it from being deleted.
func foreignReferents(s *scene) {
	const prize = "prize-5d0c7f" // a field like any other: whoever may read the custom resource sees it
	bank := listen(s.t, allowedHost, keeping())
	server := listen(s.t, allowedHost, keeping())
	for _, namespace := range []string{"victim", "attacker"} {
		s.Apply("%s", endpointYAML("RestEndpoint", namespace, "bank", bank.URL, ""))
	}
	s.Apply("%s", endpointYAML("RestEndpoint", "attacker", "taker", server.URL, ""))
	s.Apply("%s", mapping("referent", "{kind: RestEndpoint, name: bank}", strings.Replace(plain, "  fields:", "    delete: {path: \"/things/{id}\"}\n  fields:", 1)))
	s.Apply("%s", thing("referent", "victim", "prize", "{note: "+prize+"}"))
	s.Apply("%s", thing("referent", "attacker", "mine", "{note: mine-value}"))
	isTrue := func(said string) bool { return strings.HasPrefix(said, "True ") }
	s.reason(of("referent", "prize"), "victim", "Ready", isTrue)
	s.reason(of("referent", "mine"), "attacker", "Ready", isTrue)
	target := func(group, version, kind string) string {
		return fmt.Sprintf(`
  identifiers: [{name: id, value: self.metadata.name}]
  references: [{name: stolen, target: {group: %q, version: %s, kind: %s}, nameExpression: self.spec.note, ownerReference: true}]
  operations:
    read: {path: "/things/{id}"}
    create: {method: PUT, path: "/things/{id}", headers: [{name: X-Stolen, value: refs.stolen.spec.note}]}
  fields: [{to: stolen, value: refs.stolen.spec.note}]
`, group, version, kind)
	}
	s.Apply("%s", mapping("refer", "{kind: RestEndpoint, name: taker}", target("security.example.com", "v1", kindOf("referent"))))
	names := []string{
		"prize", "victim/prize", "victim.prize", "../victim/prize", "../../victim/" + plural("referent") + "/prize", "/victim/prize", "%2e%2e/victim/prize", "victim%2fprize",
		"prize\\u0000", "victim:prize", "prize.victim.svc", "..", "",
	}
	for i, name := range names {
		one := fmt.Sprintf("refer-%d", i)
		s.Apply("%s", thing("refer", "attacker", one, fmt.Sprintf(`{note: "%s"}`, name)))
		s.reason(of("refer", one), "attacker", "Ready", oneOf("ReferenceNotFound", "ExpressionFailed"))
	}
	s.nothingBut(server, "/probe")
	// The operator's own kinds, what has no group, and what no CustomResourceDefinition defines.
	for i, kind := range [][3]string{{"restmapping.dev", "v1alpha1", "RestEndpoint"}, {"", "v1", "Secret"}, {"rbac.authorization.k8s.io", "v1", "ClusterRole"}} {
		attack := fmt.Sprintf("refer-kind-%d", i)
		text := mapping(attack, "{kind: RestEndpoint, name: taker}", target(kind[0], kind[1], kind[2]))
		if err := s.attempt(text); err != nil {
			if !strings.Contains(err.Error(), "nvalid") {
				s.t.Errorf("%v: %v", kind, err)
			}
			continue
		}
		if kind[0] != "rbac.authorization.k8s.io" {
			s.t.Errorf("a reference to %v was taken", kind)
		}
		said := s.reason("restmapping/"+attack, "", "Ready", func(said string) bool { return !strings.Contains(said, " Progressing:") })
		if strings.HasPrefix(said, "True") {
			s.t.Errorf("a reference to %v is served: %s", kind, said)
		}
	}
	if err := s.Client.Resource(thingsOf("referent")).Namespace("victim").Delete(s.t.Context(), "prize", metav1.DeleteOptions{}); err != nil {
		s.t.Fatal(err)
	}
	s.Eventually("the victim's custom resource can be deleted, whoever names it elsewhere", func() string {
		_, err := s.Client.Resource(thingsOf("referent")).Namespace("victim").Get(s.t.Context(), "prize", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return ""
		}
		return "it is still there: " + s.condition(of("referent", "prize"), "victim", "Ready")
	})
	s.Apply("%s", thing("refer", "attacker", "refer-control", "{note: mine}"))
	s.Eventually("a reference in the own namespace works", func() string {
		if server.holds("mine-value") {
			return ""
		}
		return "it says " + s.condition(of("refer", "refer-control"), "attacker", "Ready")
	})
	if server.holds(prize) {
		s.t.Error("the attacker's server got the victim's prize")
	}
	s.t.Logf("%d names of a foreign custom resource and 3 kinds: none was read or kept; the allowed one works", len(names))
}

// keeping answers as a server does that keeps what is put, by path.
func keeping() http.HandlerFunc {
	var kept sync.Map
	return func(w http.ResponseWriter, r *http.Request) {
		switch r.Method {
		case http.MethodPut:
			body, err := io.ReadAll(r.Body)
			if err != nil {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
			kept.Store(r.URL.Path, body)
		case http.MethodDelete:
			kept.Delete(r.URL.Path)
			w.WriteHeader(http.StatusNoContent)
			return
		default:
		}
		body, found := kept.Load(r.URL.Path)
		if !found && r.URL.Path != "/probe" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		text, _ := body.([]byte)
		_, _ = w.Write(text)
	}
}

// nothingBut checks that a server was asked for one path alone, and never got the loot.
func (s *scene) nothingBut(server *server, path string) {
	s.t.Helper()
	if server.holds(loot) {
		s.t.Error("the attacker's server got the loot")
	}
	for _, r := range server.requests() {
		if r.URI != path {
			s.t.Errorf("%s %s was sent", r.Method, r.URI)
		}
	}
}
