package labelled_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"

	"github.com/restmapping/operator/pkg/engine/labelled"
)

const label = "example.com/watched"

func secret(annotations map[string]string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "one", UID: "u", ResourceVersion: "7",
			Labels: map[string]string{label: "true"}, Annotations: annotations,
		},
	}
}

func client(objects ...runtime.Object) *fake.FakeMetadataClient {
	scheme := fake.NewTestScheme()
	_ = metav1.AddMetaToScheme(scheme)
	return fake.NewSimpleMetadataClient(scheme, objects...)
}

// running runs a watch until the test has ended.
func running(t *testing.T, cfg labelled.Config) *labelled.Watch {
	t.Helper()
	watch, err := labelled.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var ended sync.WaitGroup
	ended.Go(func() { watch.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		ended.Wait()
	})
	return watch
}

func TestKeepsTheIdentityAndWhatIsAskedFor(t *testing.T) {
	t.Parallel()
	keep := func(from metav1.ObjectMeta, kept *metav1.ObjectMeta) {
		kept.Annotations = map[string]string{"kept": from.Annotations["kept"]}
	}
	objects := client(secret(map[string]string{"kept": "yes", "large": "no"}))
	watch := running(t, labelled.Config{Client: objects, Resource: "secrets", Label: label, Keep: keep})
	if err := watch.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := watch.Get(types.NamespacedName{Namespace: "default", Name: "one"})
	if got == nil || got.UID != "u" || got.ResourceVersion != "7" {
		t.Fatalf("got %v", got)
	}
	if len(got.Annotations) != 1 || got.Annotations["kept"] != "yes" || got.Labels != nil {
		t.Errorf("kept annotations %v and labels %v", got.Annotations, got.Labels)
	}
	if watch.Get(types.NamespacedName{Namespace: "default", Name: "other"}) != nil {
		t.Error("an object that is not there was found")
	}
}

// What the API server refuses is said at once, and not after the whole wait.
func TestRefused(t *testing.T) {
	t.Parallel()
	refusal := errors.New("secrets is forbidden")
	objects := client()
	asked := make(chan struct{}, 100)
	objects.PrependReactor("list", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
		asked <- struct{}{}
		return true, nil, refusal
	})
	watch := running(t, labelled.Config{Client: objects, Resource: "secrets", Label: label})
	<-asked
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for watch.Failure() == nil && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	if err := watch.Wait(ctx); !errors.Is(err, refusal) {
		t.Errorf("got %v, want the API server's words", err)
	}
	if watch.Synced() {
		t.Error("nothing was listed")
	}
}

func TestMetadataOfAMissedDeletion(t *testing.T) {
	t.Parallel()
	meta := secret(nil)
	if got := labelled.Metadata(cache.DeletedFinalStateUnknown{Obj: meta}); got != meta {
		t.Errorf("got %v", got)
	}
	if got := labelled.Metadata(&corev1.Secret{}); got != nil {
		t.Errorf("got %v for what is no metadata", got)
	}
}
