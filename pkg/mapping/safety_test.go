package mapping

import (
	"strings"
	"testing"

	"github.com/restmapping/operator/api/v1alpha1"
)

// carriesUID sends the custom resource's uid in a field of create.
func carriesUID(s *v1alpha1.RestMappingSpec) {
	s.Fields = append(s.Fields, v1alpha1.Field{From: "metadata.uid", To: "marker"})
}

// matchesUID finds the object by it.
func matchesUID(s *v1alpha1.RestMappingSpec) {
	list(v1alpha1.ListOperation{Match: "item.?marker.orValue('') == self.metadata.uid"})(s)
}

func all(changes ...specChange) specChange {
	return func(s *v1alpha1.RestMappingSpec) {
		for _, change := range changes {
			change(s)
		}
	}
}

func create(method, path string) specChange {
	return func(s *v1alpha1.RestMappingSpec) { s.Operations.Create.Method, s.Operations.Create.Path = method, path }
}

func item(path string) specChange {
	return func(s *v1alpha1.RestMappingSpec) {
		s.Operations.Read.Path, s.Operations.Update.Path, s.Operations.Delete.Path = path, path, path
	}
}

func listOnly(s *v1alpha1.RestMappingSpec) {
	list(v1alpha1.ListOperation{})(s)
	s.Operations.Read, s.Operations.Update, s.Operations.Delete = nil, nil, nil
}

func declared(class v1alpha1.CreateSafety) specChange {
	return func(s *v1alpha1.RestMappingSpec) { s.Operations.Create.Safety = class }
}

func TestCreateSafety(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		change specChange
		want   v1alpha1.CreateSafety
		says   string
	}{
		"PUT at a path that the custom resource chooses": {
			create("PUT", "/owners/{owner}/widgets/{widget}"), v1alpha1.SafetyUpsert, "Upsert (derived): PUT /owners/{owner}/widgets/{widget} makes the same object",
		},
		"POST to a collection, with a chosen name in the item's path": {
			create("POST", "/owners/{owner}/widgets"), v1alpha1.SafetyUniqueKey, "looked up",
		},
		"PATCH of a parent, with a chosen name in the item's path": {
			create("PATCH", "/owners/{owner}"), v1alpha1.SafetyUniqueKey, "looked up",
		},
		"POST at the item's own path": {
			create("POST", "/owners/{owner}/widgets/{widget}"), v1alpha1.SafetyUniqueKey, "looked up",
		},
		"the same path for create and read may be a collection": {
			all(create("POST", "/owners/{owner}/widgets"), item("/owners/{owner}/widgets")), v1alpha1.SafetyNone, v1alpha1.ReasonCreateOutcomeUnknown,
		},
		"a key that the server knows again": {
			all(assignedID, idempotent(v1alpha1.Idempotency{Header: "Idempotency-Key"})), v1alpha1.SafetyIdempotencyKey,
			"IdempotencyKey (as declared): the server knows POST /owners/{owner}/widgets again by a key for 24h0m0s. When its outcome is unknown, it is sent again with the same key for as long as that is certain",
		},
		"a key, then a person": {
			all(assignedID, idempotent(v1alpha1.Idempotency{Header: "Idempotency-Key"})), v1alpha1.SafetyIdempotencyKey, "Afterwards nothing is sent again: the custom resource is Stalled with CreateOutcomeUnknown",
		},
		"a key, then a marker": {
			all(assignedID, matchesUID, carriesUID, idempotent(v1alpha1.Idempotency{Query: "requestId"})), v1alpha1.SafetyIdempotencyKey, "Afterwards the list is searched for the uid",
		},
		"a list alone does not say that names are unique": {listOnly, v1alpha1.SafetyNone, "Declare operations.create.safety"},
		"a list alone with a marker":                      {all(listOnly, matchesUID, carriesUID), v1alpha1.SafetyMarker, "carries the uid"},
		"PUT to a collection that assigns the identifier": {
			all(assignedID, create("PUT", "/owners/{owner}/widgets")), v1alpha1.SafetyNone, "a person answers",
		},
		"an assigned identifier and no lookup": {assignedID, v1alpha1.SafetyNone, v1alpha1.ResolveAnnotation},
		"an assigned identifier and a lookup by a name that may not be unique": {
			all(assignedID, list(v1alpha1.ListOperation{})), v1alpha1.SafetyNone, "a person answers",
		},
		"an assigned identifier with a marker": {all(assignedID, matchesUID, carriesUID), v1alpha1.SafetyMarker, "before anything is sent again"},
		"a marker that is matched but not sent": {
			all(assignedID, matchesUID), v1alpha1.SafetyNone, "",
		},
		"a marker that is sent but not matched": {
			all(assignedID, list(v1alpha1.ListOperation{}), carriesUID), v1alpha1.SafetyNone, "",
		},
		"a marker that is sent on update only": {
			all(assignedID, matchesUID, field(v1alpha1.Field{From: "metadata.uid", To: "marker", Operations: []v1alpha1.FieldEvent{v1alpha1.OnUpdate}})),
			v1alpha1.SafetyNone, "",
		},
		"a marker in a computed field": {
			all(assignedID, matchesUID, field(v1alpha1.Field{Value: "'uid:' + self.metadata.uid", To: "note"})), v1alpha1.SafetyMarker, "",
		},
		"a marker in a header": {
			all(assignedID, matchesUID, func(s *v1alpha1.RestMappingSpec) {
				s.Operations.Create.Headers = []v1alpha1.Parameter{{Name: "X-External-Id", Value: "self.metadata.uid"}}
			}), v1alpha1.SafetyMarker, "",
		},
		"a marker in the body expression": {
			all(assignedID, matchesUID, func(s *v1alpha1.RestMappingSpec) {
				s.Operations.Create.BodyExpression = "{'marker': self.metadata.uid}"
			}), v1alpha1.SafetyMarker, "",
		},
		"a marker in a field that the body expression leaves out": {
			all(assignedID, matchesUID, carriesUID, func(s *v1alpha1.RestMappingSpec) {
				s.Operations.Create.BodyExpression = "{'name': self.metadata.name}"
			}), v1alpha1.SafetyNone, "",
		},
		"a marker whose list needs the assigned identifier": {
			all(assignedID, carriesUID, list(v1alpha1.ListOperation{Match: "item.marker == self.metadata.uid && item.id == identifiers.widget"})),
			v1alpha1.SafetyNone, "",
		},
		"declared by the author: an upsert by POST": {
			all(create("POST", "/dashboards"), declared(v1alpha1.SafetyUpsert)), v1alpha1.SafetyUpsert, "Upsert (as declared)",
		},
		"declared by the author: a name that the server keeps unique": {
			all(assignedID, list(v1alpha1.ListOperation{}), declared(v1alpha1.SafetyUniqueKey)), v1alpha1.SafetyUniqueKey, "as declared",
		},
		"declared by the author: a unique name without assigned identifiers": {
			declared(v1alpha1.SafetyUniqueKey), v1alpha1.SafetyUniqueKey, "as declared",
		},
		"declared weaker than it could be": {
			all(create("PUT", "/owners/{owner}/widgets/{widget}"), declared(v1alpha1.SafetyNone)), v1alpha1.SafetyNone, "as declared",
		},
		"no create at all": {
			func(s *v1alpha1.RestMappingSpec) { s.Operations.Create = nil }, v1alpha1.SafetyNone, "no create operation",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, message := compiled(t, tc.change).CreateSafety()
			if got != tc.want || !strings.Contains(message, tc.says) {
				t.Errorf("got %s: %q, want %s with %q", got, message, tc.want, tc.says)
			}
		})
	}
}

func TestCreateSafetyThatContradicts(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		change specChange
		says   []string
	}{
		"an upsert of an object whose identifier the server assigns": {
			all(assignedID, declared(v1alpha1.SafetyUpsert)), []string{"the server assigns widget"},
		},
		"a unique key without a list": {
			all(assignedID, declared(v1alpha1.SafetyUniqueKey)), []string{"declare operations.list"},
		},
		"a unique key whose list needs the identifier in its path": {
			all(assignedID, list(v1alpha1.ListOperation{RequestTemplate: v1alpha1.RequestTemplate{Path: "/w/{widget}"}}), declared(v1alpha1.SafetyUniqueKey)),
			[]string{"{widget}"},
		},
		"a unique key whose list needs the identifier in its query": {
			all(assignedID, list(v1alpha1.ListOperation{RequestTemplate: v1alpha1.RequestTemplate{
				Path: "/w", Query: []v1alpha1.Parameter{{Name: "id", Value: "identifiers.widget"}},
			}}), declared(v1alpha1.SafetyUniqueKey)),
			[]string{"identifiers.widget"},
		},
		"a marker without anything": {
			all(assignedID, declared(v1alpha1.SafetyMarker)), []string{"declare operations.list", "nothing that create sends"},
		},
		"a marker that is not matched": {
			all(assignedID, list(v1alpha1.ListOperation{}), carriesUID, declared(v1alpha1.SafetyMarker)), []string{"match does not look for self.metadata.uid"},
		},
		"a marker that is not sent": {
			all(assignedID, matchesUID, declared(v1alpha1.SafetyMarker)), []string{"nothing that create sends"},
		},
		"an unknown class": {declared("Surely"), []string{"Upsert, UniqueKey, IdempotencyKey, Marker or None"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := compileErrors(t, widgetTarget(t), tc.change)
			if len(got) != len(tc.says) {
				t.Fatalf("got %q, want %q", got, tc.says)
			}
			for i, says := range tc.says {
				if !strings.HasPrefix(got[i], "spec.operations.create.safety: ") || !strings.Contains(got[i], says) {
					t.Errorf("got %q, want %q", got[i], says)
				}
			}
		})
	}
}

func TestCanLookUp(t *testing.T) {
	t.Parallel()
	byKnownOrName := list(v1alpha1.ListOperation{Match: "has(identifiers.widget) ? item.id == identifiers.widget : item.name == self.metadata.name"})
	cases := map[string]struct {
		change specChange
		want   bool
	}{
		"no list":                               {assignedID, false},
		"a list by name":                        {all(assignedID, list(v1alpha1.ListOperation{})), true},
		"a list that needs the identifier":      {all(assignedID, list(v1alpha1.ListOperation{Match: "item.id == identifiers.widget"})), false},
		"the author says that it works without": {all(assignedID, byKnownOrName, declared(v1alpha1.SafetyUniqueKey)), true},
		"nothing is assigned":                   {list(v1alpha1.ListOperation{Match: "item.name == identifiers.widget"}), true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := compiled(t, tc.change).CanLookUp(); got != tc.want {
				t.Errorf("got %v", got)
			}
		})
	}
}
