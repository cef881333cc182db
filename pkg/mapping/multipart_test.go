package mapping

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/rest"
)

// sentPart is a part as a server sees it.
type sentPart struct{ Name, Filename, Type, Content string }

func parts(t *testing.T, req rest.Request) []sentPart {
	t.Helper()
	media, parameters, err := mime.ParseMediaType(req.ContentType)
	noError(t, err)
	if media != multipartType {
		t.Fatalf("the type is %s", req.ContentType)
	}
	reader := multipart.NewReader(bytes.NewReader(req.Body), parameters["boundary"])
	var got []sentPart
	for {
		part, err := reader.NextRawPart()
		if errors.Is(err, io.EOF) {
			return got
		}
		noError(t, err)
		content, err := io.ReadAll(part)
		noError(t, err)
		got = append(got, sentPart{part.FormName(), part.FileName(), part.Header.Get("Content-Type"), string(content)})
	}
}

func TestMultipartIsReadBack(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		body v1alpha1.Expression
		want []sentPart
	}{
		"the fields": {"", []sentPart{{"description", "", "", "first"}, {"name", "", "", "w1"}, {"tags", "", "", "b"}, {"tags", "", "", "a"}}},
		"scalars and null": {
			"{'a': 1, 'b': true, 'c': null, 'd': ['x', null, 2.5]}",
			[]sentPart{{"a", "", "", "1"}, {"b", "", "", "true"}, {"d", "", "", "x"}, {"d", "", "", "2.5"}},
		},
		"a file": {
			"{'kind': 'avatar', 'image': {'content': 'hello', 'filename': self.metadata.name + '.txt', 'contentType': 'text/plain; charset=utf-8'}}",
			[]sentPart{{"image", "w1.txt", "text/plain; charset=utf-8", "hello"}, {"kind", "", "", "avatar"}},
		},
		"a file of bytes": {
			"{'f': [{'base64': base64.decode('AP8NCi0t'), 'filename': 'x.bin'}, {'base64': 'AP8NCi0t'}]}",
			[]sentPart{{"f", "x.bin", "application/octet-stream", "\x00\xff\r\n--"}, {"f", "", "application/octet-stream", "\x00\xff\r\n--"}},
		},
		"two files under one name": {
			"{'f': [{'content': 'a', 'filename': 'a'}, {'content': 'b', 'filename': 'b'}]}",
			[]sentPart{{"f", "a", "application/octet-stream", "a"}, {"f", "b", "application/octet-stream", "b"}},
		},
		"JSON as a part": {
			"{'metadata': {'content': toJSON({'a': 1}), 'contentType': 'application/json'}}",
			[]sentPart{{"metadata", "", "application/json", `{"a":1}`}},
		},
		"names with quotes and umlauts": {
			`{'a"b\\c ä': 'x', 'f': {'content': '', 'filename': 'ü "1".txt'}}`,
			[]sentPart{{`a"b\c ä`, "", "", "x"}, {"f", `ü "1".txt`, "application/octet-stream", ""}},
		},
		"nothing": {"{}", nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := compiled(t, createAs(v1alpha1.EncodingMultipart, "", tc.body))
			req, err := widgetPass(t, p, widgetSelf).CreateRequest(t.Context())
			noError(t, err)
			if diff := cmp.Diff(tc.want, parts(t, req)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			again, err := widgetPass(t, p, widgetSelf).CreateRequest(t.Context())
			noError(t, err)
			if !bytes.Equal(req.Body, again.Body) || req.ContentType != again.ContentType {
				t.Error("the same object makes another request")
			}
		})
	}
}

func TestMultipartRefusesWhatWouldBreakItsFrame(t *testing.T) {
	t.Parallel()
	for body, says := range map[v1alpha1.Expression]string{
		`{'a\r\nX-Evil: 1': 'x'}`: "no name",
		`{'': 'x'}`:               "no name",
		`{'f': {'content': 'x', 'filename': 'a\r\nX-Evil: 1'}}`:           "filename",
		`{'f': {'content': 'x', 'contentType': 'text/plain\r\nX-Evil:'}}`: "contentType",
		`{'f': {'content': 'x', 'contentType': 'plain text'}}`:            "media type",
		`{'f': {'content': {'a': 1}}}`:                                    "content",
		`{'f': {'filename': 'x'}}`:                                        "content",
		`{'f': {'content': 'x', 'mode': '0644'}}`:                         "mode",
		`{'f': {'base64': 'no!'}}`:                                        "base64",
		`{'f': {'content': 'x', 'base64': 'eA=='}}`:                       "exactly one",
		`{'f': [['x']]}`: "a list",
	} {
		_, err := widgetPass(t, compiled(t, createAs(v1alpha1.EncodingMultipart, "", body)), widgetSelf).CreateRequest(t.Context())
		wantError(t, err, "spec.operations.create", says)
	}
}

func TestMultipartRefusesAtCompileTime(t *testing.T) {
	t.Parallel()
	cases := map[string]specChange{
		"spec.operations.create.contentType":    createAs(v1alpha1.EncodingMultipart, "multipart/form-data", ""),
		"spec.operations.create.bodyExpression": createAs(v1alpha1.EncodingMultipart, "", "'text'"),
		"spec.operations.update.encoding": func(s *v1alpha1.RestMappingSpec) {
			s.Operations.Update.Method, s.Operations.Update.Body, s.Operations.Update.Encoding = "PATCH", v1alpha1.BodyJSONPatch, v1alpha1.EncodingMultipart
		},
	}
	for field, change := range cases {
		wantRefused(t, field, change)
	}
}

func TestLockKeys(t *testing.T) {
	t.Parallel()
	p := compiled(t, func(s *v1alpha1.RestMappingSpec) {
		s.Operations.Create.Lock = "'widgets/' + self.metadata.name"
		s.Operations.Update.Lock = "identifiers.widget"
	})
	s := widgetPass(t, p, widgetSelf)
	create, err := s.CreateRequest(t.Context())
	noError(t, err)
	update, err := s.UpdateRequest(t.Context(), object(t, `{"description":"other"}`))
	noError(t, err)
	read, err := s.ReadRequest(t.Context())
	noError(t, err)
	if create.Lock != "widgets/w1" || update.Lock != "w1" || read.Lock != "" {
		t.Errorf("locks %q, %q, %q", create.Lock, update.Lock, read.Lock)
	}
	for _, expression := range []v1alpha1.Expression{"secrets.password", "1 + 1", "self.status.x", "observed.id", "self.spec.nothing"} {
		wantRefused(t, "spec.operations.create.lock", func(s *v1alpha1.RestMappingSpec) { s.Operations.Create.Lock = expression })
	}
}

func wantRefused(t *testing.T, field string, change specChange) {
	t.Helper()
	wantOneError(t, compileErrors(t, widgetTarget(t), change), field, "")
}
