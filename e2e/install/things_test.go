//go:build install

package install_test

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/restmapping/operator/e2e/install/images"
	"github.com/restmapping/operator/internal/lab"
)

var things = schema.GroupVersionResource{Group: "install.example.com", Version: "v1", Resource: "things"}

// serve runs the REST server as a pod, on the last node where the nodes are ours: another one is drained.
func (s *scene) serve() {
	s.t.Helper()
	s.restricted("rest")
	selector := "{}"
	if s.nodes != nil {
		names := s.nodes.Names()
		selector = fmt.Sprintf("{kubernetes.io/hostname: %s}", names[len(names)-1])
	}
	s.apply(fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: restserver, namespace: rest, labels: {app: restserver}}
spec:
  nodeSelector: %s
  automountServiceAccountToken: false
  securityContext: {runAsNonRoot: true, runAsUser: 65532, seccompProfile: {type: RuntimeDefault}}
  containers:
  - name: server
    image: %s:%s
    imagePullPolicy: IfNotPresent
    securityContext: {allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: {drop: [ALL]}}
    readinessProbe: {httpGet: {path: /_report, port: 8080}, periodSeconds: 1}
---
apiVersion: v1
kind: Service
metadata: {name: restserver, namespace: rest}
spec: {selector: {app: restserver}, ports: [{port: 8080}]}
`, selector, images.Server, images.Old))
	s.eventually("REST server", func() string {
		pod, err := s.client.CoreV1().Pods("rest").Get(s.t.Context(), "restserver", metav1.GetOptions{})
		if err != nil {
			return err.Error()
		}
		for _, condition := range pod.Status.Conditions {
			if condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue {
				return ""
			}
		}
		return string(pod.Status.Phase) + s.trouble("rest")
	})
	service, err := s.client.CoreV1().Services("rest").Get(s.t.Context(), "restserver", metav1.GetOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	// By its address: a cluster of our own has no DNS.
	s.server = fmt.Sprintf("http://%s:8080", service.Spec.ClusterIP)
}

// kind is what a person applies for a kind of their own.
const kind = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.install.example.com}
spec:
  group: install.example.com
  scope: Namespaced
  names: {kind: Thing, listKind: ThingList, plural: things, singular: thing}
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
`

const mapping = `
apiVersion: restmapping.dev/v1alpha1
kind: RestMapping
metadata: {name: things}
spec:
  target: {group: install.example.com, version: v1, kind: Thing}
  endpoint: {kind: RestEndpoint, name: server}
  identifiers: [{name: id, assigned: response.body.id}]
  operations:
    read: {path: "/things/{id}"}
    create: {path: /things, safety: Marker}
    list: {path: /things, match: item.owner == self.metadata.uid}
    update: {method: PATCH, path: "/things/{id}"}
    delete: {path: "/things/{id}"}
  fields:
  - {from: spec.size, to: size}
  - {from: metadata.uid, to: owner}
  policy: {deleteGuard: {mode: "Off"}} # everything is deleted, and it is meant
`

// team makes a namespace with an endpoint in it.
func (s *scene) team(namespace string) {
	s.t.Helper()
	s.restricted(namespace)
	s.apply(fmt.Sprintf(`
apiVersion: restmapping.dev/v1alpha1
kind: RestEndpoint
metadata: {name: server, namespace: %s}
spec: {baseURL: %q}
`, namespace, s.server))
}

// make applies things from one number up to another.
func (s *scene) make(namespace string, from, to int) {
	s.t.Helper()
	var text strings.Builder
	for i := from; i <= to; i++ {
		fmt.Fprintf(&text, "---\napiVersion: install.example.com/v1\nkind: Thing\nmetadata: {name: thing-%d, namespace: %s}\nspec: {size: %d}\n", i, namespace, i)
	}
	s.apply(text.String())
}

// ready waits until so many things are ready, and all statuses follow the rules.
func (s *scene) ready(namespace string, count int) map[string]unstructured.Unstructured {
	s.t.Helper()
	found := map[string]unstructured.Unstructured{}
	s.eventually("things in "+namespace, func() string {
		list, err := s.dynamic.Resource(things).Namespace(namespace).List(s.t.Context(), metav1.ListOptions{})
		if err != nil {
			return err.Error()
		}
		if len(list.Items) != count {
			return fmt.Sprintf("%d things, %d wanted", len(list.Items), count)
		}
		for _, item := range list.Items {
			if why := notReady(item); why != "" {
				return item.GetName() + ": " + why
			}
			found[item.GetName()] = item
		}
		return ""
	})
	for name, item := range found {
		if problems := lab.Problems(&item); len(problems) > 0 {
			s.t.Errorf("status of %s: %s", name, strings.Join(problems, "; "))
		}
	}
	return found
}

func notReady(item unstructured.Unstructured) string {
	conditions, _, _ := unstructured.NestedSlice(item.Object, "status", "conditions")
	for _, entry := range conditions {
		condition, _ := entry.(map[string]any)
		if condition["type"] == "Ready" {
			if condition["status"] == "True" {
				return ""
			}
			return fmt.Sprint(condition["reason"], ": ", condition["message"])
		}
	}
	return "no condition Ready"
}
