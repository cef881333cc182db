package keys

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/restmapping/operator/pkg/lifecycle"
)

const namespace = "system"

type bench struct {
	*testing.T
	client  *fake.Clientset
	clock   *testingclock.FakePassiveClock
	written Written
	failing error
	asked   int
}

func newBench(t *testing.T, objects ...runtime.Object) *bench {
	t.Helper()
	return &bench{T: t, client: fake.NewClientset(objects...), clock: testingclock.NewFakePassiveClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))}
}

// process is one operator.
func (b *bench) process() *Keys {
	return New(Config{Secrets: b.client.CoreV1().Secrets(namespace), Namespace: namespace, Clock: b.clock, Written: func(context.Context) (Written, error) {
		b.asked++
		return b.written, b.failing
	}})
}

func (b *bench) secret() *corev1.Secret {
	b.Helper()
	secret, err := b.client.CoreV1().Secrets(namespace).Get(b.Context(), SecretName, metav1.GetOptions{})
	if err != nil {
		b.Fatal(err)
	}
	return secret
}

func (b *bench) load(k *Keys) string {
	b.Helper()
	if err := k.Load(b.Context()); err != nil {
		b.Fatal(err)
	}
	return k.Ring().Signing()
}

func TestTheFirstStartMakesOneKeyForAll(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first := b.load(b.process())
	if second := b.load(b.process()); first == "" || second != first || b.asked != 1 {
		t.Errorf("the keys are %q and %q; records were searched %d times", first, second, b.asked)
	}
	secret := b.secret()
	if len(secret.Data) != 1 || len(secret.Data[lifecycle.SigningEntry]) != keyBytes {
		t.Errorf("the Secret has %d entries", len(secret.Data))
	}
	if other := newBench(t); other.load(other.process()) == first {
		t.Error("two installations have one key")
	}
}

// The other process makes the Secret between the look of this one and its create.
func TestTwoProcessesAgreeOnOneKey(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	other, theirs := b.process(), ""
	ours := New(Config{Secrets: b.client.CoreV1().Secrets(namespace), Namespace: namespace, Clock: b.clock, Written: func(context.Context) (Written, error) {
		theirs = b.load(other) //nolint:contextcheck // the other process has a context of its own
		return Written{}, nil
	}})
	if got := b.load(ours); got == "" || got != theirs {
		t.Errorf("the keys are %q and %q", got, theirs)
	}
}

func TestRecordsOfTheVersionBeforeAreAcceptedFromTheStart(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.written = Written{Unsigned: true}
	b.load(b.process())
	if got := string(b.secret().Data[lifecycle.AcceptEntry]); got != lifecycle.AcceptUnsigned {
		t.Errorf("accept is %q", got)
	}
}

// A key that is gone is never made again by itself: not by another process, which knows it from the records, and not by
// the one that had it.
func TestALostKeyIsNotMadeAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	k := b.process()
	signing := b.load(k)
	kept := b.secret().DeepCopy()
	if err := b.client.CoreV1().Secrets(namespace).Delete(t.Context(), SecretName, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	b.written = Written{SignedWith: signing}
	b.clock.SetTime(b.clock.Now().Add(time.Hour))
	if got := k.Again(t.Context()).Signing(); got != signing {
		t.Errorf("the process that had it has now %q", got)
	}
	later := b.process()
	if err := later.Load(t.Context()); err == nil || later.Ring() != nil {
		t.Errorf("a new key was made, or nothing said: %v", err)
	}
	for name, process := range map[string]*Keys{"the one that had it": k, "a later one": later} {
		place, problem := process.Place()
		if place != "system/"+SecretName || problem == nil || !strings.Contains(problem.Error(), "gone") {
			t.Errorf("%s says %s: %v", name, place, problem)
		}
	}
	kept.ResourceVersion = ""
	if _, err := b.client.CoreV1().Secrets(namespace).Create(t.Context(), kept, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := later.Again(t.Context()).Signing(); got != signing {
		t.Errorf("restored, the key is %q, want %q", got, signing)
	}
	if _, problem := later.Place(); problem != nil {
		t.Errorf("restored, it still says %v", problem)
	}
}

func TestNoKeyIsMadeWhileTheRecordsAreNotKnown(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.failing = apierrors.NewForbidden(schema.GroupResource{Resource: "restmappings"}, "", errors.New("no right"))
	k := b.process()
	if err := k.Load(t.Context()); err == nil || k.Ring() != nil {
		t.Errorf("got %v", err)
	}
	for _, action := range b.client.Actions() {
		if action.GetVerb() == "create" {
			t.Error("a Secret was made")
		}
	}
}

func TestTheSecretIsNotReadMoreOftenThanIsPolite(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	k := b.process()
	b.load(k)
	before := len(b.client.Actions())
	for range 100 {
		k.Again(t.Context())
	}
	if got := len(b.client.Actions()) - before; got != 1 {
		t.Errorf("read %d times at once", got)
	}
	b.clock.SetTime(b.clock.Now().Add(politePause))
	k.Again(t.Context())
	if got := len(b.client.Actions()) - before; got != 2 {
		t.Errorf("read %d times", got)
	}
}

func TestWhatIsWrongIsSaid(t *testing.T) {
	t.Parallel()
	short := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: SecretName, Namespace: namespace}, Data: map[string][]byte{"key": []byte("hunter2")}}
	b := newBench(t, short)
	k := b.process()
	if got := k.Again(t.Context()); got.Signing() != "" {
		t.Errorf("a short key signs: %q", got.Signing())
	}
	if _, problem := k.Place(); problem == nil || !strings.Contains(problem.Error(), "32") || strings.Contains(problem.Error(), "hunter2") {
		t.Errorf("it says %v", problem)
	}
	refused := newBench(t)
	refused.client.PrependReactor("create", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, SecretName, errors.New("no right"))
	})
	if err := refused.process().Load(t.Context()); err == nil || !strings.Contains(err.Error(), "the chart") {
		t.Errorf("it says %v", err)
	}
}
