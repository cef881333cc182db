package mapping

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPathTemplateRender(t *testing.T) {
	t.Parallel()
	ids := map[string]string{
		"plain": "w-1_~.x", "slash": "a/b", "vhost": "/", "space": "a b+c", "percent": "50%", "query": "a?b#c", "umlaut": "ä",
		"dots": "a..b", "quote": "a'b", "semicolon": "a;v=1", "colon": "a:b@c", "backslash": `a\b`, "encoded": "%2e%2e", "nul": "a\x00b",
	}
	cases := map[string]struct{ template, want string }{
		"no parameter":                             {"/settings", "/settings"},
		"the root":                                 {"/", "/"},
		"a trailing slash stays":                   {"/users/{plain}/", "/users/w-1_~.x/"},
		"a slash in a value is encoded":            {"/x/{slash}/y", "/x/a%2Fb/y"},
		"RabbitMQ's default vhost":                 {"/api/queues/{vhost}/{plain}", "/api/queues/%2F/w-1_~.x"},
		"space and plus":                           {"/{space}", "/a%20b%2Bc"},
		"a percent sign is not taken for a code":   {"/{percent}", "/50%25"},
		"an encoded dot segment is encoded again":  {"/{encoded}", "/%252e%252e"},
		"query and fragment signs":                 {"/{query}", "/a%3Fb%23c"},
		"UTF-8 is encoded byte by byte":            {"/{umlaut}", "/%C3%A4"},
		"dots inside a value stay":                 {"/{dots}", "/a..b"},
		"path parameters of a segment are encoded": {"/{semicolon}", "/a%3Bv%3D1"},
		"colon and at":                             {"/{colon}", "/a%3Ab%40c"},
		"backslash and NUL":                        {"/{backslash}/{nul}", "/a%5Cb/a%00b"},
		"a parameter beside text":                  {"/Users('{plain}')/{plain}:undelete", "/Users('w-1_~.x')/w-1_~.x:undelete"},
		"a quote cannot close the text beside it":  {"/Users('{quote}')", "/Users('a%27b')"},
		"encoded text of the author stays":         {"/queues/%2F/{plain}", "/queues/%2F/w-1_~.x"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			template, err := parsePathTemplate(tc.template)
			noError(t, err)
			got, err := template.render(ids, "spec.operations.read.path")
			noError(t, err)
			if got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

func TestPathTemplateRefusesIdentifiers(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ template, value, says string }{
		"empty":                            {"/a/{id}", "", "empty"},
		"a dot":                            {"/a/{id}", ".", ". or .."},
		"two dots":                         {"/a/{id}/b", "..", ". or .."},
		"two dots made with the text":      {"/a/.{id}", ".", ". or .."},
		"two dots beside text are refused": {"/a/{id}:x", "..", ". or .."},
		"too long":                         {"/a/{id}", strings.Repeat("x", maxIdentifierLength+1), "longer"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			template, err := parsePathTemplate(tc.template)
			noError(t, err)
			_, err = template.render(map[string]string{"id": tc.value}, "spec.operations.read.path")
			wantError(t, err, "spec.operations.read.path", `"id"`, tc.says)
			if identifier := (*IdentifierError)(nil); !errors.As(err, &identifier) {
				t.Errorf("error is %T", err)
			}
		})
	}
	template, err := parsePathTemplate("/{id}")
	noError(t, err)
	_, err = template.render(nil, "f")
	wantError(t, err, "not known")
}

func TestParsePathTemplateRefuses(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		template string
		column   int
		says     string
	}{
		"no slash first":           {"users", 1, "begins with a slash"},
		"nothing":                  {"", 1, "begins with a slash"},
		"an empty segment":         {"/a//b", 4, "empty segment"},
		"an unclosed parameter":    {"/a/{id", 4, "not closed"},
		"a parameter over a slash": {"/a/{id/x}", 4, "not closed"},
		"an empty parameter":       {"/a/{}", 4, "not a parameter"},
		"a strange parameter":      {"/a/{a-b}", 4, "not a parameter"},
		"a closing brace alone":    {"/a/id}", 6, "percent-encoded"},
		"a query":                  {"/a?x=1", 3, "percent-encoded"},
		"a fragment":               {"/a#x", 3, "percent-encoded"},
		"a space":                  {"/a b", 3, "%20"},
		"a backslash":              {`/a\b`, 3, "%5C"},
		"a broken code":            {"/a/%2", 4, "%25"},
		"a dot segment":            {"/a/./b", 4, "segments . and .."},
		"two dots":                 {"/a/../b", 4, "segments . and .."},
		"two encoded dots":         {"/a/%2e%2E/b", 4, "segments . and .."},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := parsePathTemplate(tc.template)
			wantError(t, err, tc.says)
			if syntax := (*syntaxError)(nil); !errors.As(err, &syntax) || syntax.column != tc.column {
				t.Errorf("error %+v, want column %d", err, tc.column)
			}
		})
	}
}

func TestPathTemplateParameters(t *testing.T) {
	t.Parallel()
	template, err := parsePathTemplate("/a/{x}/{y}:{x}/b")
	noError(t, err)
	if diff := cmp.Diff([]string{"x", "y"}, template.parameters()); diff != "" {
		t.Errorf("parameters (-want +got):\n%s", diff)
	}
	if template.endsWithParameter(func(string) bool { return true }) {
		t.Error("the last segment is text")
	}
}
