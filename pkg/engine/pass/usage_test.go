package pass

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

// TestWhoUsesWhatIsKnownOnceItAsked: who has not asked yet may use anything, and who is gone is not remembered.
func TestWhoUsesWhatIsKnownOnceItAsked(t *testing.T) {
	t.Parallel()
	r := &Reconciler{usage: newUsage()}
	one := types.NamespacedName{Namespace: "blue", Name: "one"}
	check := func(when string, endpointA, endpointB, secretA, secretB bool) {
		t.Helper()
		got := [4]bool{r.MayUseEndpoint(one, "a"), r.MayUseEndpoint(one, "b"), r.MayUseSecret(one, "a"), r.MayUseSecret(one, "b")}
		if want := [4]bool{endpointA, endpointB, secretA, secretB}; got != want {
			t.Errorf("%s: %v, want %v", when, got, want)
		}
	}
	check("before it asked", true, true, true, true)
	r.usage.noteEndpoint(one, "a")
	check("its endpoint alone is known", true, false, true, true)
	r.usage.noteSecrets(one, nil)
	check("it reads no Secret", true, false, false, false)
	r.usage.noteEndpoint(one, "b")
	r.usage.noteSecrets(one, []string{"b", "c"})
	check("it was edited", false, true, false, true)
	r.usage.forget(one)
	check("it is gone", true, true, true, true)
}
