package pass

import (
	"context"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/lifecycle"
	"github.com/restmapping/operator/pkg/rest"
)

// noteReplacing persists that the object is deleted to be made anew, before its delete is sent, or that it stays after all.
func (u *run) noteReplacing(ctx context.Context, begins bool) *lifecycle.Step {
	record := *u.record
	record.Replacing = begins
	if err := u.swapRecord(ctx, record); err != nil {
		return u.writeFailed(err)
	}
	u.facts.Replacing = begins
	if begins {
		failpoint("after-replacing-before-delete")
		u.Events.Normal(u.obj, "Replacing", string(rest.Delete), "the object is deleted and made anew, because it cannot be changed: "+u.described(u.named(lifecycle.Step{Reason: v1alpha1.ReasonImmutableFieldChanged})))
	}
	return nil
}
