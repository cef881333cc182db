package pass

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/engine/outputs"
	"github.com/restmapping/operator/pkg/lifecycle"
	"github.com/restmapping/operator/pkg/mapping"
)

// Outputs keeps the Secrets and ConfigMaps that values are written into.
type Outputs interface {
	// Version is the resourceVersion of an object as the watch shows it, "" when it shows none. No request is made.
	Version(ctx context.Context, ref outputs.Ref) (string, error)
	// Get reads an object, nil when it is not there.
	Get(ctx context.Context, ref outputs.Ref) (*outputs.Object, error)
	// Create makes an object; that one is there already is an error.
	Create(ctx context.Context, ref outputs.Ref, c outputs.Content) (*outputs.Object, error)
	// Update replaces what an object holds, if it still is what was read.
	Update(ctx context.Context, ref outputs.Ref, was *outputs.Object, c outputs.Content) (*outputs.Object, error)
}

// outputMemory is what this process knows of an output: the version that it wrote or read last, a keyed hash of what
// that held, and what a create's output lacked.
type outputMemory struct {
	version string
	sum     [sha256.Size]byte
	lost    *outputProblem
	// rotated and at are the note's.
	rotated string
	at      time.Time
}

// outputProblem is why an output is not as it should be. Stalled tells that a person must act.
type outputProblem struct {
	reason, message string
	stalled         bool
}

// deliver writes what the observed object gives into the outputs, and sees that what only a create gave is still there.
// A custom resource is not ready before.
func (u *run) deliver(ctx context.Context, step lifecycle.Step, ready readiness) readiness {
	if !ready.known || step.Action != lifecycle.Finish || u.facts.Deleting {
		return ready
	}
	for _, output := range u.program.Outputs() {
		if problem := u.deliverOne(ctx, output); problem != nil {
			ready.ok, ready.stalled, ready.reason, ready.message = false, problem.stalled, problem.reason, problem.message
			return ready
		}
	}
	return ready
}

func (u *run) deliverOne(ctx context.Context, output mapping.Output) *outputProblem {
	if output.OnCreate && u.facts.Policy.Management == v1alpha1.ManagementObserveOnly {
		return nil
	}
	ref, err := u.outputRef(ctx, output)
	if err != nil {
		return &outputProblem{v1alpha1.ReasonExpressionFailed, err.Error(), true}
	}
	var data map[string]string
	if !output.OnCreate {
		if data, err = u.pass.ObservedData(ctx, output, u.observed); err != nil {
			return &outputProblem{v1alpha1.ReasonExpressionFailed, err.Error(), true}
		}
		u.conceal(output, data)
	}
	known, current, err := u.knownOutput(ctx, ref)
	if err != nil {
		return u.outputFailed(ref, err)
	}
	if current && (output.OnCreate || known.sum == u.sumOf(data)) {
		return known.lost
	}
	live, err := u.Outputs.Get(ctx, ref)
	switch {
	case err != nil:
		return u.outputFailed(ref, err)
	case live != nil && live.Controller != u.obj.GetUID():
		return conflicting(ref)
	case output.OnCreate:
		return u.checkCreated(ctx, output, ref, live)
	default:
		return u.restore(ctx, ref, live, data)
	}
}

// knownOutput gives what this process knows of an output, and whether that is how things are. A watch that lags behind our
// own write is no change.
func (u *run) knownOutput(ctx context.Context, ref outputs.Ref) (known outputMemory, current bool, err error) {
	version, err := u.Outputs.Version(ctx, ref)
	if err != nil {
		return known, false, err
	}
	known, ok := u.mem.outputs[ref]
	if !ok || version == "" {
		return known, false, nil
	}
	order, err := resourceversion.CompareResourceVersion(version, known.version)
	return known, err == nil && order <= 0, nil // versions that cannot be compared are looked up
}

// restore writes what the observed object gives, where it is not there already.
func (u *run) restore(ctx context.Context, ref outputs.Ref, live *outputs.Object, data map[string]string) *outputProblem {
	if live == nil || !live.Labelled || !maps.Equal(live.Data, data) {
		written, err := u.putOutput(ctx, ref, live, data, outputNote{})
		if err != nil {
			return u.outputFailed(ref, err)
		}
		live = written
	}
	u.rememberOutput(ref, live, nil)
	return nil
}

// checkCreated sees that the values are there which only the create gave, or which a person put back in their place. What
// belongs to an earlier object is of no use to anybody and is taken away.
func (u *run) checkCreated(ctx context.Context, output mapping.Output, ref outputs.Ref, live *outputs.Object) *outputProblem {
	attempt := ""
	if u.record != nil {
		attempt = u.record.Attempt
	}
	if live == nil || !live.Labelled || readNote(live).Attempt != attempt {
		var data map[string]string
		note := outputNote{Attempt: attempt}
		if live != nil && readNote(live).Attempt == attempt {
			data, note = live.Data, readNote(live)
		}
		written, err := u.putOutput(ctx, ref, live, data, note)
		if err != nil {
			return u.outputFailed(ref, err)
		}
		live = written
	}
	u.rememberOutput(ref, live, lostKeys(ref, output, live))
	return u.mem.outputs[ref].lost
}

// lostKeys names what an output of a create lacks.
func lostKeys(ref outputs.Ref, output mapping.Output, live *outputs.Object) *outputProblem {
	missing := slices.DeleteFunc(slices.Clone(output.Keys), func(key string) bool { return live.Data[key] != "" })
	if len(missing) == 0 {
		return nil
	}
	return &outputProblem{v1alpha1.ReasonOutputLost, fmt.Sprintf(
		"%s lacks %s, which only the answer to the create held; put it there if you have it (kubectl -n %s edit %s %s), or delete the custom resource and create it anew",
		ref, strings.Join(missing, ", "), ref.Namespace, strings.ToLower(string(ref.Kind)), ref.Name), true}
}

func conflicting(ref outputs.Ref) *outputProblem {
	return &outputProblem{v1alpha1.ReasonOutputConflict, fmt.Sprintf(
		"%s was made by somebody else and is left as it is; delete it, or give the output another name in the mapping (outputs[].nameExpression)", ref), true}
}

// outputFailed says why an output could not be read or written.
func (u *run) outputFailed(ref outputs.Ref, err error) *outputProblem {
	message := u.redact(err.Error())
	if apierrors.IsForbidden(err) {
		u.denied = true
		return &outputProblem{v1alpha1.ReasonRBACMissing, fmt.Sprintf(
			"%s; the operator's ServiceAccount needs %s in namespace %s (chart value %s)",
			message, outputs.Rule(ref.Kind), ref.Namespace, outputs.ChartValue(ref.Kind)), true}
	}
	return &outputProblem{v1alpha1.ReasonOutputNotWritten, message, false}
}

func (u *run) ownerReference() metav1.OwnerReference {
	gvk := u.obj.GroupVersionKind()
	return metav1.OwnerReference{
		APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind, Name: u.obj.GetName(), UID: u.obj.GetUID(), Controller: new(true),
	}
}

func (u *run) outputRef(ctx context.Context, output mapping.Output) (outputs.Ref, error) {
	name, err := u.program.OutputObject(ctx, output, u.self)
	if err == nil && u.Outputs == nil {
		err = errors.New("this operator keeps no outputs")
	}
	return outputs.Ref{Kind: output.Kind, NamespacedName: types.NamespacedName{Namespace: u.key.Namespace, Name: name}}, err
}

func (u *run) rememberOutput(ref outputs.Ref, object *outputs.Object, lost *outputProblem) {
	if u.mem.outputs == nil {
		u.mem.outputs = map[outputs.Ref]outputMemory{}
	}
	note := readNote(object)
	u.mem.outputs[ref] = outputMemory{version: object.Version, sum: u.sumOf(object.Data), lost: lost, rotated: note.Rotated, at: note.At}
}

// sumOf is a keyed hash, so that no value can be guessed from what is remembered.
func (u *run) sumOf(data map[string]string) (sum [sha256.Size]byte) {
	mac := hmac.New(sha256.New, u.hashKey)
	for _, key := range slices.Sorted(maps.Keys(data)) {
		_, _ = fmt.Fprintf(mac, "%d %s %d %s", len(key), key, len(data[key]), data[key]) // a hash takes everything
	}
	mac.Sum(sum[:0])
	return sum
}

// conceal keeps the values of a Secret out of every message of this pass.
func (u *run) conceal(output mapping.Output, data map[string]string) {
	if output.Kind == v1alpha1.OutputSecret {
		u.concealed = slices.AppendSeq(u.concealed, maps.Values(data))
	}
}
