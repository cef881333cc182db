package spec_test

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/internal/goldenmapping"
	"github.com/restmapping/operator/pkg/mapping"
)

func TestWholeMappingsCompileWithTheirCRD(t *testing.T) {
	t.Parallel()
	crds := map[string]*apiextensionsv1.CustomResourceDefinition{}
	var mappings []*v1alpha1.RestMapping
	var objects []map[string]any
	for _, f := range fences(t, mappingPage) {
		switch f.info {
		case "yaml crd":
			crd := &apiextensionsv1.CustomResourceDefinition{}
			decodeStrict(t, mappingPage, f, crd)
			crds[crd.Spec.Names.Kind] = crd
		case "yaml mapping":
			m := &v1alpha1.RestMapping{}
			decodeStrict(t, mappingPage, f, m)
			mappings = append(mappings, m)
		case "yaml":
			var content any
			decode(t, mappingPage, f, &content)
			if object, isObject := content.(map[string]any); isObject && object["kind"] != nil {
				objects = append(objects, object)
			}
		}
	}
	if len(mappings) == 0 {
		t.Fatal("the page has no whole mapping")
	}
	for _, m := range mappings {
		crd := crds[m.Spec.Target.Kind]
		if crd == nil {
			t.Fatalf("the page has no CRD for %s", m.Spec.Target.Kind)
		}
		kind, err := goldenmapping.NewKind(crd, m)
		if err != nil {
			t.Fatal(err)
		}
		checkObjects(t, kind, objects)
	}
}

// checkObjects: the custom resources of the page are accepted by the CRD of the page.
func checkObjects(t *testing.T, kind *goldenmapping.Kind, objects []map[string]any) {
	t.Helper()
	served := 0
	for _, object := range objects {
		if !kind.Serves(object) {
			continue
		}
		served++
		if err := kind.Admit(t.Context(), object); err != nil {
			t.Error(err)
		}
	}
	if served == 0 {
		t.Errorf("the page has no %s", kind.Mapping.Spec.Target.Kind)
	}
}

// frame is what stands around every piece of the cookbook, base around those that do not stand alone.
const (
	frame = `{
  "target": {"group": "weather.example.com", "version": "v1alpha1", "kind": "Station"},
  "endpoint": {"kind": "RestEndpoint", "name": "weather"}
}`
	base = `{
  "identifiers": [{"name": "name", "value": "self.metadata.name"}],
  "operations": {"read": {"path": "/things/{name}"}}
}`
)

func TestEveryPieceOfTheCookbookCompiles(t *testing.T) {
	t.Parallel()
	preserve := true
	open := apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &preserve}
	target := mapping.TargetSchema{Namespaced: true, StatusSubresource: true, Schema: &apiextensionsv1.JSONSchemaProps{
		Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": open, "status": open},
	}}
	pieces := 0
	for _, f := range fences(t, mappingPage) {
		if !strings.HasPrefix(f.info, "yaml spec") {
			continue
		}
		pieces++
		spec := parse(t, frame)
		if f.info == "yaml spec" {
			spec = lay(spec, parse(t, base))
		}
		piece := map[string]any{}
		decode(t, mappingPage, f, &piece)
		m := &v1alpha1.RestMapping{}
		specOf(t, f, lay(spec, piece), &m.Spec)
		if _, err := mapping.Compile(m, target); err != nil {
			t.Errorf("%s:%d: %v", mappingPage, f.line, err)
		}
	}
	if pieces < 25 {
		t.Errorf("want at least 25 pieces, got %d", pieces)
	}
}

func parse(t *testing.T, text string) map[string]any {
	t.Helper()
	object := map[string]any{}
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	return object
}

// lay puts the keys of a piece over the base, object by object.
func lay(base, piece map[string]any) map[string]any {
	merged := maps.Clone(base)
	for key, value := range piece {
		inner, isObject := value.(map[string]any)
		below, wasObject := merged[key].(map[string]any)
		if isObject && wasObject {
			value = lay(below, inner)
		}
		merged[key] = value
	}
	return merged
}

func specOf(t *testing.T, f fence, spec map[string]any, into *v1alpha1.RestMappingSpec) {
	t.Helper()
	text, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	decodeStrict(t, mappingPage, fence{line: f.line, text: string(text)}, into)
}

// TestOtherSnippetsHaveNoUnknownNames reads each block as the type whose names it has at the top.
func TestOtherSnippetsHaveNoUnknownNames(t *testing.T) {
	t.Parallel()
	for _, page := range []string{mappingPage, endpointPage} {
		for _, f := range fences(t, page) {
			if f.info != "yaml" {
				continue
			}
			for _, document := range split(f) {
				checkNames(t, page, document)
			}
		}
	}
}

func checkNames(t *testing.T, page string, f fence) {
	t.Helper()
	var content any
	decode(t, page, f, &content)
	top, isObject := content.(map[string]any)
	if !isObject {
		return
	}
	switch kind, _ := top["kind"].(string); {
	case kind != "":
		if into := typeOf(kind); into != nil {
			decodeStrict(t, page, f, into)
		}
	case top["status"] != nil && strings.Contains(f.text, "conditions:"):
		checkStatus(t, page, f)
	case page == endpointPage:
		decodeStrict(t, page, f, &v1alpha1.ClusterEndpointSpec{})
	case top["read"] != nil, top["list"] != nil:
		decodeStrict(t, page, f, &v1alpha1.Operations{})
	default:
		decodeStrict(t, page, f, &v1alpha1.RestMappingSpec{})
	}
}

func typeOf(kind string) any {
	switch kind {
	case "RestMapping":
		return &v1alpha1.RestMapping{}
	case "RestEndpoint":
		return &v1alpha1.RestEndpoint{}
	case "ClusterRestEndpoint":
		return &v1alpha1.ClusterRestEndpoint{}
	case "Secret":
		return &corev1.Secret{}
	case "ClusterRole":
		return &rbacv1.ClusterRole{}
	default:
		return nil
	}
}

// checkStatus: the conditions shown on the pages have the types of the API.
func checkStatus(t *testing.T, page string, f fence) {
	t.Helper()
	var object struct {
		Status v1alpha1.RestMappingStatus `json:"status"`
	}
	decode(t, page, f, &object)
	for _, c := range object.Status.Conditions {
		if c.Type == "" || c.Status == "" || c.Reason == "" {
			t.Errorf("%s:%d: want type, status and reason, got %+v", page, f.line, c)
		}
	}
}
