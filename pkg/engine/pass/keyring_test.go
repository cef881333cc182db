package pass_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/restmapping/operator/pkg/engine/pass"
	"github.com/restmapping/operator/pkg/lifecycle"
)

// keyring stands for the Secret with the keys of the installation.
type keyring struct {
	ring    *lifecycle.Ring
	problem error
	// later is what the Secret holds when it is read again.
	later *lifecycle.Ring
	again int
}

var _ pass.Keys = (*keyring)(nil)

// keysSince is when the Secret of the tests was made.
var keysSince = time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC)

func newKeyring(t *testing.T, letter string) *keyring {
	t.Helper()
	return &keyring{ring: newRing(t, letter, "")}
}

func newRing(t *testing.T, letter, accept string) *lifecycle.Ring {
	t.Helper()
	content := map[string][]byte{lifecycle.SigningEntry: []byte(strings.Repeat(letter, 32)), lifecycle.AcceptEntry: []byte(accept)}
	ring, err := lifecycle.NewRing(content, keysSince)
	if err != nil {
		t.Fatal(err)
	}
	return ring
}

func (k *keyring) Ring() *lifecycle.Ring { return k.ring }

func (k *keyring) Again(context.Context) *lifecycle.Ring {
	k.again++
	if k.later != nil {
		k.ring, k.later, k.problem = k.later, nil, nil
	}
	return k.ring
}

func (k *keyring) Place() (string, error) { return "system/the-keys", k.problem }

// subjectOf names a custom resource of the tests as its record does.
func subjectOf(name string) lifecycle.Subject {
	return lifecycle.Subject{UID: "uid-" + name, Kind: "Thing.lab.example.com", Namespace: "team", Name: name}
}
