//go:build cluster

package operator_test

import (
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/restmapping/operator/internal/charttest"
	"github.com/restmapping/operator/internal/lab"
	"github.com/restmapping/operator/internal/operator"
	"github.com/restmapping/operator/internal/vaultfake"
)

// unused is how long nobody may have shown the old credential before it is revoked, as a careful person would do.
const unused = time.Second

// crowd is how many custom resources are changed all the time, and how many never; neither are looked at by the clock.
func crowd() (busy, quiet int) {
	if os.Getenv("ROTATE_LONG") != "" {
		return 100, 20
	}
	return 12, 4
}

// rotation is one kind of credential that is changed while everything is busy.
type rotation struct {
	// setUp makes the first credential and the endpoint. It sets old and fresh, which tell of a request which one it shows.
	setUp func(*rotating)
	// silent tells that nothing announces the change: objects follow when they are worked on next.
	silent bool
}

// rotating is a rotation under way.
type rotating struct {
	*trusted
	old, fresh func(*http.Request) bool
	// rotate makes the new credential the one to use, revoke ends the old one where it comes from; nil for nothing there.
	rotate, revoke func()

	mu                 sync.Mutex
	began, lastOld     time.Time
	oldSeen, freshSeen int
	rerun              map[string]bool
	revoked            bool
}

// takes is the server's guard.
func (r *rotating) takes(req *http.Request) bool {
	old, fresh := r.old(req), r.fresh(req)
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case fresh:
		r.freshSeen++
		r.rerun[req.URL.Path] = true
		return true
	case old && !r.began.IsZero():
		r.oldSeen++
		r.lastOld = time.Now()
	}
	return old && !r.revoked
}

func (r *rotating) begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.began, r.lastOld = time.Now(), time.Now()
}

// rested tells whether the new credential is in use and the old one was not seen for a while.
func (r *rotating) rested() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.freshSeen == 0 || time.Since(r.lastOld) < unused {
		return fmt.Sprintf("%d requests with the new credential, the old one %s ago", r.freshSeen, time.Since(r.lastOld))
	}
	return ""
}

// rerunOf counts the custom resources of which the server heard with the new credential.
func (r *rotating) rerunOf(prefix string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	count := 0
	for path := range r.rerun {
		if strings.HasPrefix(path, "/things/"+prefix) {
			count++
		}
	}
	return count
}

// bySecret rotates a value of the Secret "login".
func bySecret(auth string, shows func(value string) func(*http.Request) bool) rotation {
	return rotation{setUp: func(r *rotating) {
		r.secret("login", "value", "old-cr3dential")
		r.old, r.fresh = shows("old-cr3dential"), shows("new-cr3dential")
		r.rotate = func() { r.secret("login", "value", "new-cr3dential") }
		r.endpoint(r.server.URL, "  auth: "+auth)
	}}
}

// byFetched rotates what tokens are fetched with: the authority knows a secret, and gives tokens that begin as it does.
func byFetched(setUp func(r *rotating, a *authority)) rotation {
	return rotation{setUp: func(r *rotating) {
		a := newAuthority(r.t)
		r.secret("login", "value", "old-cr3dential")
		of := func(age string) func(*http.Request) bool {
			return func(req *http.Request) bool {
				return strings.Contains(fmt.Sprint(req.Header["Authorization"], req.Header["Cookie"]), age+"-t0ken")
			}
		}
		r.old, r.fresh = of("old"), of("new")
		r.rotate = func() { r.secret("login", "value", "new-cr3dential") }
		setUp(r, a)
	}}
}

// age is that of the credential a login shows, empty when it is refused.
func (r *rotating) age(secret string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case secret == "new-cr3dential":
		return "new"
	case secret == "old-cr3dential" && !r.revoked:
		return "old"
	default:
		return ""
	}
}

func rotations() map[string]rotation {
	header := func(name, prefix string) func(string) func(*http.Request) bool {
		return func(value string) func(*http.Request) bool { return byHeader(name, prefix+value) }
	}
	return map[string]rotation{
		"bearer":       bySecret("{bearer: {tokenRef: {name: login, key: value}}}", header("Authorization", "Bearer ")),
		"basic":        bySecret("{basic: {username: operator, passwordRef: {name: login, key: value}}}", byPassword),
		"headers":      bySecret("{headers: [{name: X-Key, prefix: \"key \", valueRef: {name: login, key: value}}]}", header("X-Key", "key ")),
		"apiKey":       bySecret("{apiKey: {in: Query, name: key, valueRef: {name: login, key: value}}}", byQuery),
		"oauth2":       byFetched(rotateClientSecret),
		"session":      byFetched(rotateSession),
		"certificate":  {setUp: rotateCertificate},
		"file":         {setUp: rotateFile},
		"vault":        {setUp: rotateVault, silent: true},
		"accountToken": {setUp: rotateAccount},
	}
}

func byQuery(value string) func(*http.Request) bool {
	return func(r *http.Request) bool { return r.URL.Query().Get("key") == value }
}

func rotateClientSecret(r *rotating, a *authority) {
	a.instead(func(w http.ResponseWriter, req *http.Request) bool {
		age := r.age(req.PostFormValue("client_secret"))
		if age == "" {
			refuse(w, http.StatusUnauthorized, "invalid_client")
			return true
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"access_token": "%s-t0ken", "token_type": "Bearer", "expires_in": 3600}`, age)
		return true
	})
	r.endpoint(r.server.URL, "  auth: {oauth2: {tokenURL: \"http://"+a.address+"/token\", clientID: operator, clientSecretRef: {name: login, key: value}, authStyle: InParams}}")
}

func rotateSession(r *rotating, _ *authority) {
	r.server.login = func(w http.ResponseWriter, req *http.Request) {
		var body struct{ Password string }
		if err := json.NewDecoder(req.Body).Decode(&body); err != nil || r.age(body.Password) == "" {
			refuse(w, http.StatusUnauthorized, "wrong password")
			return
		}
		http.SetCookie(w, &http.Cookie{Name: "sid", Value: r.age(body.Password) + "-t0ken", Path: "/"})
		refuse(w, http.StatusOK, "welcome")
	}
	r.endpoint(r.server.URL, "  auth: {session: {login: {path: /login, fields: [{name: password, valueRef: {name: login, key: value}}]}, token: {from: {cookie: sid}, cookie: sid}}}")
}

// rotateCertificate renews the client certificate, as cert-manager does.
func rotateCertificate(r *rotating) {
	authority := newCA(r.t, nil, false)
	pair := authority.issue("127.0.0.1", false)
	r.server.certified(func(c *tls.Config) {
		c.ClientAuth, c.ClientCAs = tls.RequireAndVerifyClientCert, authority.pool()
	}, func() tls.Certificate { return pair })
	show := func(name string) {
		certificate, key := pemOf(r.t, authority.issue(name, false))
		r.lab.Apply("apiVersion: v1\nkind: Secret\nmetadata: {name: pair, namespace: %s, labels: {restmapping.dev/allow-read: \"true\"}}\ntype: kubernetes.io/tls\nstringData: {tls.crt: %q, tls.key: %q}\n",
			r.Namespace, certificate, key)
	}
	by := func(name string) func(*http.Request) bool {
		return func(req *http.Request) bool {
			return req.TLS != nil && len(req.TLS.PeerCertificates) > 0 && req.TLS.PeerCertificates[0].Subject.CommonName == name
		}
	}
	show("old")
	r.old, r.fresh, r.rotate = by("old"), by("new"), func() { show("new") }
	r.endpoint(r.server.URL, fmt.Sprintf("  tls: {caBundle: %q, clientCertificate: {secretRef: {name: pair}}}", authority.bundle))
}

// clusterEndpoint makes a ClusterRestEndpoint of the namespace's name.
func (r *rotating) clusterEndpoint(auth string) {
	r.t.Helper()
	r.lab.Apply("apiVersion: restmapping.dev/v1alpha1\nkind: ClusterRestEndpoint\nmetadata: {name: %[1]s}\nspec:\n  baseURL: %[2]s\n  auth: %[3]s\n  allowedNamespaces: {names: [%[1]s]}\n",
		r.Namespace, r.server.URL, auth)
}

// rotateFile changes a file in place of which another is put, as a Secrets Store driver does.
func rotateFile(r *rotating) {
	write := func(value string) {
		file := filepath.Join(credentials, r.Namespace)
		if err := os.WriteFile(file+".next", []byte(value+"\n"), 0o600); err != nil {
			r.t.Fatal(err)
		}
		if err := os.Rename(file+".next", file); err != nil {
			r.t.Fatal(err)
		}
	}
	write("old-cr3dential")
	r.hidden = append(r.hidden, "old-cr3dential", "new-cr3dential")
	r.old, r.fresh = byHeader("Authorization", "Bearer old-cr3dential"), byHeader("Authorization", "Bearer new-cr3dential")
	r.rotate = func() { write("new-cr3dential") }
	r.clusterEndpoint("{bearer: {tokenRef: {file: " + r.Namespace + "}}}")
}

// rotateVault writes a new version, and waits for nothing: it is read within the refresh interval.
func rotateVault(r *rotating) {
	vault := vaultfake.New()
	r.t.Cleanup(vault.Close)
	vault.Allow("vault-t0ken", true)
	put := func(value string) { vault.Put("apis/things", map[string]any{"token": value}) }
	put("old-cr3dential")
	r.hidden = append(r.hidden, "old-cr3dential", "new-cr3dential")
	r.secret("vault", "token", "vault-t0ken")
	r.old, r.fresh = byHeader("Authorization", "Bearer old-cr3dential"), byHeader("Authorization", "Bearer new-cr3dential")
	r.rotate = func() { put("new-cr3dential") }
	r.endpoint(r.server.URL, "  vault: {address: "+vault.URL+", tokenRef: {name: vault, key: token}, refreshInterval: 10s}\n  auth: {bearer: {tokenRef: {vault: {path: apis/things, key: token}}}}")
}

// rotateAccount changes the ServiceAccount, and then deletes the one that was used.
func rotateAccount(r *rotating) {
	r.lab.Apply(`
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: tokens, namespace: %[1]s}
rules:
- {apiGroups: [""], resources: [serviceaccounts], verbs: [get]}
- {apiGroups: [""], resources: [serviceaccounts/token], verbs: [create]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: tokens, namespace: %[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: tokens}
subjects: [{kind: ServiceAccount, name: %[2]s, namespace: %[3]s}]
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: old, namespace: %[1]s, labels: {restmapping.dev/allow-token: "true"}}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: new, namespace: %[1]s, labels: {restmapping.dev/allow-token: "true"}}
`, r.Namespace, lab.Account, charttest.Namespace)
	r.old, r.fresh = byAccount(r.Namespace, "old"), byAccount(r.Namespace, "new")
	r.rotate = func() { r.patchEndpoint(`{"spec":{"auth":{"serviceAccountToken":{"serviceAccountName":"new"}}}}`) }
	r.revoke = func() {
		accounts := lab.SecretGVR
		accounts.Resource = "serviceaccounts"
		if err := r.lab.Client.Resource(accounts).Namespace(r.Namespace).Delete(r.t.Context(), "old", metav1.DeleteOptions{}); err != nil {
			r.t.Fatal(err)
		}
	}
	r.endpoint(r.server.URL, "  auth: {serviceAccountToken: {serviceAccountName: old, audiences: ["+audience+"]}}")
}

// byAccount reads whose token it is, of a token that the cluster's own TokenRequest made.
func byAccount(namespace, name string) func(*http.Request) bool {
	return func(r *http.Request) bool {
		parts := strings.Split(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), ".")
		if len(parts) != 3 {
			return false
		}
		text, err := base64.RawURLEncoding.DecodeString(parts[1])
		if err != nil {
			return false
		}
		var claims struct{ Sub string }
		return json.Unmarshal(text, &claims) == nil && claims.Sub == "system:serviceaccount:"+namespace+":"+name
	}
}

// credentials is the directory of the test's operator.
var credentials string //nolint:gochecknoglobals // set by the one test that uses it

// TestACredentialIsRotatedUnderLoad: for each kind of credential some custom resources are changed all the time, some are not,
// and 10 more use another endpoint. The credential is changed and, when the old one is out of use, revoked. From the change
// on no request is refused and no pass fails; everything that uses the endpoint is worked on again, and nothing else.
// ROTATE_LONG=1 is 100 that are changed and 20 that are not.
func TestACredentialIsRotatedUnderLoad(t *testing.T) {
	credentials = t.TempDir()
	l := lab.New(t, func(o *operator.Options) { o.CredentialsDirectory = credentials })
	other := newTrusted(t, l)
	byToken(other, nil)
	other.Mapping(lazyMapping)
	for i := range 10 {
		other.Create(fmt.Sprintf("other-%d", i), "{size: 3}")
	}
	for i := range 10 {
		other.Ready(fmt.Sprintf("other-%d", i))
	}
	before := other.server.fake.Count("", "/things/{id}")
	for name, tc := range rotations() {
		t.Run(name, func(t *testing.T) {
			r := &rotating{trusted: newTrusted(t, l.In(t)), rerun: map[string]bool{}}
			rotateUnderLoad(r, tc)
		})
	}
	if n := other.server.fake.Count("", "/things/{id}") - before; n != 0 {
		t.Errorf("%d requests for custom resources that use none of these credentials", n)
	}
}

// lazyMapping looks at nothing by the clock.
var lazyMapping = strings.Replace(upsertMapping, "interval: 2s", "interval: 10m", 1)

func rotateUnderLoad(r *rotating, tc rotation) {
	r.t.Helper()
	tc.setUp(r)
	r.server.only(r.takes)
	r.mapped()
	busy, quiet := crowd()
	names := make([]string, 0, busy+quiet)
	for i := range busy + quiet {
		name := fmt.Sprintf("busy-%d", i)
		if i >= busy {
			name = fmt.Sprintf("quiet-%d", i)
		}
		names = append(names, name)
		r.Create(name, "{size: 0}")
	}
	r.Ready(names...)

	load := r.load(names[:busy])
	defer load.stop()
	load.wait(busy)
	failed, changes := r.failedPasses(), load.count()
	refused, _ := r.server.counts()
	r.begin()
	r.rotate()
	r.lab.Eventually("the old credential is out of use", r.rested)
	r.mu.Lock()
	late, oldSeen := r.lastOld.Sub(r.began), r.oldSeen
	r.revoked = true
	r.mu.Unlock()
	if r.revoke != nil {
		r.revoke()
	}
	load.wait(2 * max(busy, 50))
	load.stop()
	r.Ready(names...)

	if n := r.failedPasses() - failed; n != 0 {
		r.t.Errorf("%d passes failed after the change", n)
	}
	if now, _ := r.server.counts(); now != refused {
		r.t.Errorf("%d requests were refused after the change", now-refused)
	}
	for i, name := range names[:busy] {
		if got, _ := r.server.fake.Get("/things/" + name); lab.Int(got.Fields["size"]) != load.last(i) {
			r.t.Errorf("%s is %v outside, want %d", name, got.Fields["size"], load.last(i))
		}
	}
	if !tc.silent {
		r.lab.Eventually("what was not changed is worked on again", func() string {
			if again := r.rerunOf("quiet-"); again != quiet {
				return fmt.Sprintf("%d of %d", again, quiet)
			}
			return ""
		})
	}
	if live, twice := r.server.fake.Live("/things"), r.server.fake.Duplicates(); len(live) != busy+quiet || len(twice) != 0 {
		r.t.Errorf("outside there are %d objects, doubled %v", len(live), twice)
	}
	r.nothingShown()
	r.t.Logf("%d custom resources, %d changes since the rotation; the old credential was shown %d times more, last after %s; %d requests with the new one; 0 refused, 0 failed passes; worked on again without a change: %d of %d",
		busy+quiet, load.count()-changes, oldSeen, late.Round(time.Millisecond), r.freshSeen, r.rerunOf("quiet-"), quiet)
}

// mapped makes the mapping at the endpoint that the rotation made.
func (r *rotating) mapped() {
	r.t.Helper()
	found, err := r.lab.Client.Resource(lab.EndpointGVR).Namespace(r.Namespace).List(r.t.Context(), metav1.ListOptions{})
	if err != nil {
		r.t.Fatal(err)
	}
	if len(found.Items) == 0 {
		r.MappingFor("", "endpoint: {kind: ClusterRestEndpoint, name: "+r.Namespace+"}", lazyMapping)
		return
	}
	r.Mapping(lazyMapping)
}
