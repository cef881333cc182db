package outputs

import (
	"context"
	"maps"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	metadatafake "k8s.io/client-go/metadata/fake"
	"k8s.io/client-go/tools/cache"

	"github.com/restmapping/operator/api/v1alpha1"
)

func ref(kind v1alpha1.OutputKind) Ref {
	return Ref{Kind: kind, NamespacedName: types.NamespacedName{Namespace: "team", Name: "one-token"}}
}

func owner(uid string) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: "lab.example.com/v1", Kind: "Thing", Name: "one", UID: types.UID(uid), Controller: new(true)}
}

func TestObjectsAreMadeAndChanged(t *testing.T) {
	t.Parallel()
	for _, kind := range []v1alpha1.OutputKind{v1alpha1.OutputSecret, v1alpha1.OutputConfigMap} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			s := New(Config{Objects: fake.NewClientset().CoreV1()})
			if got, err := s.Get(t.Context(), ref(kind)); got != nil || err != nil {
				t.Fatalf("before it is made: %v, %v", got, err)
			}
			made, err := s.Create(t.Context(), ref(kind), Content{Owner: owner("uid-1"), Note: "n1", Data: map[string]string{"a": "1"}})
			if err != nil || made.Controller != "uid-1" || !made.Labelled || made.Note != "n1" || made.Data["a"] != "1" {
				t.Fatalf("made %+v, %v", made, err)
			}
			if _, err := s.Create(t.Context(), ref(kind), Content{Owner: owner("uid-2")}); !apierrors.IsAlreadyExists(err) {
				t.Errorf("a second one: %v", err)
			}
			made.meta.Labels["theirs"] = "stays"
			changed, err := s.Update(t.Context(), ref(kind), made, Content{Owner: owner("uid-1"), Note: "n2", Data: map[string]string{"b": "2"}})
			if err != nil || !maps.Equal(changed.Data, map[string]string{"b": "2"}) || changed.Note != "n2" {
				t.Errorf("changed %+v, %v", changed, err)
			}
			got, err := s.Get(t.Context(), ref(kind))
			if err != nil || got.Controller != "uid-1" || got.meta.Labels["theirs"] != "stays" {
				t.Errorf("read %+v, %v", got, err)
			}
		})
	}
}

func TestOnlyAControllerOwns(t *testing.T) {
	t.Parallel()
	loose := owner("uid-1")
	loose.Controller = nil
	if o := fromMeta(metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{loose}}, nil); o.Controller != "" {
		t.Errorf("an owner that does not control: %+v", o)
	}
}

func TestAnOtherNamespaceIsNotTouched(t *testing.T) {
	t.Parallel()
	s := New(Config{Namespaces: []string{"other"}})
	if _, err := s.Version(t.Context(), ref(v1alpha1.OutputSecret)); err == nil {
		t.Error("a namespace that is not served was watched")
	}
}

func TestWithoutAQuestionNothingIsWatched(t *testing.T) {
	t.Parallel()
	client := metadatafake.NewSimpleMetadataClient(scheme(t))
	s := New(Config{Metadata: client})
	if _, err := s.Version(t.Context(), ref(v1alpha1.OutputSecret)); err == nil {
		t.Error("it answers before it runs")
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Start(ctx) }()
	time.Sleep(50 * time.Millisecond)
	if got := client.Actions(); len(got) != 0 {
		t.Errorf("requests without a question: %v", got)
	}
	if version, err := s.Version(t.Context(), ref(v1alpha1.OutputSecret)); version != "" || err != nil {
		t.Errorf("version %q, %v", version, err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := s.Version(t.Context(), ref(v1alpha1.OutputSecret)); err == nil {
		t.Error("it answers after it ended")
	}
}

func scheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	s := metadatafake.NewTestScheme()
	if err := metav1.AddMetaToScheme(s); err != nil {
		t.Fatal(err)
	}
	if err := corev1.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	return s
}

// Our own writes bring no pass; what others do brings one, for the custom resource that it concerns.
func TestWhatOthersDoIsTold(t *testing.T) {
	t.Parallel()
	meta := func(version, note string, owners ...metav1.OwnerReference) *metav1.PartialObjectMetadata {
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Namespace: "team", Name: "one-token", ResourceVersion: version, OwnerReferences: owners,
			Annotations: map[string]string{v1alpha1.OutputAnnotation: note},
		}}
	}
	ours := owner("uid-1")
	cases := map[string]struct {
		do   func(cache.ResourceEventHandler)
		want int
	}{
		"our write":            {func(h cache.ResourceEventHandler) { h.OnUpdate(meta("1", "a", ours), meta("2", "b", ours)) }, 0},
		"a new one":            {func(h cache.ResourceEventHandler) { h.OnAdd(meta("1", "a", ours), false) }, 0},
		"a resync":             {func(h cache.ResourceEventHandler) { h.OnUpdate(meta("1", "a", ours), meta("1", "a", ours)) }, 0},
		"somebody's change":    {func(h cache.ResourceEventHandler) { h.OnUpdate(meta("1", "a", ours), meta("2", "a", ours)) }, 1},
		"the owner taken away": {func(h cache.ResourceEventHandler) { h.OnUpdate(meta("1", "a", ours), meta("2", "a")) }, 1},
		"a deletion":           {func(h cache.ResourceEventHandler) { h.OnDelete(meta("1", "a", ours)) }, 1},
		"a deletion not seen": {func(h cache.ResourceEventHandler) {
			h.OnDelete(cache.DeletedFinalStateUnknown{Obj: meta("1", "a", ours)})
		}, 1},
		"nobody's": {func(h cache.ResourceEventHandler) { h.OnDelete(meta("1", "a")) }, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			told := 0
			tc.do(handler(func(namespace string, owner metav1.OwnerReference) {
				if namespace != "team" || owner.UID != "uid-1" {
					t.Errorf("told of %s %v", namespace, owner)
				}
				told++
			}))
			if told != tc.want {
				t.Errorf("told %d times, want %d", told, tc.want)
			}
		})
	}
}

// The version grows with each change of the values, and with nothing else.
func TestTheVersionFollowsTheValues(t *testing.T) {
	t.Parallel()
	object := func(version string, data map[string]string) *Object {
		return &Object{Data: data, meta: metav1.ObjectMeta{Annotations: map[string]string{v1alpha1.OutputVersionAnnotation: version}}}
	}
	for name, tc := range map[string]struct {
		was  *Object
		data map[string]string
		want string
	}{
		"the same":          {object("7", map[string]string{"a": "1"}), map[string]string{"a": "1"}, "7"},
		"another value":     {object("7", map[string]string{"a": "1"}), map[string]string{"a": "2"}, "8"},
		"another key":       {object("7", map[string]string{"a": "1"}), map[string]string{"a": "1", "b": "1"}, "8"},
		"no version yet":    {object("", nil), map[string]string{"a": "1"}, "2"},
		"a person's number": {object("-4", nil), nil, "1"},
	} {
		if got := updated(tc.was, Content{Data: tc.data}).Annotations[v1alpha1.OutputVersionAnnotation]; got != tc.want {
			t.Errorf("%s: version %s, want %s", name, got, tc.want)
		}
	}
	if got := fresh(Ref{}, Content{}).Annotations[v1alpha1.OutputVersionAnnotation]; got != "1" {
		t.Errorf("a new one has version %s", got)
	}
}
