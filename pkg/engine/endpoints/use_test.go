package endpoints_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/engine/endpoints"
)

// deleteHeld deletes an endpoint that a finalizer keeps.
func (w *world) deleteHeld(namespace, name string) {
	w.t.Helper()
	w.edit(namespace, name, func(e *v1alpha1.RestEndpoint) { e.Finalizers = []string{v1alpha1.EndpointFinalizer} })
	object := &v1alpha1.RestEndpoint{}
	if err := w.client.Get(w.t.Context(), types.NamespacedName{Namespace: namespace, Name: name}, object); err != nil {
		w.t.Fatal(err)
	}
	if err := w.client.Delete(w.t.Context(), object); err != nil && !apierrors.IsNotFound(err) {
		w.t.Fatal(err)
	}
}

func (v *vault) remove(namespace, name string) {
	v.mu.Lock()
	clear(v.values)
	v.versions[namespace+"/"+name] = 0
	listeners := v.listeners
	v.mu.Unlock()
	for _, listener := range listeners {
		listener(namespace, name)
	}
}

// When a namespace goes, its Secrets go first, and what is outside must still be deleted.
func TestAnEndpointThatIsDeletedKeepsItsLastCredential(t *testing.T) {
	t.Parallel()
	s, w := newServer(t), newWorld(t)
	w.vault.put("team-a", "token", "token", "s3cret")
	w.create(restEndpoint("team-a", "gitea", s.URL, withBearer("token")))
	mustDo(t, w.resolve(gitea), "/x")
	w.vault.remove("team-a", "token")
	if _, err := w.registry.Resolve(t.Context(), gitea); !isMissingSecret(err) {
		t.Fatalf("an endpoint that stays must not work without its Secret: %v", err)
	}
	w.deleteHeld("team-a", "gitea")
	mustDo(t, w.resolve(gitea), "/x")
	sent := s.seen()
	if got := sent[len(sent)-1].Header.Get("Authorization"); got != "Bearer s3cret" {
		t.Errorf("sent %q", got)
	}
	// A credential that is there wins over the one from before.
	w.vault.put("team-a", "token", "token", "rotated")
	mustDo(t, w.resolve(gitea), "/x")
	sent = s.seen()
	if got := sent[len(sent)-1].Header.Get("Authorization"); got != "Bearer rotated" {
		t.Errorf("sent %q", got)
	}
}

func isMissingSecret(err error) bool {
	reason, _ := endpoints.Reason(err)
	return err != nil && reason == v1alpha1.ReasonSecretNotFound
}

// Another endpoint of the same name gets nothing of the one before, and an edited one goes nowhere else with it.
func TestAnotherEndpointHasNoCredentialFromBefore(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*v1alpha1.RestEndpoint){
		"made anew": func(e *v1alpha1.RestEndpoint) { e.UID = "another" },
		"edited":    func(e *v1alpha1.RestEndpoint) { e.Spec.BaseURL = "http://127.0.0.1:1" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, w := newServer(t), newWorld(t)
			w.vault.put("team-a", "token", "token", "s3cret")
			w.create(restEndpoint("team-a", "gitea", s.URL, withBearer("token")))
			mustDo(t, w.resolve(gitea), "/x")
			w.vault.remove("team-a", "token")
			w.edit("team-a", "gitea", change)
			w.deleteHeld("team-a", "gitea")
			if _, err := w.registry.Resolve(t.Context(), gitea); !isMissingSecret(err) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestTheFirstUseIsToldOnce(t *testing.T) {
	t.Parallel()
	s, w := newServer(t), newWorld(t)
	w.create(restEndpoint("team-a", "gitea", s.URL))
	var told []endpoints.Ref
	unsubscribe := w.registry.SubscribeUse(func(ref endpoints.Ref) { told = append(told, ref) })
	if _, err := w.registry.Refresh(t.Context(), gitea); err != nil {
		t.Fatal(err)
	}
	if w.registry.Used(gitea) || len(told) > 0 {
		t.Error("a look of its controller counts as use")
	}
	for range 3 {
		w.resolve(gitea)
	}
	unsubscribe()
	if diff := cmp.Diff([]endpoints.Ref{gitea}, told); diff != "" || !w.registry.Used(gitea) {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}
