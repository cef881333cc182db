package pass_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/restmapping/operator/api/v1alpha1"
)

func TestAnUpdateIsSentOnRequestAndOnce(t *testing.T) {
	t.Parallel()
	eachClass(t, func(b *bench, c class) {
		b.settled("one", "{size: 3}")
		b.advance(time.Hour)
		b.annotate("one", v1alpha1.ForceUpdateAnnotation, "a long text that a person chose")
		b.look("one")
		b.happened(c.steady[0], c.update, "swap record=Created", c.steady[0])
		b.wantEvents("Normal Updated: updated outside because annotation restmapping.dev/force-update asks for it")
		b.restart() // the next process knows that it was done
		b.advance(time.Hour)
		b.look("one")
		b.nothingSent()
		b.annotate("one", v1alpha1.ForceUpdateAnnotation, "another")
		b.advance(time.Hour)
		b.look("one")
		if diff := cmp.Diff([]string{c.update[:3]}, cut(b.sent())); diff != "" {
			b.Errorf("sent for another request (-want +got):\n%s", diff)
		}
	})
}

func cut(methods []string) []string {
	for i := range methods {
		methods[i] = methods[i][:3]
	}
	return methods
}

func TestARequestBeforeTheCreateIsGrantedByIt(t *testing.T) {
	t.Parallel()
	eachClass(t, func(b *bench, _ class) {
		b.create("one", "{size: 3}")
		b.annotate("one", v1alpha1.ForceUpdateAnnotation, "1")
		b.look("one")
		b.journal.take()
		b.advance(time.Hour)
		b.look("one")
		b.nothingSent()
	})
}

func TestWhereDriftIsOnlyReportedNothingIsForced(t *testing.T) {
	t.Parallel()
	eachClassWith(t, "  policy: {drift: Report}\n", func(b *bench, _ class) {
		b.settled("one", "{size: 3}")
		b.annotate("one", v1alpha1.ForceUpdateAnnotation, "1")
		b.advance(time.Hour)
		b.look("one")
		b.nothingSent()
		b.wantCondition("one", v1alpha1.ConditionSynced, "True InSync")
	})
}

func TestReportedDriftIsAnEventOnce(t *testing.T) {
	t.Parallel()
	eachClassWith(t, "  policy: {drift: Report}\n", func(b *bench, c class) {
		b.settled("one", "{size: 3, color: red}")
		change := func(field string, value any) {
			b.Helper()
			if err := b.server.Change(path(c), func(f map[string]any) { f[field] = value }); err != nil {
				b.Fatal(err)
			}
			b.advance(time.Hour)
			b.look("one")
		}
		change("size", 8)
		b.wantEvents("Warning DriftReported: differs from the specification and is left so: size (found 8, wanted 3)")
		b.wantMessage("one", v1alpha1.ConditionSynced, "size (found 8, wanted 3)")
		change("size", 9) // goes on changing
		b.wantEvents()
		b.wantMessage("one", v1alpha1.ConditionSynced, "size (found 9, wanted 3)")
		change("other", 1)
		b.wantEvents()
		change("size", 3)
		b.wantCondition("one", v1alpha1.ConditionSynced, "True InSync")
		b.events.take()
		change("size", 8)
		b.wantEvents("Warning DriftReported: differs from the specification and is left so: size (found 8, wanted 3)")
	})
}
