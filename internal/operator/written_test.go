package operator

import (
	"context"
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	metadatafake "k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/engine/keys"
)

var thingKind = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Thing"}

// searched looks through custom resources with these records, in two namespaces in turn.
func searched(t *testing.T, failing error, namespaces []string, texts ...string) (keys.Written, error) {
	t.Helper()
	scheme := metadatafake.NewTestScheme()
	if err := errors.Join(metav1.AddMetaToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	var objects []runtime.Object
	for i, text := range texts {
		object := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "example.com/v1", Kind: "Thing"}}
		object.Name, object.Namespace = string(rune('a'+i)), []string{"blue", "green"}[i%2]
		object.Annotations = map[string]string{v1alpha1.RecordAnnotation: text}
		objects = append(objects, object)
	}
	client := metadatafake.NewSimpleMetadataClient(scheme, objects...)
	if failing != nil {
		client.PrependReactor("list", "things", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, failing })
	}
	mapping, gone := &v1alpha1.RestMapping{}, &v1alpha1.RestMapping{}
	mapping.Name, mapping.Spec.Target = "things", v1alpha1.Target{Group: "example.com", Version: "v1", Kind: "Thing"}
	gone.Name, gone.Spec.Target = "gone", v1alpha1.Target{Group: "example.com", Version: "v1", Kind: "Gone"}
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(thingKind, meta.RESTScopeNamespace)
	reader := fake.NewClientBuilder().WithScheme(scheme).WithObjects(mapping, gone).Build()
	return records{mappings: reader, mapper: mapper, metadata: client, namespaces: namespaces}.Written(context.WithoutCancel(t.Context()))
}

func TestRecordsAreFoundBeforeAKeyIsMade(t *testing.T) {
	t.Parallel()
	const signed, unsigned = `{"v":2,"phase":"Created","key":"1a2b3c4d","mac":"x"}`, `{"v":1,"phase":"Created"}`
	cases := map[string]struct {
		texts      []string
		namespaces []string
		want       keys.Written
	}{
		"none":                         {nil, nil, keys.Written{}},
		"none that can be read":        {[]string{"", "{", `{"v":9}`}, nil, keys.Written{}},
		"unsigned":                     {[]string{"", unsigned}, nil, keys.Written{Unsigned: true}},
		"signed among unsigned":        {[]string{unsigned, "", signed}, nil, keys.Written{SignedWith: "1a2b3c4d", Unsigned: true}},
		"signed by a newer operator":   {[]string{`{"v":9,"key":"1a2b3c4d"}`}, nil, keys.Written{SignedWith: "1a2b3c4d"}},
		"in a namespace that is ours":  {[]string{signed, unsigned}, []string{"green"}, keys.Written{Unsigned: true}},
		"in the second of ours":        {[]string{unsigned, signed}, []string{"blue", "green"}, keys.Written{SignedWith: "1a2b3c4d", Unsigned: true}},
		"in a namespace of the others": {[]string{signed}, []string{"green"}, keys.Written{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, err := searched(t, nil, tc.namespaces, tc.texts...); got != tc.want || err != nil {
				t.Errorf("got %+v, %v; want %+v", got, err, tc.want)
			}
		})
	}
}

// A kind that the operator may not see says so itself one day; an API server that does not answer must not be taken for one
// that has nothing.
func TestWhatCannotBeSearchedIsNotTakenForEmpty(t *testing.T) {
	t.Parallel()
	things := schema.GroupResource{Group: "example.com", Resource: "things"}
	if got, err := searched(t, apierrors.NewForbidden(things, "", errors.New("no right")), nil); err != nil || got != (keys.Written{}) {
		t.Errorf("without the right: %+v, %v", got, err)
	}
	if _, err := searched(t, apierrors.NewServiceUnavailable("away"), nil); err == nil {
		t.Error("an API server that is away counted as empty")
	}
}
