//go:build cluster

package operator_test

import (
	"strings"
	"testing"

	"github.com/restmapping/operator/internal/lab"
	"github.com/restmapping/operator/internal/restfake"
)

// secretMapping sends a secret field that the server never gives back.
const secretMapping = `
  identifiers: [{name: id, value: self.metadata.name}]
  secrets: [{name: password, refExpression: self.spec.passwordRef}]
  operations:
    read: {path: "/things/{id}"}
    create: {method: PUT, path: "/things/{id}"}
    update: {method: PUT, path: "/things/{id}"}
    delete: {path: "/things/{id}"}
  fields:
  - {from: spec.size, to: size}
  - {to: password, value: secrets.password, writeOnly: true}
  sync: {interval: 2s, consistencyWindow: 1s, serverSlack: 1s}
`

var secretThings = restfake.Collection{Path: "/things", IDs: restfake.Chosen, Upsert: true, WriteOnly: []string{"password"}}

const secretSpec = "{size: 3, passwordRef: {name: pw, key: password}}"

// TestSecretsThatAreNotThere: nothing is sent without the secret; the message says what to do; and once that is done it
// goes on at once.
func TestSecretsThatAreNotThere(t *testing.T) {
	l := lab.New(t)
	cases := map[string]struct {
		before func(*lab.Kind)
		reason string
		says   []string
		mend   func(*lab.Kind)
	}{
		"no Secret": {
			before: func(*lab.Kind) {}, reason: "SecretNotFound",
			says: []string{"/pw does not exist", "restmapping.dev/allow-read=true"},
			mend: func(k *lab.Kind) { k.Secret("pw", "password", "hunter22") },
		},
		"no key": {
			before: func(k *lab.Kind) { k.Secret("pw", "other", "x") }, reason: "SecretNotFound",
			says: []string{`has no key "password"`},
			mend: func(k *lab.Kind) { k.Secret("pw", "password", "hunter22") },
		},
		"no label": {
			before: func(k *lab.Kind) { k.ClosedSecret("pw", "password", "hunter22") }, reason: "SecretNotAllowed",
			says: []string{"kubectl label secret -n ", " pw restmapping.dev/allow-read=true"},
			mend: func(k *lab.Kind) { k.Secret("pw", "password", "hunter22") },
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := l.In(t)
			server := l.NewServer([]restfake.Collection{secretThings})
			kind := l.NewKind("")
			tc.before(kind)
			kind.Endpoint(server.URL, "  timeout: 2s")
			// A long interval: what goes on does so because the Secret came, not because it was time.
			kind.Mapping(strings.Replace(secretMapping, "interval: 2s", "interval: 10m", 1))
			kind.Create("one", secretSpec)
			message := kind.Unready("one", tc.reason)
			for _, want := range tc.says {
				if !strings.Contains(message, want) {
					t.Errorf("the message lacks %q: %s", want, message)
				}
			}
			if strings.Contains(kind.Status("one"), "hunter22") {
				t.Errorf("the status shows the secret")
			}
			if n := server.Count("", ""); n != 0 {
				t.Errorf("%d requests were sent without the secret", n)
			}
			tc.mend(kind)
			kind.Ready("one")
			if got, _ := server.Get("/things/one"); got.Fields["password"] != "hunter22" {
				t.Errorf("the password outside is %v", got.Fields["password"])
			}
			t.Log(message)
		})
	}
}

// TestEndpointSecretThatIsNotThere is the same for the credential of the endpoint, which tells it in its own condition.
func TestEndpointSecretThatIsNotThere(t *testing.T) {
	l := lab.New(t)
	server := l.NewServer([]restfake.Collection{upsertThings})
	kind := l.NewKind("")
	kind.Endpoint(server.URL, tokenAuth)
	kind.Mapping(strings.Replace(upsertMapping, "interval: 2s", "interval: 10m", 1))
	kind.Create("one", "{size: 3}")
	kind.Unready("one", "SecretNotFound")
	kind.EndpointCondition("Ready", "False", "SecretNotFound")
	kind.Secret("token", "value", token)
	kind.Ready("one")
	kind.EndpointCondition("Ready", "True", "")
	for _, r := range server.Requests() {
		if r.Query.Get("key") != token {
			t.Errorf("%s %s was sent without the credential", r.Method, r.Path)
		}
	}
	if live := server.Live("/things"); len(live) != 1 {
		t.Errorf("outside: %v", live)
	}
}

// TestEndpointThatIsNotThere: it says which, and goes on at once when it appears.
func TestEndpointThatIsNotThere(t *testing.T) {
	l := lab.New(t)
	server := l.NewServer([]restfake.Collection{upsertThings})
	kind := l.NewKind("")
	kind.Mapping(strings.Replace(upsertMapping, "interval: 2s", "interval: 10m", 1))
	kind.Create("one", "{size: 3}")
	message := kind.Unready("one", "EndpointNotFound")
	if !strings.Contains(message, "RestEndpoint "+kind.Namespace+"/server does not exist") {
		t.Errorf("the message does not name it: %s", message)
	}
	kind.Endpoint(server.URL, "  timeout: 2s")
	kind.Ready("one")
	if live := server.Live("/things"); len(live) != 1 {
		t.Errorf("outside: %v", live)
	}
}

// TestSecretRotation: a new value of a Secret is sent with the next write, and a new credential is used at once.
func TestSecretRotation(t *testing.T) {
	l := lab.New(t)
	server := l.NewServer([]restfake.Collection{secretThings})
	kind := l.NewKind("")
	kind.Secret("token", "value", "first-token")
	kind.Secret("pw", "password", "first-password")
	kind.Endpoint(server.URL, tokenAuth)
	kind.Mapping(secretMapping)
	kind.Create("one", secretSpec)
	kind.Ready("one")
	kind.Secret("token", "value", "second-token")
	kind.Secret("pw", "password", "second-password")
	l.Eventually("the new credential is used", func() string {
		requests := server.Requests()
		if got := requests[len(requests)-1].Query.Get("key"); got != "second-token" {
			return got
		}
		return ""
	})
	kind.Patch("one", `{"spec":{"size":4}}`)
	kind.Ready("one")
	got, _ := server.Get("/things/one")
	if got.Fields["password"] != "second-password" || lab.Int(got.Fields["size"]) != 4 {
		t.Errorf("outside: %v", got.Fields)
	}
	if text := kind.Status("one"); strings.Contains(text, "-password") || strings.Contains(text, "-token") {
		t.Errorf("the status shows a secret: %s", text)
	}
	if text := l.Log(); strings.Contains(text, "-password") || strings.Contains(text, "-token") {
		t.Error("the log shows a secret")
	}
}
