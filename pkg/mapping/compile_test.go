package mapping

import (
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/restmapping/operator/api/v1alpha1"
)

type specChange = func(*v1alpha1.RestMappingSpec)

// compileErrors compiles a changed mapping and gives its errors as text.
func compileErrors(t *testing.T, target TargetSchema, changes ...specChange) []string {
	t.Helper()
	_, err := Compile(widgets(t, changes...), target)
	if err == nil {
		return nil
	}
	invalid := (*InvalidError)(nil)
	if !errors.As(err, &invalid) {
		t.Fatalf("error is %T: %v", err, err)
	}
	var all []string
	for _, one := range invalid.Errors {
		all = append(all, describe(one))
	}
	return all
}

// wantOneError checks that exactly one error stands at a field and says something.
func wantOneError(t *testing.T, got []string, field, says string) {
	t.Helper()
	if len(got) != 1 || !strings.HasPrefix(got[0], field) || !strings.Contains(got[0], says) {
		t.Errorf("got %q, want one error at %s that says %q", got, field, says)
	}
}

func field(f v1alpha1.Field) specChange {
	return func(s *v1alpha1.RestMappingSpec) { s.Fields = append(s.Fields, f) }
}

func header(name string) specChange {
	return func(s *v1alpha1.RestMappingSpec) {
		s.Operations.Create.Headers = []v1alpha1.Parameter{{Name: name, Value: "'x'"}}
	}
}

func projection(to string) specChange {
	return func(s *v1alpha1.RestMappingSpec) {
		s.Status = append(s.Status, v1alpha1.StatusField{To: to, Value: "observed.x"})
	}
}

func list(o v1alpha1.ListOperation) specChange {
	return func(s *v1alpha1.RestMappingSpec) {
		if o.Path == "" {
			o.Path = "/owners/{owner}/widgets"
		}
		if o.Match == "" {
			o.Match = "item.name == self.metadata.name"
		}
		s.Operations.List = &o
	}
}

func assignedID(s *v1alpha1.RestMappingSpec) {
	s.Identifiers[1] = v1alpha1.Identifier{Name: "widget", Assigned: "response.body.id"}
}

func TestCompileRefuses(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		change      specChange
		field, says string
	}{
		"a syntax error, with its place": {
			func(s *v1alpha1.RestMappingSpec) { s.Identifiers[0].Value = "self.spec." },
			"spec.identifiers[0].value (line 1, column", "",
		},
		"a field that the CRD does not have": {
			func(s *v1alpha1.RestMappingSpec) { s.Identifiers[0].Value = "self.spec.ownr" },
			"spec.identifiers[0].value (line 1, column", "ownr",
		},
		"a value of the wrong type": {
			func(s *v1alpha1.RestMappingSpec) {
				s.Rules = []v1alpha1.Rule{{Expression: "self.spec.owner", Message: "m"}}
			},
			"spec.rules[0].expression", "boolean",
		},
		"a parameter without identifier": {
			func(s *v1alpha1.RestMappingSpec) { s.Operations.Read.Path = "/x/{nobody}" },
			"spec.operations.read.path", "{nobody}",
		},
		"a malformed path": {
			func(s *v1alpha1.RestMappingSpec) { s.Operations.Delete.Path = "/x/{owner" },
			"spec.operations.delete.path (line 1, column 4)", "not closed",
		},
		"an identifier with neither value nor assigned": {
			func(s *v1alpha1.RestMappingSpec) { s.Identifiers[0].Value = "" },
			"spec.identifiers[0]", "exactly one",
		},
		"an identifier declared twice": {
			func(s *v1alpha1.RestMappingSpec) { s.Identifiers = append(s.Identifiers, s.Identifiers[0]) },
			"spec.identifiers[2].name", "declared twice",
		},
		"an identifier with a strange name": {
			func(s *v1alpha1.RestMappingSpec) {
				s.Identifiers = append(s.Identifiers, v1alpha1.Identifier{Name: "a-b", Value: "'x'"})
			},
			"spec.identifiers[2].name", "letters",
		},
		"an identifier from status": {
			func(s *v1alpha1.RestMappingSpec) { s.Identifiers[0].Value = "self.status.url" },
			"spec.identifiers[0].value", "self.status",
		},
		"an identifier that is a list": {
			func(s *v1alpha1.RestMappingSpec) { s.Identifiers[0].Value = "self.spec.tags" },
			"spec.identifiers[0].value", "must give",
		},
		"an assigned identifier in the create path": {
			func(s *v1alpha1.RestMappingSpec) { assignedID(s); s.Operations.Create.Path = "/widgets/{widget}" },
			"spec.operations.create.path", "{widget} is assigned",
		},
		"an assigned identifier in a field of create": {
			func(s *v1alpha1.RestMappingSpec) {
				assignedID(s)
				field(v1alpha1.Field{To: "id", Value: "identifiers.widget"})(s)
			},
			"spec.fields[3].value", "operations: [Update]",
		},
		"an assigned identifier in a header of create": {
			func(s *v1alpha1.RestMappingSpec) {
				assignedID(s)
				s.Operations.Create.Headers = []v1alpha1.Parameter{{Name: "X-Id", Value: "identifiers.widget"}}
			},
			"spec.operations.create.headers[0].value", "identifiers.widget is assigned",
		},
		"both name and nameExpression of the endpoint": {
			func(s *v1alpha1.RestMappingSpec) { s.Endpoint.NameExpression = "self.spec.owner" },
			"spec.endpoint", "exactly one",
		},
		"an unknown kind of endpoint": {
			func(s *v1alpha1.RestMappingSpec) { s.Endpoint.Kind = "Server" },
			"spec.endpoint.kind", "ClusterRestEndpoint",
		},
		"a broken selector": {
			func(s *v1alpha1.RestMappingSpec) {
				s.Target.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"a b": "c"}}
			},
			"spec.target.selector", "cannot be used",
		},
		"a secret declared twice": {
			func(s *v1alpha1.RestMappingSpec) { s.Secrets = append(s.Secrets, s.Secrets[0]) },
			"spec.secrets[1].name", "declared twice",
		},
		"neither read nor list": {
			func(s *v1alpha1.RestMappingSpec) { s.Operations.Read = nil },
			"spec.operations", "at least one of read and list",
		},
		"two fields for one place": {
			field(v1alpha1.Field{To: "description", Value: "'x'"}),
			"spec.fields[3].to", "spec.fields[1].to already",
		},
		"a field inside another": {
			field(v1alpha1.Field{To: "description.short", Value: "'x'"}),
			"spec.fields[3].to", "within one another",
		},
		"a field with neither from nor value": {
			field(v1alpha1.Field{To: "x"}),
			"spec.fields[3]", "exactly one",
		},
		"a malformed to": {
			field(v1alpha1.Field{To: "a..b", Value: "'x'"}),
			"spec.fields[3].to (line 1, column 3)", "empty",
		},
		"a malformed observedAt": {
			field(v1alpha1.Field{To: "x", ObservedAt: "a[1]", Value: "'x'"}),
			"spec.fields[3].observedAt (line 1, column 2)", "positions",
		},
		"a from that the CRD does not have": {
			field(v1alpha1.Field{To: "x", From: "spec.config.uri"}),
			"spec.fields[3].from", "spec.config has no field uri in the CRD's schema; it has: depth, url",
		},
		"a from into a list": {
			field(v1alpha1.Field{To: "x", From: "spec.rules.name"}),
			"spec.fields[3].from", "spec.rules is a list",
		},
		"a from into text": {
			field(v1alpha1.Field{To: "x", From: "spec.owner.name"}),
			"spec.fields[3].from", "type string",
		},
		"a from in status": {
			field(v1alpha1.Field{To: "x", From: "status.url"}),
			"spec.fields[3].from", "status is written by the operator",
		},
		"a from in metadata that changes by itself": {
			field(v1alpha1.Field{To: "x", From: "metadata.resourceVersion"}),
			"spec.fields[3].from", "below metadata",
		},
		"a from below a name": {
			field(v1alpha1.Field{To: "x", From: "metadata.name.x"}),
			"spec.fields[3].from", "no such field",
		},
		"a value from status": {
			field(v1alpha1.Field{To: "x", Value: "self.status.url"}),
			"spec.fields[3].value", "self.status",
		},
		"a value from what is observed": {
			field(v1alpha1.Field{To: "x", Value: "observed.y"}),
			"spec.fields[3].value", "'observed' has no value here",
		},
		"a secret that is not writeOnly": {
			field(v1alpha1.Field{To: "password", Value: "secrets.password"}),
			"spec.fields[3].value", "writeOnly: true",
		},
		"a writeOnly field that is read back": {
			field(v1alpha1.Field{To: "x", ObservedAt: "y", Value: "'x'", WriteOnly: true}),
			"spec.fields[3].observedAt", "never read back",
		},
		"an unknown comparison": {
			field(v1alpha1.Field{To: "x", Value: "'x'", Compare: "Fuzzy"}),
			"spec.fields[3].compare", "Exact",
		},
		"a method that create does not have": {
			func(s *v1alpha1.RestMappingSpec) { s.Operations.Create.Method = "DELETE" },
			"spec.operations.create.method", "POST, PUT, PATCH",
		},
		"a GET with a body": {
			func(s *v1alpha1.RestMappingSpec) { s.Operations.Read.BodyExpression = "{'a': 1}" },
			"spec.operations.read.bodyExpression", "method POST",
		},
		"both body and bodyExpression": {
			func(s *v1alpha1.RestMappingSpec) {
				s.Operations.Create.Body, s.Operations.Create.BodyExpression = v1alpha1.BodyDesired, "desired"
			},
			"spec.operations.create", "at most one",
		},
		"a create that overlays": {
			func(s *v1alpha1.RestMappingSpec) { s.Operations.Create.Body = v1alpha1.BodyOverlay },
			"spec.operations.create.body", "Overlay cannot be used",
		},
		"a content type that is not JSON": {
			func(s *v1alpha1.RestMappingSpec) { s.Operations.Create.ContentType = "text/xml" },
			"spec.operations.create.contentType", "bodies are JSON",
		},
		"a content type without a body": {
			func(s *v1alpha1.RestMappingSpec) { s.Operations.Delete.ContentType = "application/json" },
			"spec.operations.delete.contentType", "no body",
		},
		"an accept that breaks the header": {
			func(s *v1alpha1.RestMappingSpec) { s.Operations.Read.Accept = "a\r\nX: y" },
			"spec.operations.read.accept", "header",
		},
		"a query parameter without name": {
			func(s *v1alpha1.RestMappingSpec) {
				s.Operations.Read.Query = []v1alpha1.Parameter{{Value: "'x'"}}
			},
			"spec.operations.read.query[0].name", "missing",
		},
		"a query parameter without value": {
			func(s *v1alpha1.RestMappingSpec) {
				s.Operations.Read.Query = []v1alpha1.Parameter{{Name: "x"}}
			},
			"spec.operations.read.query[0].value", "missing",
		},
		"a header name that is no token":    {header("X Y"), "spec.operations.create.headers[0].name", "RFC 9110"},
		"a header name that is empty":       {header(""), "spec.operations.create.headers[0].name", "RFC 9110"},
		"the Host header":                   {header("host"), "spec.operations.create.headers[0].name", "HTTP client"},
		"the Content-Length header":         {header("Content-Length"), "spec.operations.create.headers[0].name", "HTTP client"},
		"the Transfer-Encoding header":      {header("transfer-encoding"), "spec.operations.create.headers[0].name", "HTTP client"},
		"the Connection header":             {header("Connection"), "spec.operations.create.headers[0].name", "HTTP client"},
		"the Accept header":                 {header("accept"), "spec.operations.create.headers[0].name", "use accept"},
		"the Content-Type header":           {header("content-type"), "spec.operations.create.headers[0].name", "use contentType"},
		"the header that resends POSTs":     {header("idempotency-key"), "spec.operations.create.headers[0].name", "operations.create.idempotency"},
		"the other header that resends":     {header("X-Idempotency-Key"), "spec.operations.create.headers[0].name", "operations.create.idempotency"},
		"a projection into conditions":      {projection("conditions"), "spec.status[0].to", "written by the operator itself"},
		"a projection below a reserved one": {projection("identifiers.id"), "spec.status[0].to", "written by the operator itself"},
		"a projection the CRD lacks":        {projection("remote.colour"), "spec.status[0].to", "it has: nodes, state; add it to the CRD"},
		"a malformed projection":            {projection("a b"), "spec.status[0].to (line 1, column 2)", "plain segment"},
		"a projection twice": {
			func(s *v1alpha1.RestMappingSpec) { projection("url")(s); projection("url")(s) },
			"spec.status[1].to", "spec.status[0].to already",
		},
		"a projection of a secret": {
			func(s *v1alpha1.RestMappingSpec) {
				s.Status = []v1alpha1.StatusField{{To: "url", Value: "secrets.password"}}
			},
			"spec.status[0].value", "secrets may not be used here",
		},
		"an outcome of an unknown operation": {
			func(s *v1alpha1.RestMappingSpec) {
				s.Outcomes = []v1alpha1.OutcomeRule{{Operations: []string{"Patch"}, When: "true", Outcome: v1alpha1.OutcomeAbsent}}
			},
			"spec.outcomes[0].operations", "Read List Create Update Delete",
		},
		"an unknown outcome": {
			func(s *v1alpha1.RestMappingSpec) {
				s.Outcomes = []v1alpha1.OutcomeRule{{When: "true", Outcome: "Fine"}}
			},
			"spec.outcomes[0].outcome", "Rejected",
		},
		"a negative interval": {
			func(s *v1alpha1.RestMappingSpec) { s.Sync.Interval.Duration = -time.Second },
			"spec.sync.interval", "negative",
		},
		"a page parameter for cursors": {
			list(v1alpha1.ListOperation{Pagination: &v1alpha1.Pagination{Type: v1alpha1.PaginationLink, PageParam: "page"}}),
			"spec.operations.list.pagination.pageParam", "for type Page",
		},
		"pages without a parameter": {
			list(v1alpha1.ListOperation{Pagination: &v1alpha1.Pagination{Type: v1alpha1.PaginationPage}}),
			"spec.operations.list.pagination", "needs pageParam",
		},
		"cursors without an expression": {
			list(v1alpha1.ListOperation{Pagination: &v1alpha1.Pagination{Type: v1alpha1.PaginationCursor, CursorParam: "c"}}),
			"spec.operations.list.pagination", "needs cursor",
		},
		"a limit without parameter": {
			list(v1alpha1.ListOperation{Pagination: &v1alpha1.Pagination{Type: v1alpha1.PaginationLink, Limit: 5}}),
			"spec.operations.list.pagination", "go together",
		},
		"an unknown pagination": {
			list(v1alpha1.ListOperation{Pagination: &v1alpha1.Pagination{Type: "Scroll"}}),
			"spec.operations.list.pagination.type", "Link, Page, Offset or Cursor",
		},
		"a parameter that pagination also sends": {
			list(v1alpha1.ListOperation{
				RequestTemplate: v1alpha1.RequestTemplate{Path: "/x", Query: []v1alpha1.Parameter{{Name: "page", Value: "1"}}},
				Pagination:      &v1alpha1.Pagination{Type: v1alpha1.PaginationPage, PageParam: "page"},
			}),
			"spec.operations.list.query", "sent twice",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantOneError(t, compileErrors(t, widgetTarget(t), tc.change), tc.field, tc.says)
		})
	}
}

func TestReplacingNeedsWhatMakesObjectsAnew(t *testing.T) {
	t.Parallel()
	replace := func(s *v1alpha1.RestMappingSpec) { s.Policy.Immutable = v1alpha1.ImmutableReplace }
	assigned := func(safety v1alpha1.CreateSafety) specChange {
		return func(s *v1alpha1.RestMappingSpec) {
			s.Identifiers = append(s.Identifiers, v1alpha1.Identifier{Name: "id", Assigned: "response.body.id"})
			s.Operations.Create.Safety = safety
		}
	}
	for name, tc := range map[string]struct {
		change specChange
		words  string
	}{
		"no delete":          {func(s *v1alpha1.RestMappingSpec) { s.Operations.Delete = nil }, "declare operations.create and operations.delete"},
		"no create":          {func(s *v1alpha1.RestMappingSpec) { s.Operations.Create = nil }, "declare operations.create and operations.delete"},
		"objects are left":   {func(s *v1alpha1.RestMappingSpec) { s.Policy.Deletion = v1alpha1.DeletionOrphan }, "choose one"},
		"an accepted delete": {func(s *v1alpha1.RestMappingSpec) { s.Operations.Delete.Async = &v1alpha1.Async{} }, "does not go with async"},
		"an unsafe create":   {assigned(""), "would wait for a person"},
		"an unknown policy":  {func(s *v1alpha1.RestMappingSpec) { s.Policy.Immutable = "Recreate" }, "Stall or Replace"},
		"all that is needed": {func(*v1alpha1.RestMappingSpec) {}, ""},
		"a declared None":    {assigned(v1alpha1.SafetyNone), ""},
	} {
		got := compileErrors(t, widgetTarget(t), replace, tc.change)
		if tc.words == "" && len(got) > 0 {
			t.Errorf("%s: %q", name, got)
		}
		if tc.words != "" {
			wantOneError(t, got, "spec.policy.immutable", tc.words)
		}
	}
}
