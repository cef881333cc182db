package pass_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/internal/restfake"
)

// rotating is a mapping whose server gives a token with the create, and another with each rotation.
func rotating(interval string) string {
	with := strings.Replace(markerMapping, `delete: {path`, `rotate: {path: "/things/{id}/token"`+interval+`}`+"\n    delete: {path", 1)
	return with + `
  outputs:
  - {name: token, kind: Secret, operations: [Create, Rotate], data: {token: response.body.token, id: "response.body.?id"}}
`
}

// newTokens answers rotations with these tokens, one after the other.
func (b *bench) newTokens(tokens ...string) {
	for _, token := range tokens {
		b.server.AddRule(restfake.Rule{Method: http.MethodPost, Path: "/things/1/token", Times: 1, Fault: restfake.Reply(200, "application/json", `{"token":"`+token+`"}`)})
	}
}

func (b *bench) token() string {
	b.Helper()
	got := b.outputs.peek(secretNamed("one-token"))
	if got == nil {
		return "(no Secret)"
	}
	return got.Data["token"] + " " + got.Data["id"]
}

func (b *bench) rotations() int {
	n := 0
	for _, line := range b.journal.take() {
		if strings.HasPrefix(line, "POST /things/1/token") {
			n++
		}
	}
	return n
}

func rotatingBench(t *testing.T, interval string) *bench {
	t.Helper()
	b := newBench(t, rotating(interval), markedThings())
	b.newTokens("second-token", "third-token")
	tokens(b)
	b.create("one", "{size: 3}")
	b.look("one")
	b.wantCondition("one", v1alpha1.ConditionReady, "True Available")
	if got := b.token(); got != canary+" 1" {
		t.Fatalf("after the create the Secret has %q", got)
	}
	b.journal.take()
	return b
}

// An annotation asks for one rotation, whatever happens to the process afterwards. What the answer does not hold stays.
func TestARotationIsAskedFor(t *testing.T) {
	t.Parallel()
	b := rotatingBench(t, "")
	b.look("one")
	if n := b.rotations(); n != 0 {
		t.Errorf("%d rotations that nobody asked for", n)
	}
	b.annotate("one", v1alpha1.RotateAnnotation, "a")
	b.look("one")
	b.look("one")
	b.restart()
	b.look("one")
	if got, n := b.token(), b.rotations(); got != "second-token 1" || n != 1 {
		t.Errorf("after %d rotations the Secret has %q", n, got)
	}
	b.wantCondition("one", v1alpha1.ConditionReady, "True Available")
	b.annotate("one", v1alpha1.RotateAnnotation, "b")
	b.look("one")
	if got, n := b.token(), b.rotations(); got != "third-token 1" || n != 1 {
		t.Errorf("after another %d rotations the Secret has %q", n, got)
	}
	b.noCanary("one")
}

// A value becomes no older than the interval.
func TestARotationComesWithTime(t *testing.T) {
	t.Parallel()
	b := rotatingBench(t, ", interval: 24h")
	for _, step := range []struct {
		wait time.Duration
		want string
	}{{23 * time.Hour, canary + " 1"}, {2 * time.Hour, "second-token 1"}, {23 * time.Hour, "second-token 1"}, {2 * time.Hour, "third-token 1"}} {
		b.clock.SetTime(b.clock.Now().Add(step.wait))
		b.restart()
		b.look("one")
		if got := b.token(); got != step.want {
			t.Fatalf("the Secret has %q, want %q", got, step.want)
		}
	}
}

// A value that could not be stored is lost, so another one is asked for; and so it is where the answer was lost.
func TestARotationThatWasLostIsMadeAgain(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(*bench){
		"not stored": func(b *bench) {
			b.outputs.before = func(line string) error {
				return ifWrite(line, apierrors.NewForbidden(things, "one-token", nil))
			}
		},
		"not answered": func(b *bench) {
			b.server.AddRule(restfake.Rule{Method: http.MethodPost, Path: "/things/1/token", Times: 1, Fault: restfake.Reply(500, "application/json", `{}`)})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, rotating(""), markedThings())
			b.server.AddRule(restfake.Rule{Method: http.MethodPost, Path: "/things", Times: 1, Fault: restfake.CommitThenReply(201, "application/json", `{"id":"1","token":"`+canary+`"}`)})
			b.create("one", "{size: 3}")
			b.look("one")
			lose(b)
			b.newTokens("second-token", "third-token")
			b.annotate("one", v1alpha1.RotateAnnotation, "a")
			b.look("one")
			if got := b.token(); got != canary+" 1" {
				t.Fatalf("the Secret has %q", got)
			}
			b.outputs.before = func(string) error { return nil }
			b.follow("one", b.is("one", v1alpha1.ConditionReady, "True Available"))
			if got := b.token(); !strings.HasSuffix(got, "-token 1") || got == canary+" 1" {
				t.Errorf("the Secret has %q", got)
			}
			b.wantLive(1)
		})
	}
}

// Nothing is rotated while the object differs, is only observed, or is deleted.
func TestARotationWaitsForTheObject(t *testing.T) {
	t.Parallel()
	b := rotatingBench(t, "")
	b.annotate("one", v1alpha1.RotateAnnotation, "a")
	b.delete("one")
	b.follow("one", b.gone("one"))
	if n := b.rotations(); n != 0 {
		t.Errorf("%d rotations of what is deleted", n)
	}
}
