package model

import (
	"strings"
	"testing"

	"github.com/restmapping/operator/pkg/lifecycle"
)

// referrers are the custom resources that refer to this one: they go, sooner or later. None comes: one that refers to a
// custom resource which is being deleted waits for it.
func (m *machine) referrers(w world) {
	if w.referred != somebody {
		return
	}
	n := w
	n.referred = goneAgain
	m.emit("those who refer to it go", false, n)
}

// hear is the moment at which a process knows all who refer to the custom resource.
func (m *machine) hear(w world, i int) {
	if w.referred == nobodyRefers || w.procs[i].heard || w.procs[i].deposed {
		return
	}
	n := w
	n.procs[i].heard = true
	m.emit("knows who refers to it", false, n)
}

func (d dependents) fact() lifecycle.Dependents {
	return [...]lifecycle.Dependents{
		lifecycle.DependentsNone, lifecycle.DependentsNone, lifecycle.DependentsExist, lifecycle.DependentsUnknown,
	}[d]
}

// referred is what may happen while somebody refers to the custom resource.
func referred() budget { return budget{kills: 1, losses: 1} }

// TestAParentIsNotDeletedBeforeItsDependents: also not right after a restart; and once they are gone, it goes.
func TestAParentIsNotDeletedBeforeItsDependents(t *testing.T) {
	t.Parallel()
	for _, c := range classes() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := exploreFrom(c, rules{}, world{left: referred(), referred: somebody}, stateLimit)
			if r.bad != fine {
				t.Errorf("%s after\n\t%s", r.bad, strings.Join(r.trace, "\n\t"))
			}
			if r.stuck > 0 {
				t.Errorf("%d of %d states are stuck, the first after\n\t%s", r.stuck, r.states, strings.Join(r.stuckTrace, "\n\t"))
			}
		})
	}
}

// TestTheRulesAboutDependentsAreNeeded switches each off.
func TestTheRulesAboutDependentsAreNeeded(t *testing.T) {
	t.Parallel()
	for name, off := range map[string]rules{
		"a delete does not wait":            {noDependents: true},
		"who is not known yet is not there": {unknownIsNobody: true},
	} {
		for _, c := range classes() {
			t.Run(name+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				if r := exploreFrom(c, off, world{left: referred(), referred: somebody}, stateLimit); r.bad != orphaned {
					t.Errorf("without the rule the model finds %q, want orphaned", r.bad)
				}
			})
		}
	}
}
