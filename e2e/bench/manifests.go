package main

import "fmt"

// The two contenders serve kinds of one shape in groups of their own, so that kube-apiserver's counters keep them apart.
const (
	mappedGroup      = "mapped.bench.example.com"
	handwrittenGroup = "handwritten.bench.example.com"
	resource         = "widgets"
	namespace        = "bench"
	account          = "handwritten"
)

// definition is the CRD of one group.
func definition(group string) string {
	return fmt.Sprintf(`
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[1]s.%[2]s}
spec:
  group: %[2]s
  scope: Namespaced
  names: {kind: Widget, listKind: WidgetList, plural: %[1]s, singular: widget}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        properties:
          spec:
            type: object
            required: [size]
            properties:
              size: {type: integer, format: int64}
              color: {type: string}
              note: {type: string}
              tags: {type: array, items: {type: string}}
          status:
            type: object
            default: {observedGeneration: -1}
            properties:
              observedGeneration: {type: integer, format: int64}
              size: {type: integer, format: int64}
              identifiers: {type: object, additionalProperties: {type: string}}
              lastHandledReconcileAt: {type: string}
              drift: {type: array, items: {type: string}}
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
`, resource, group)
}

// ground is what both need.
func ground() string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Namespace
metadata: {name: %[1]s}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: %[2]s, namespace: %[1]s}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: %[2]s}
rules:
- {apiGroups: [%[3]s], resources: [%[4]s, %[4]s/status], verbs: [get, list, watch, patch, update]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: %[2]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: %[2]s}
subjects: [{kind: ServiceAccount, name: %[2]s, namespace: %[1]s}]
`, namespace, account, handwrittenGroup, resource) + definition(mappedGroup) + definition(handwrittenGroup)
}

// endpoint is the REST server as the operator is told of it. The limits are those of the handwritten controller.
func endpoint(url string) string {
	return fmt.Sprintf(`
apiVersion: restmapping.dev/v1alpha1
kind: RestEndpoint
metadata: {name: server, namespace: %s}
spec:
  baseURL: %s
  limits: {requestsPerSecond: %[3]d, burst: %[3]d, inFlight: %[4]d}
`, namespace, url, requestRate, workers)
}

// mapping says for the operator what the handwritten controller says in Go: also that answers to POST and PUT hold the
// object, without which the operator would read it once more.
func mapping() string {
	return fmt.Sprintf(`
apiVersion: restmapping.dev/v1alpha1
kind: RestMapping
metadata: {name: %[1]s}
spec:
  target: {group: %[2]s, version: v1, kind: Widget}
  endpoint: {kind: RestEndpoint, name: server}
  identifiers: [{name: name, value: self.metadata.name}]
  operations:
    read: {path: "/widgets/{name}"}
    create: {path: /widgets, select: response.body}
    update: {method: PUT, path: "/widgets/{name}", select: response.body}
    delete: {path: "/widgets/{name}"}
  fields:
  - {to: name, value: self.metadata.name}
  - {from: spec.size, to: size}
  - {from: spec.color, to: color}
  - {from: spec.note, to: note}
  - {from: spec.tags, to: tags, compare: Set}
  status:
  - {to: size, value: observed.size}
  sync: {interval: %[3]s}
  policy: {deleteGuard: {mode: "Off"}}
`, resource, mappedGroup, interval)
}
