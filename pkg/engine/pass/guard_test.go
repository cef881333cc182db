package pass_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/engine/fleet"
)

type guard struct {
	why string
	err error
}

func (g *guard) Held(context.Context, *fleet.Object) (string, error) { return g.why, g.err }

func TestADeletionThatIsHeldSendsNothing(t *testing.T) {
	t.Parallel()
	eachClass(t, func(b *bench, _ class) {
		g := &guard{err: errors.New("the API server does not answer")}
		b.deletions = g
		b.restart()
		b.advance(settleTime)
		b.settled("one", "{size: 3}")
		b.advance(time.Hour)
		b.delete("one")
		if result := b.look("one"); result.Err == nil {
			b.Error("nothing brings it back")
		}
		b.nothingSent()
		g.err, g.why = nil, "say so first"
		b.look("one")
		b.nothingSent()
		b.wantCondition("one", v1alpha1.ConditionStalled, "True DeletionHeld")
		b.wantMessage("one", v1alpha1.ConditionStalled, "say so first", "nothing is deleted outside")
		b.wantLive(1)
		g.why = ""
		b.follow("one", b.gone("one"))
		b.wantLive(0)
	})
}
