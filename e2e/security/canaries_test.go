//go:build security

package security_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"math/big"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// canary is a secret in one place.
type canary struct{ place, value string }

// bird makes a value that stands nowhere else. It has what must be escaped in a URL, in JSON and in HTML.
func bird(place string) canary {
	var raw [9]byte
	_, _ = rand.Read(raw[:])
	return canary{place, "CANARY+" + place + "/" + base64.RawStdEncoding.EncodeToString(raw[:]) + "="}
}

// forms are the ways in which a value may be written.
func (c canary) forms() []string {
	quoted := fmt.Sprintf("%q", c.value) // what is in a canary is written alike in JSON and in Go
	// What was cut is a secret as well, if enough of it is left.
	start := c.value[:min(len("CANARY+")+len(c.place)+len("/")+4, len(c.value))]
	return []string{
		c.value, start, url.QueryEscape(start), base64.StdEncoding.EncodeToString([]byte(start[:len(start)/3*3])), url.QueryEscape(c.value), url.PathEscape(c.value), strings.Trim(quoted, `"`),
		base64.StdEncoding.EncodeToString([]byte(c.value)), base64.StdEncoding.EncodeToString([]byte("me:" + c.value)), fmt.Sprintf("%x", c.value),
	}
}

// guarded are the ways to log in, with CANARY as the Secret's key.
func guarded() map[string]string {
	return map[string]string{
		"bearer":  "auth: {bearer: {tokenRef: {name: birds, key: bearer}}}",
		"basic":   "auth: {basic: {username: me, passwordRef: {name: birds, key: basic}}}",
		"header":  "auth: {headers: [{name: X-Key, prefix: \"key \", valueRef: {name: birds, key: header}}]}",
		"inquery": "auth: {apiKey: {in: Query, name: key, valueRef: {name: birds, key: inquery}}}",
		"cookie":  "auth: {apiKey: {in: Cookie, name: key, valueRef: {name: birds, key: cookie}}}",
		"oauth2":  "auth: {oauth2: {tokenURL: \"SERVER/token\", clientIDRef: {name: birds, key: clientid}, clientSecretRef: {name: birds, key: oauth2}, authStyle: InParams}}",
		"vault":   "vault: {address: \"VAULT\", tokenRef: {name: birds, key: vault-token}}\n  auth: {bearer: {tokenRef: {vault: {path: birds, key: value}}}}",
		"account": "auth: {serviceAccountToken: {serviceAccountName: own, audiences: [birds]}}",
		"session": "auth: {session: {login: {path: /login, fields: [{name: password, valueRef: {name: birds, key: session}}]}, token: {from: {cookie: sid}, cookie: sid}, csrf: {from: {header: X-Csrf}, header: X-Csrf}}}",
	}
}

// canaries plants a secret wherever one can stand, lets the server repeat everything it is sent in bodies, headers and
// errors, and looks for all of them wherever the operator tells something.
func canaries(s *scene) {
	birds := map[string]canary{}
	for _, place := range []string{
		"bearer", "basic", "header", "inquery", "cookie", "oauth2", "clientid", "session", "oauth2-token", "session-cookie", "session-csrf",
		"cr-body", "cr-header", "cr-query", "proxy", "vault", "vault-token", "file", "output",
	} {
		birds[place] = bird(place)
	}
	echo := listen(s.t, allowedHost, nil)
	echo.answer = func(w http.ResponseWriter, r *http.Request) { repeat(w, r, echo, birds) }
	s.plant(birds)
	key := s.plantKey()
	vault := s.plantInVault(birds)
	for name, fields := range guarded() {
		s.Apply("%s", endpointYAML("RestEndpoint", "attacker", "guarded-"+name, echo.URL, strings.NewReplacer("SERVER", echo.URL, "VAULT", vault.URL).Replace(fields)))
	}
	s.plantFile(birds, echo)
	s.plantOutput(birds)
	s.Apply("%s", endpointYAML("RestEndpoint", "attacker", "guarded-proxy", echo.URL, "proxy: {url: \""+echo.URL+"\", basic: {username: me, passwordRef: {name: birds, key: proxy}}}"))
	s.Apply("%s", endpointYAML("RestEndpoint", "attacker", "guarded-mtls", "https://"+echo.Listener.Addr().String(), "tls: {insecureSkipVerify: true, clientCertificate: {secretRef: {name: pair}}}"))
	s.Apply("%s", mapping("canary", "{kind: RestEndpoint, nameExpression: self.spec.server}", `
  identifiers: [{name: id, value: self.metadata.name}]
  secrets: [{name: mine, refExpression: self.spec.secretRef}]
  operations:
    read: {path: "/things/{id}", query: [{name: kind, value: self.spec.kind}]}
    create:
      method: PUT
      path: "/things/{id}"
      query: [{name: kind, value: self.spec.kind}, {name: secret, value: secrets.mine}]
      headers: [{name: X-Mine, value: secrets.mine}]
  fields: [{from: spec.note, to: note}, {to: secret, value: secrets.mine, writeOnly: true}]
  status: [{to: shown, value: "observed.?note"}]
`))
	answers := []string{"400", "401", "403", "404", "409", "422", "429", "500", "302", "html", "broken", "ok"}
	servers := append(slices.Sorted(func(yield func(string) bool) {
		for name := range guarded() {
			if !yield(name) {
				return
			}
		}
	}), "proxy", "mtls")
	var all strings.Builder
	for _, name := range servers {
		for i, answer := range answers {
			place := []string{"cr-body", "cr-header", "cr-query"}[i%3]
			all.WriteString(thing("canary", "attacker", "canary-"+name+"-"+answer, fmt.Sprintf("{server: guarded-%s, kind: %q, note: x, secretRef: {name: birds, key: %s}}", name, answer, place)))
		}
	}
	s.Apply("%s", all.String())
	for _, name := range servers {
		for _, answer := range answers {
			s.reason(of("canary", "canary-"+name+"-"+answer), "attacker", "Synced", func(said string) bool { return !strings.Contains(said, " Progressing:") })
		}
	}
	time.Sleep(5 * time.Second) // one more look of each, with what the first has left
	s.reason("clusterrestendpoint/guarded-file", "", "Ready", oneOf("ProbeFailed"))
	s.search(birds, key, []*server{echo, vault}, len(servers)*len(answers))
}

// plant makes the Secret of all canaries.
func (s *scene) plant(birds map[string]canary) {
	s.t.Helper()
	data := map[string]string{}
	for place, c := range birds {
		data[place] = c.value
	}
	text, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Secret", "stringData": data,
		"metadata": map[string]any{"name": "birds", "namespace": "attacker", "labels": map[string]string{"restmapping.dev/allow-read": "true"}},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.Apply("%s", text)
}

// plantKey makes a client certificate and gives the middle of its private key.
func (s *scene) plantKey() string {
	s.t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		s.t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "canary"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		s.t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		s.t.Fatal(err)
	}
	keyPEM := string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}))
	text, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls",
		"metadata":   map[string]any{"name": "pair", "namespace": "attacker", "labels": map[string]string{"restmapping.dev/allow-read": "true"}},
		"stringData": map[string]string{"tls.crt": string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), "tls.key": keyPEM},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.Apply("%s", text)
	return strings.Split(keyPEM, "\n")[2]
}

// repeat answers as the query says, with all that it was sent in the body and in a header.
func repeat(w http.ResponseWriter, r *http.Request, echo *server, birds map[string]canary) {
	sent := echo.requests()
	said, err := json.Marshal(map[string]any{"message": "refused " + fmt.Sprint(r.Header) + " " + r.RequestURI + " " + sent[len(sent)-1].Body})
	if err != nil {
		panic(err)
	}
	w.Header().Set("X-Repeated", strings.NewReplacer("\n", " ", "\r", " ").Replace(fmt.Sprint(r.Header)+r.RequestURI))
	w.Header().Set("Content-Type", "application/json")
	switch r.URL.Path {
	case "/token":
		_, _ = fmt.Fprintf(w, `{"access_token": %q, "token_type": "Bearer", "expires_in": 3600}`, birds["oauth2-token"].value)
		return
	case "/login":
		http.SetCookie(w, &http.Cookie{Name: "sid", Value: url.QueryEscape(birds["session-cookie"].value), Path: "/"})
		w.Header().Set("X-Csrf", birds["session-csrf"].value)
		_, _ = w.Write([]byte("{}"))
		return
	}
	kind := r.URL.Query().Get("kind")
	if r.Method == http.MethodGet && kind != "ok" && kind != "401" && kind != "500" {
		w.WriteHeader(http.StatusNotFound) // so that the create is sent, which has the canaries of the custom resource
		_, _ = w.Write(said)
		return
	}
	status := 0
	_, _ = fmt.Sscanf(kind, "%d", &status)
	switch {
	case status == http.StatusFound:
		w.Header().Set("Location", "http://elsewhere.example"+r.RequestURI)
		w.WriteHeader(status)
	case status > 0:
		w.WriteHeader(status)
		_, _ = w.Write(said)
	case kind == "html":
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<html>" + string(said)))
	case kind == "broken":
		w.Header().Set("Content-Length", "100000")
		_, _ = w.Write(said)
		panic(http.ErrAbortHandler)
	default:
		_, _ = w.Write([]byte(`{"note":"other"}`))
	}
}

// search looks for every form of every canary wherever the operator tells something.
func (s *scene) search(birds map[string]canary, key string, servers []*server, resources int) {
	s.t.Helper()
	places := map[string]string{
		"log":       s.log(),
		"events":    s.Kubectl("get", "events", "-A", "-o", "yaml") + s.Kubectl("get", "events.events.k8s.io", "-A", "-o", "yaml"),
		"resources": s.Kubectl("get", "attacks", "-A", "-o", "yaml"),
		"endpoints": s.Kubectl("get", "restendpoints,clusterrestendpoints", "-A", "-o", "yaml"),
		"mappings":  s.Kubectl("get", "restmappings", "-o", "yaml"),
		"leases":    s.Kubectl("get", "leases,configmaps", "-n", "restmapping-system", "-o", "yaml"),
		"metrics":   s.fetch(s.Operator.Metrics),
		"readyz":    s.fetch(s.Operator.Health + "/readyz?verbose"),
		"kubectl":   s.Kubectl("describe", "restendpoints", "-n", "attacker"),
		"traces":    s.traces.all(),
	}
	accounts := jwts(servers[0])
	if len(accounts) == 0 {
		s.t.Error("no token of a ServiceAccount reached the server: it was not tried")
	}
	planted := append(slices.Collect(maps.Values(birds)), accounts...)
	total, searched := 0, 0
	for place, text := range places {
		total += len(text)
		for _, c := range planted {
			for _, form := range c.forms() {
				searched++
				if i := strings.Index(text, form); i >= 0 {
					s.t.Errorf("%s shows the canary of %s: …%s…", place, c.place, text[max(0, i-200):min(len(text), i+len(form)+50)])
				}
			}
		}
		if strings.Contains(text, key) {
			s.t.Errorf("%s shows the private key", place)
		}
		if strings.Contains(text, loot) {
			s.t.Errorf("%s shows the loot", place)
		}
	}
	arrived := 0
	kept := s.Kubectl("get", "secrets", "-n", "attacker", "-o", "yaml")
	for _, c := range birds {
		reached := slices.ContainsFunc(servers, func(at *server) bool { return slices.ContainsFunc(c.forms(), at.holds) })
		if reached || c.place == "output" && strings.Contains(kept, base64.StdEncoding.EncodeToString([]byte(c.value))) {
			arrived++
		} else {
			s.t.Errorf("the canary of %s never reached the server: it was not tried", c.place)
		}
	}
	if len(places["log"]) < 1000 || len(places["metrics"]) < 1000 || len(places["traces"]) < 1000 {
		s.t.Error("there is next to nothing to search in")
	}
	s.t.Logf("%d canaries and tokens (%d arrived where they were meant for, and were repeated), %d resources, %d bytes in %d places searched %d times", len(planted)+2, arrived+len(accounts), resources, total, len(places), searched)
}

func (s *scene) fetch(address string) string {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, address, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 16<<20))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}
