package endpoints_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/engine/endpoints"
	"github.com/restmapping/operator/pkg/engine/files"
	"github.com/restmapping/operator/pkg/httpapi"
)

// folder holds files in memory.
type folder struct{ vault *vault }

func (f *folder) Get(name string) (httpapi.Secret, error) {
	value, err := f.vault.Get(context.Background(), "files", name, "")
	if err != nil {
		return value, &files.NotFoundError{Name: name, Directory: "/credentials"}
	}
	return value, nil
}

func (f *folder) Version(name string) (string, error) {
	return f.vault.Version(context.Background(), "files", name)
}

func (f *folder) Subscribe(listener func(name string)) func() {
	return f.vault.Subscribe(func(_, name string) { listener(name) })
}

func withFile(name string) func(*v1alpha1.EndpointSpec) {
	return func(s *v1alpha1.EndpointSpec) {
		s.Auth = &v1alpha1.Auth{Bearer: &v1alpha1.BearerAuth{TokenRef: v1alpha1.SecretKeyReference{File: name}}}
	}
}

func TestACredentialFromAFileIsUsedAndFollowed(t *testing.T) {
	t.Parallel()
	s, w := newServer(t), newWorld(t)
	shared := &v1alpha1.ClusterRestEndpoint{ObjectMeta: metav1.ObjectMeta{Name: "shared"}}
	shared.Spec.BaseURL = s.URL
	withFile("gitea/token")(&shared.Spec.EndpointSpec)
	shared.Spec.AllowedNamespaces = &v1alpha1.AllowedNamespaces{Names: []string{"team-a"}}
	w.create(shared)
	ref := endpoints.Ref{Kind: endpoints.KindClusterRestEndpoint, Namespace: "team-a", Name: "shared"}
	_, err := w.registry.Resolve(t.Context(), ref)
	if reason, stalled := endpoints.Reason(err); reason != v1alpha1.ReasonSecretNotFound || stalled {
		t.Errorf("reason %s, stalled %t: %v", reason, stalled, err)
	}
	heard := w.heard()
	for _, value := range []string{"one", "two"} {
		w.files.vault.put("files", "gitea/token", "", value)
		if diff := cmp.Diff([]endpoints.Ref{ref.Own()}, heard()); diff != "" {
			t.Errorf("told (-want +got):\n%s", diff)
		}
		mustDo(t, w.resolve(ref), "/x")
		if sent := s.seen(); sent[len(sent)-1].Header.Get("Authorization") != "Bearer "+value {
			t.Errorf("sent %v", sent[len(sent)-1].Header)
		}
	}
}

// The CRD refuses it as well; this holds for what was stored before, and for a CRD that somebody changed.
func TestARestEndpointReadsNoFile(t *testing.T) {
	t.Parallel()
	s, w := newServer(t), newWorld(t)
	w.files.vault.put("files", "gitea/token", "", "canary-value")
	w.create(restEndpoint("team-a", "gitea", s.URL, withFile("gitea/token")))
	_, err := w.registry.Resolve(t.Context(), gitea)
	if reason, stalled := endpoints.Reason(err); reason != v1alpha1.ReasonInvalidEndpoint || !stalled {
		t.Errorf("reason %s, stalled %t: %v", reason, stalled, err)
	}
	if err == nil || !strings.Contains(err.Error(), "spec.auth.bearer.tokenRef.file: only a ClusterRestEndpoint reads files") {
		t.Errorf("got %v", err)
	}
	if n := w.files.vault.readCount(); n > 0 {
		t.Errorf("the file was read %d times", n)
	}
}
