package lab

import (
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Definition is a kind's CRD. The zero value is a good one with DefaultSpec.
type Definition struct {
	// Spec is the schema of spec; empty means DefaultSpec.
	Spec Schema
	// Cluster makes the kind cluster-scoped.
	Cluster bool
	// NoSubresource leaves the status subresource out, NoConditions the conditions of the status' schema.
	NoSubresource, NoConditions bool
	// Unserved stops serving v1; v2 is served and stored instead.
	Unserved bool
}

// Define applies the kind's CRD with this schema of spec.
func (k *Kind) Define(spec Schema) {
	k.lab.tb.Helper()
	k.DefineAs(Definition{Spec: spec})
}

// DefineAs applies the kind's CRD.
func (k *Kind) DefineAs(d Definition) {
	k.lab.tb.Helper()
	k.Cluster = d.Cluster
	scope := "Namespaced"
	if d.Cluster {
		scope = "Cluster"
	}
	versions := d.version("v1", !d.Unserved, !d.Unserved)
	if d.Unserved {
		versions += d.version("v2", true, true)
	}
	k.lab.Apply(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[1]s.%[2]s}
spec:
  group: %[2]s
  scope: %[5]s
  names: {kind: %[3]s, plural: %[1]s, singular: %[4]s, listKind: %[3]sList}
  versions:%[6]s
`, k.GVR.Resource, k.Group, k.Name, strings.ToLower(k.Name), scope, versions)
}

// Undefine deletes the CRD without waiting.
func (k *Kind) Undefine() {
	k.lab.tb.Helper()
	if err := k.lab.Client.Resource(CRDGVR).Delete(k.lab.tb.Context(), k.GVR.Resource+"."+k.Group, metav1.DeleteOptions{}); err != nil {
		k.lab.tb.Fatalf("delete CRD: %v", err)
	}
}

// Undefined waits until the CRD is gone.
func (k *Kind) Undefined() {
	k.lab.tb.Helper()
	k.lab.Eventually("CRD gone", func() string {
		if obj := k.lab.get(k.lab.Client.Resource(CRDGVR), k.GVR.Resource+"."+k.Group); obj != nil {
			return show(obj)
		}
		return ""
	})
}

// Ungrant takes the operator's rights for the kind back.
func (k *Kind) Ungrant() {
	k.lab.tb.Helper()
	ctx, cancel := context.WithTimeout(k.lab.tb.Context(), 10*time.Second)
	defer cancel()
	for _, resource := range []string{"clusterrolebindings", "clusterroles"} {
		gvr := CRDGVR
		gvr.Group, gvr.Resource = "rbac.authorization.k8s.io", resource
		if err := k.lab.Client.Resource(gvr).Delete(ctx, "lab-"+k.GVR.Resource, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			k.lab.tb.Fatalf("delete %s: %v", resource, err)
		}
	}
}

func (d Definition) version(name string, served, storage bool) string {
	subresources, spec, conditions := "\n    subresources: {status: {}}", d.Spec, conditionsSchema
	if d.NoSubresource {
		subresources = ""
	}
	if spec == "" {
		spec = DefaultSpec
	}
	if d.NoConditions {
		conditions = ""
	}
	return fmt.Sprintf(`
  - name: %s
    served: %t
    storage: %t%s
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:%s
          status:
            type: object
            default: {observedGeneration: -1}
            properties:
              observedGeneration: {type: integer, format: int64}
              lastHandledReconcileAt: {type: string}
              identifiers: {type: object, additionalProperties: {type: string}}
              drift: {type: array, items: {type: string}}
              lastError:
                type: object
                properties: {operation: {type: string}, httpStatus: {type: integer}, message: {type: string}}
              size: {type: integer}
              url: {type: string}%s`, name, served, storage, subresources, spec, conditions)
}

const conditionsSchema = `
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
                    observedGeneration: {type: integer, format: int64}`
