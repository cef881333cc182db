package pass

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/lifecycle"
	"github.com/restmapping/operator/pkg/rest"
)

// When the custom resource goes while its create is under way, because somebody took the finalizer, nothing but this
// process remembers what was made. A server-assigned identity is then missed when it is to be kept; one that was chosen
// stands in the record already, so the first write after the create tells.

// made tells that this pass's create made an object that goes with its custom resource.
func (u *run) made() bool {
	s := u.facts.Sent
	return s != nil && s.Operation == rest.Create && (s.Outcome == lifecycle.Success || s.Outcome == lifecycle.Accepted) && u.program.Supports(rest.Delete) &&
		u.facts.Policy.Deletion != v1alpha1.DeletionOrphan
}

// owe remembers what was made until a write shows that the custom resource is still there.
func (u *run) owe() {
	if u.facts.AllChosen && u.made() {
		u.mem.owed = u
	}
}

// settleDebt takes back what was made for a custom resource that is gone. present is the uid that stands under the name
// now, empty for none. An error means that it must be tried again.
func (r *Reconciler) settleDebt(ctx context.Context, key types.NamespacedName, present types.UID) error {
	m := r.memories.peek(key)
	if m == nil || m.owed == nil || m.uid == present {
		return nil
	}
	u := m.owed
	if present == "" {
		// It may have left this mapping's selector alone: then its record still names the object.
		from := u.obj.GetAnnotations()[v1alpha1.RecordAnnotation]
		_, err := u.Writer.SwapAnnotation(ctx, key, m.uid, v1alpha1.RecordAnnotation, from, from)
		switch {
		case err == nil:
			m.owed = nil
			return nil
		case !lostRecord(err):
			return err
		}
	}
	m.owed = nil
	return u.takeBack(ctx)
}

// takeBack removes exactly the object that this pass's create made.
func (u *run) takeBack(ctx context.Context) error {
	u.Events.Warning(u.obj, "Compensating", string(rest.Delete), "the record of a create could not be kept; the object just made is removed again")
	failpoint("before-compensate")
	accepted := u.facts.Sent.Outcome == lifecycle.Accepted
	err := wait.PollUntilContextTimeout(ctx, takeBackPause, takeBackTime, true, func(ctx context.Context) (bool, error) {
		if accepted && !u.cameToItsEnd(ctx) {
			return false, nil
		}
		if stop := u.sendDelete(ctx); stop != nil {
			return false, fmt.Errorf("%s: %s", stop.Reason, stop.Message)
		}
		return u.facts.Sent.Outcome == lifecycle.Success || u.facts.Sent.Outcome == lifecycle.Absent, nil
	})
	if err == nil {
		return nil
	}
	u.Events.Warning(u.obj, "LeftBehind", string(rest.Delete), "the object just made could not be removed; nothing remembers it, so remove it at the server: "+u.create.Method+" "+u.create.Route)
	return fmt.Errorf("take back what %s %s made: %w", u.create.Method, u.create.Route, err)
}

const (
	// takeBackPause lies between two tries, and takeBackTime bounds all of them.
	takeBackPause = time.Second
	takeBackTime  = time.Minute
)

// lostRecord: the custom resource is gone, or its record is no longer the one of this attempt.
func lostRecord(err error) bool { return apierrors.IsNotFound(err) || apierrors.IsInvalid(err) }
