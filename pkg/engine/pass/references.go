package pass

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/engine/fleet"
	"github.com/restmapping/operator/pkg/engine/references"
	"github.com/restmapping/operator/pkg/lifecycle"
	"github.com/restmapping/operator/pkg/mapping"
)

// Referents knows the custom resources that one refers to, and those that refer to it. It reads caches only.
type Referents interface {
	// Referent gives the object that a reference names, nil when there is none. known is false while that cannot be told;
	// problem is then why, nil when it is only a matter of time.
	Referent(ref mapping.Reference) (object *fleet.Object, known bool, problem error)
	// Dependents tells who keeps a custom resource from being deleted outside.
	Dependents(key types.NamespacedName) Dependents
	// Cycle names the way on which a custom resource refers to itself; empty when it does not.
	Cycle(key types.NamespacedName) string
}

// Dependents are the custom resources that refer to one, in the words of a condition.
type Dependents struct {
	State   lifecycle.Dependents
	Message string
}

// resolveReferences finds what the custom resource refers to. Until all of it is ready, nothing is sent. A deletion goes
// on with what is there: what it needs was recorded.
func (u *run) resolveReferences(ctx context.Context) *lifecycle.Step {
	named, err := u.program.References(ctx, u.self)
	if err != nil && !u.facts.Deleting {
		return stall(v1alpha1.ReasonExpressionFailed, err.Error())
	}
	u.referents = make(map[string]map[string]any, len(named))
	var owners []metav1.OwnerReference
	for _, ref := range named {
		object, stop := u.referent(ref)
		if stop != nil {
			return stop
		}
		if object != nil && ref.Owner {
			owners = append(owners, ownerBy(object))
		}
	}
	if u.facts.Deleting || len(owners) == 0 {
		return nil
	}
	return u.own(ctx, owners)
}

// referent looks at one object that is referred to.
func (u *run) referent(ref mapping.Reference) (*fleet.Object, *lifecycle.Step) {
	object, known, problem := u.Referents.Referent(ref)
	switch {
	case !known && problem == nil:
		return nil, retry(v1alpha1.ReasonReferenceNotReady, ref.String()+": the custom resources of its kind are not read yet")
	case !known && !u.facts.Deleting:
		return nil, retry(v1alpha1.ReasonReferenceNotReady, fmt.Sprintf("%s: %v", ref, problem))
	case object == nil && !u.facts.Deleting:
		return nil, u.awaits(v1alpha1.ReasonReferenceNotFound, ref.String()+" does not exist; create it, or correct the name")
	case object == nil:
		return nil, nil
	}
	content, err := object.Unstructured()
	if err != nil {
		return nil, retry(v1alpha1.ReasonInternalError, err.Error())
	}
	if why := references.NotReady(content, ref.HasConditions); why != "" && !u.facts.Deleting {
		return nil, u.awaits(v1alpha1.ReasonReferenceNotReady, ref.String()+" is not ready: "+why)
	}
	u.referents[ref.Input] = content
	return object, nil
}

// awaits ends the pass until an event tells of what is waited for. Nobody comes out of a cycle by waiting.
func (u *run) awaits(reason, message string) *lifecycle.Step {
	if way := u.Referents.Cycle(u.key); way != "" {
		return stall(v1alpha1.ReasonReferenceCycle, "it refers to itself, so that each would wait for the other: "+way+"; change one of the references")
	}
	return &lifecycle.Step{Action: lifecycle.Wait, Reason: reason, Message: message, Delay: lifecycle.DelayEvent}
}

func ownerBy(object *fleet.Object) metav1.OwnerReference {
	version, kind := object.GroupVersionKind().ToAPIVersionAndKind()
	return metav1.OwnerReference{APIVersion: version, Kind: kind, Name: object.GetName(), UID: object.GetUID(), BlockOwnerDeletion: new(true)}
}

// own makes the objects owners of the custom resource, in one write, when one of them is not. A namesake that was there
// before is replaced.
func (u *run) own(ctx context.Context, owners []metav1.OwnerReference) *lifecycle.Step {
	wanted := slices.Clone(u.obj.GetOwnerReferences())
	missing := false
	for _, owner := range owners {
		if slices.ContainsFunc(wanted, func(o metav1.OwnerReference) bool { return o.UID == owner.UID }) {
			continue
		}
		missing = true
		wanted = append(slices.DeleteFunc(wanted, func(o metav1.OwnerReference) bool {
			return o.APIVersion == owner.APIVersion && o.Kind == owner.Kind && o.Name == owner.Name
		}), owner)
	}
	if !missing {
		return nil
	}
	list, err := plainOwners(wanted)
	if err != nil {
		return retry(v1alpha1.ReasonInternalError, err.Error())
	}
	metadata := u.locked()
	metadata["ownerReferences"] = list
	got, err := u.Writer.PatchMetadata(ctx, u.key, map[string]any{"metadata": metadata})
	if err != nil {
		return u.writeFailed(err)
	}
	u.wrote(got)
	return nil
}

func plainOwners(owners []metav1.OwnerReference) ([]any, error) {
	list := make([]any, len(owners))
	for i := range owners {
		plain, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&owners[i])
		if err != nil {
			return nil, fmt.Errorf("encode the owner references: %w", err)
		}
		list[i] = plain
	}
	return list, nil
}

// noteDependents asks who refers to a custom resource that is being deleted.
func (u *run) noteDependents() {
	goes := u.facts.Deleting || u.facts.Policy.Immutable == v1alpha1.ImmutableReplace
	if !goes || !u.facts.Finalizer || u.Referents == nil {
		return
	}
	u.dependents = u.Referents.Dependents(u.key)
	u.facts.Dependents = u.dependents.State
}
