//go:build crash

package crash_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/restmapping/operator/internal/restfake"
)

const group = "crash.example.com"

// class is a class of create safety as a kind: its mapping, and the collection that it is kept at.
type class struct {
	// name stands in tables.
	name string
	// kind is the custom resources' kind; resource its plural and the collection's name.
	kind, resource string
	// mapping is what of the mapping is the class's own, as YAML below spec.
	mapping string
	// collection is how the server keeps the objects.
	collection restfake.Collection
	// named tells that the client chooses the name.
	named bool
	// unsafe tells that a create whose outcome is unknown needs a person.
	unsafe bool
	// marked tells that an object can be found by the uid of its custom resource.
	marked bool
	// fields and policy are what it has beside those of all classes, members whether its objects have parts.
	fields, policy string
	members        bool
}

func (c class) gvr() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: group, Version: "v1", Resource: c.resource}
}

func (c class) path() string { return "/" + c.resource }

// classes are all of those that the test is about. The tests run one after the other, and about changes them for one.
var classes = promptClasses

// about makes the test one of these classes. It must be called before the test has its scene.
func about(t *testing.T, group func() []class) {
	t.Helper()
	classes = group
	t.Cleanup(func() { classes = promptClasses })
}

// promptClasses are those whose server does everything at once. Every object carries the uid of its custom resource, so
// that the server sees two live objects of one custom resource; only the marked class may search for it.
func promptClasses() []class {
	return []class{
		{
			name: "Upsert", kind: "Upsert", resource: "upserts", named: true,
			mapping: `
  identifiers: [{name: id, value: self.metadata.name}]
  operations:
    read: {path: "/upserts/{id}"}
    create: {method: PUT, path: "/upserts/{id}", safety: Upsert}
    update: {method: PUT, path: "/upserts/{id}"}
    delete: {path: "/upserts/{id}"}`,
			collection: restfake.Collection{IDs: restfake.Chosen, Upsert: true},
		},
		{
			name: "UniqueKey, chosen", kind: "Chosen", resource: "chosens", named: true,
			mapping: `
  identifiers: [{name: id, value: self.metadata.name}]
  operations:
    read: {path: "/chosens/{id}"}
    create: {path: "/chosens", safety: UniqueKey}
    update: {method: PATCH, path: "/chosens/{id}"}
    delete: {path: "/chosens/{id}"}`,
			collection: restfake.Collection{IDs: restfake.Chosen},
		},
		{
			name: "UniqueKey, assigned", kind: "Assigned", resource: "assigneds", named: true,
			mapping: assigned("assigneds", "safety: UniqueKey") + `
    list:
      path: /assigneds
      match: item.name == self.metadata.name
      pagination: {type: Page, pageParam: page, limitParam: limit, limit: 10}`,
			collection: restfake.Collection{Unique: [][]string{{"name"}}, Paging: restfake.Paging{Type: restfake.ByPage, Limit: 10}},
		},
		{
			name: "Marker", kind: "Marked", resource: "markeds", marked: true,
			mapping: assigned("markeds", "safety: Marker") + `
    list: {path: /markeds, match: item.owner == self.metadata.uid}`,
			collection: restfake.Collection{IDs: restfake.AssignedText, Answer: restfake.AnswerObject},
		},
		{
			// A person is needed where the custom resource was changed meanwhile: then it is another request.
			name: "IdempotencyKey", kind: "Keyed", resource: "keyeds", unsafe: true,
			mapping:    assigned("keyeds", "safety: IdempotencyKey, idempotency: {header: Idempotency-Key, window: 24h}"),
			collection: restfake.Collection{IDs: restfake.AssignedText, Idempotency: &restfake.Idempotency{Header: "Idempotency-Key", Window: 24 * time.Hour}},
		},
		{
			name: "None", kind: "Unsafe", resource: "unsaves", unsafe: true,
			mapping:    assigned("unsaves", "safety: None"),
			collection: restfake.Collection{IDs: restfake.AssignedText},
		},
	}
}

// assigned is the common part of the kinds whose ids the server gives.
func assigned(resource, create string) string {
	return fmt.Sprintf(`
  identifiers: [{name: id, assigned: response.body.id}]
  operations:
    read: {path: "/%[1]s/{id}"}
    create: {path: "/%[1]s", %[2]s}
    update: {method: PATCH, path: "/%[1]s/{id}"}
    delete: {path: "/%[1]s/{id}"}`, resource, create)
}

// collections are what the server keeps, and a place for the probe.
func collections() []restfake.Collection {
	list := []restfake.Collection{{Path: "/probe"}}
	for _, c := range append(classes(), withOutput()) {
		c.collection.Path, c.collection.DuplicateKey = c.path(), "owner"
		list = append(list, c.collection)
		if c.members {
			list = append(list, membersOf(c))
		}
	}
	return list
}

// The waiting times of the tests: short, and still longer than the faults that the server makes.
// Everything is deleted, and it is meant.
const timings = `
  sync: {interval: 2s, consistencyWindow: 500ms, serverSlack: 500ms}
  policy: {deleteGuard: {mode: "Off"}%s}`

const fields = `
  fields:
  - {from: metadata.name, to: name}
  - {from: metadata.uid, to: owner}
  - {from: spec.size, to: size}`

// manifest is the kind's CRD, the operator's rights for it and its mapping.
func (c class) manifest(account, namespace string) string {
	body := fields + c.fields
	if strings.HasSuffix(c.kind, "Chosen") {
		body += "\n  - {from: metadata.name, to: id}"
	}
	return fmt.Sprintf(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[1]s.%[2]s}
spec:
  group: %[2]s
  scope: Namespaced
  names: {kind: %[3]s, plural: %[1]s, singular: %[4]s, listKind: %[3]sList}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {size: {type: integer}}}
          status:
            type: object
            default: {observedGeneration: -1}
            x-kubernetes-preserve-unknown-fields: true
            properties:
              observedGeneration: {type: integer, format: int64}
              identifiers: {type: object, additionalProperties: {type: string}}
              lastError:
                type: object
                properties: {operation: {type: string}, httpStatus: {type: integer}, message: {type: string}}
              conditions:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [type]
                items:
                  type: object
                  required: [type, status, reason, message, lastTransitionTime]
                  properties:
                    type: {type: string}
                    status: {type: string}
                    reason: {type: string}
                    message: {type: string}
                    lastTransitionTime: {type: string, format: date-time}
                    observedGeneration: {type: integer, format: int64}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: crash-%[1]s}
rules:
- {apiGroups: [%[2]s], resources: [%[1]s, %[1]s/status], verbs: [get, list, watch, patch, update]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: crash-%[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: crash-%[1]s}
subjects: [{kind: ServiceAccount, name: %[5]s, namespace: %[6]s}]
---
apiVersion: restmapping.dev/v1alpha1
kind: RestMapping
metadata: {name: %[1]s}
spec:
  target: {group: %[2]s, version: v1, kind: %[3]s}
  endpoint: {kind: RestEndpoint, name: server}%[7]s%[8]s%[9]s
`, c.resource, group, c.kind, strings.ToLower(c.kind), account, namespace, c.mapping, body, fmt.Sprintf(timings, c.policy))
}
