package mapping

import (
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/restmapping/operator/api/v1alpha1"
)

// createAs sets how the create is written.
func createAs(encoding v1alpha1.Encoding, contentType string, body v1alpha1.Expression) specChange {
	return func(s *v1alpha1.RestMappingSpec) {
		create := s.Operations.Create
		create.Encoding, create.ContentType, create.BodyExpression = encoding, contentType, body
	}
}

func TestEncodings(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		change     specChange
		want, kind string
	}{
		"JSON by default":          {createAs("", "", ""), `{"description":"first","name":"w1","tags":["b","a"]}`, "application/json"},
		"JSON":                     {createAs(v1alpha1.EncodingJSON, "", "{'a': 1}"), `{"a":1}`, "application/json"},
		"a form of the fields":     {createAs(v1alpha1.EncodingForm, "", ""), "description=first&name=w1&tags=b&tags=a", formMediaType},
		"a form of an expression":  {createAs(v1alpha1.EncodingForm, "", "merge(desired, {'tags': null, 'on': true, 'n': 1000000.0, 'x y': 'ä&='})"), "description=first&n=1000000&name=w1&on=true&x+y=%C3%A4%26%3D", formMediaType},
		"a form with its type":     {createAs(v1alpha1.EncodingForm, "application/x-www-form-urlencoded; charset=utf-8", "{'a': ['x', null, 2]}"), "a=x&a=2", "application/x-www-form-urlencoded; charset=utf-8"},
		"an empty form":            {createAs(v1alpha1.EncodingForm, "", "{}"), "", formMediaType},
		"raw text":                 {createAs(v1alpha1.EncodingRaw, "text/plain", "'say \"' + self.spec.description + '\"'"), `say "first"`, "text/plain"},
		"raw bytes":                {createAs(v1alpha1.EncodingRaw, "application/octet-stream", "base64.decode('AP8=')"), "\x00\xff", "application/octet-stream"},
		"raw bytes of an optional": {createAs(v1alpha1.EncodingRaw, "application/octet-stream", "optional.of(base64.decode('AP8='))"), "\x00\xff", "application/octet-stream"},
		"a secret as a form":       {createAs(v1alpha1.EncodingForm, "", "{'password': secrets.password}"), "password=hunter2", formMediaType},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req, err := widgetPass(t, compiled(t, tc.change), widgetSelf).CreateRequest(t.Context())
			noError(t, err)
			if string(req.Body) != tc.want || req.ContentType != tc.kind || req.Body == nil {
				t.Errorf("got %q as %s, want %q as %s", req.Body, req.ContentType, tc.want, tc.kind)
			}
		})
	}
}

func TestEncodingsOfOtherOperations(t *testing.T) {
	t.Parallel()
	p := compiled(t, func(s *v1alpha1.RestMappingSpec) {
		o := &s.Operations
		o.Read.Method, o.Read.Encoding, o.Read.BodyExpression = "POST", v1alpha1.EncodingForm, "{'id': identifiers.widget}"
		o.Update.Encoding = v1alpha1.EncodingForm
		o.Delete.Encoding, o.Delete.ContentType, o.Delete.BodyExpression = v1alpha1.EncodingRaw, "text/plain", "'gone'"
	})
	s := widgetPass(t, p, widgetSelf)
	read, err := s.ReadRequest(t.Context())
	noError(t, err)
	update, err := s.UpdateRequest(t.Context(), object(t, `{"description":"other","tags":["a","b"]}`))
	noError(t, err)
	gone, err := s.DeleteRequest(t.Context(), nil)
	noError(t, err)
	got := []string{string(read.Body), read.ContentType, string(update.Body), update.ContentType, string(gone.Body), gone.ContentType}
	if diff := cmp.Diff([]string{"id=w1", formMediaType, "description=first", formMediaType, "gone", "text/plain"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestFormsRefuseAtRunTime(t *testing.T) {
	t.Parallel()
	for body, says := range map[v1alpha1.Expression]string{
		"{'config': {'a': 1}}":                "config is or holds an object",
		"{'list': ['ok', ['secret-value']]}":  "list is or holds a list",
		"dyn(['secret-value'])":               "an object",
		"{'a': dyn({'k': secrets.password})}": "a is or holds an object",
	} {
		_, err := widgetPass(t, compiled(t, createAs(v1alpha1.EncodingForm, "", body)), widgetSelf).CreateRequest(t.Context())
		wantError(t, err, "spec.operations.create", says)
		if strings.Contains(err.Error(), "secret-value") || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: the error shows a value: %v", body, err)
		}
	}
	overlaid := compiled(t, func(s *v1alpha1.RestMappingSpec) {
		s.Operations.Update.Encoding, s.Operations.Update.Body = v1alpha1.EncodingForm, v1alpha1.BodyOverlay
	})
	_, err := widgetPass(t, overlaid, widgetSelf).UpdateRequest(t.Context(), object(t, `{"links":{"self":"x"}}`))
	wantError(t, err, "spec.operations.update", "links is or holds an object")
}

func TestEncodingsAreCheckedWhenCompiled(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		change      specChange
		field, says string
	}{
		"Raw without an expression": {createAs(v1alpha1.EncodingRaw, "text/plain", ""), "spec.operations.create.encoding", "add bodyExpression"},
		"Raw without a type":        {createAs(v1alpha1.EncodingRaw, "", "'x'"), "spec.operations.create.contentType", "needs a media type"},
		"Raw of an object":          {createAs(v1alpha1.EncodingRaw, "text/plain", "{'a': 1}"), "spec.operations.create.bodyExpression", "text or bytes"},
		"a form with another type":  {createAs(v1alpha1.EncodingForm, "application/json", ""), "spec.operations.create.contentType", formMediaType},
		"a form of a list":          {createAs(v1alpha1.EncodingForm, "", "[1]"), "spec.operations.create.bodyExpression", "an object"},
		"JSON with another type":    {createAs("", "text/plain", ""), "spec.operations.create.contentType", "set encoding"},
		"an unknown encoding":       {createAs("XML", "", ""), "spec.operations.create.encoding", "JSON, Form, Multipart or Raw"},
		"no body to encode": {
			func(s *v1alpha1.RestMappingSpec) { s.Operations.Delete.Encoding = v1alpha1.EncodingForm },
			"spec.operations.delete.encoding", "no body",
		},
		"a form with an object inside": {
			all(createAs(v1alpha1.EncodingForm, "", ""), field(v1alpha1.Field{To: "a.b", Value: "1"})),
			"spec.fields[3].to", "no objects inside",
		},
		"a form of an object of the CRD": {
			all(createAs(v1alpha1.EncodingForm, "", ""), field(v1alpha1.Field{To: "config", From: "spec.config"})),
			"spec.fields[3].from", "no objects inside",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantOneError(t, compileErrors(t, widgetTarget(t), tc.change), tc.field, tc.says)
		})
	}
}

func TestWhatAFormDoesNotSendMayBeAnObject(t *testing.T) {
	t.Parallel()
	inside := field(v1alpha1.Field{To: "a.b", Value: "1"})
	for name, change := range map[string]specChange{
		"on update only": all(createAs(v1alpha1.EncodingForm, "", ""), field(v1alpha1.Field{
			To: "a.b", From: "spec.config", Operations: []v1alpha1.FieldEvent{v1alpha1.OnUpdate},
		})),
		"an expression takes its place": all(createAs(v1alpha1.EncodingForm, "", "omit(desired, ['a'])"), inside),
	} {
		if got := compileErrors(t, widgetTarget(t), change); got != nil {
			t.Errorf("%s: %q", name, got)
		}
	}
	bare := createAs(v1alpha1.EncodingForm, "", "")
	if got := compileErrors(t, TargetSchema{Namespaced: true}, bare); got != nil {
		t.Errorf("without a schema: %q", got)
	}
}

// TestFormsAreReadBackAsTheyWere: whatever a value holds, a server reads that value and no other parameter.
func TestFormsAreReadBackAsTheyWere(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		object := map[string]any{}
		want := url.Values{}
		for key, list := range rapid.MapOfN(rapid.String(), rapid.SliceOfN(rapid.String(), 1, 3), 0, 4).Draw(t, "form") {
			var elements []any
			for _, text := range list {
				elements = append(elements, text)
			}
			object[key], want[key] = elements, list
		}
		encoded, err := encodeForm("f", object)
		if err != nil {
			t.Fatal(err)
		}
		got, err := url.ParseQuery(string(encoded))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("-want +got:\n%s", diff)
		}
	})
}
