package model

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// mutant is the design without one of its rules, and what must come of it, in the order of classes().
type mutant struct {
	name string
	off  rules
	want [5]string
}

// mutants gives the rules, and what the model finds without each. It is the first thing that goes wrong: where an object
// can be doubled and can be left behind, the shorter way counts. Some cells are worse than those of a design that looks
// again before it lets a custom resource go that has nothing recorded: here a record of None is trusted, because every
// create writes its intent first, so that losing an intent or taking a lost answer for a failure leaves an object in
// each class. Some are better: without anything to find the object by (None), nothing is concluded from waiting, and a
// person is asked long after the create.
//
// The last two rows are no rules. They are what is assumed of the world: that a process which was frozen for longer than
// its lease does not go on for ever, and that reads do not stop showing what they have shown.
func mutants() []mutant {
	return []mutant{
		{"no intent record", rules{noIntent: true}, [5]string{"leak", "leak", "leak", "duplicate", "duplicate"}},
		{"ambiguous treated as failed", rules{ambiguousIsFailed: true}, [5]string{"leak", "leak", "leak", "leak", "leak"}},
		{"recover without settle", rules{noSettle: true}, [5]string{"ok", "ok", "leak", "leak", "ok"}},
		{"absence trusted inside the window", rules{trustAbsence: true}, [5]string{"leak", "leak", "leak", "leak", "leak"}},
		{"no optimistic lock", rules{noLock: true}, [5]string{"leak", "leak", "leak", "duplicate", "duplicate"}},
		{"finalizer after create", rules{lateFinalizer: true}, [5]string{"leak", "leak", "leak", "leak", "leak"}},
		{"read error is absence", rules{errorIsAbsent: true}, [5]string{"leak", "leak", "leak", "duplicate", "duplicate"}},
		{"finalise while create unknown", rules{releaseUnknown: true}, [5]string{"leak", "leak", "leak", "leak", "leak"}},
		{"client retries the create", rules{clientRetries: true}, [5]string{"ok", "leak", "leak", "duplicate", "duplicate"}},
		{"no barrier", rules{noBarrier: true}, [5]string{"leak", "leak", "ok", "ok", "ok"}},
		{"no look after the delete", rules{noVerify: true}, [5]string{"leak", "leak", "leak", "leak", "leak"}},
		{"no probe", rules{noProbe: true}, [5]string{"leak", "leak", "leak", "leak", "duplicate"}},
		{"an answered create ends the barrier", rules{answeredIsFenced: true}, [5]string{"leak", "leak", "ok", "ok", "ok"}},
		{"barrier for Upsert alone", rules{upsertOnly: true}, [5]string{"ok", "leak", "ok", "ok", "ok"}},
		{"a refusal wipes out the attempt before", rules{forgetful: true}, [5]string{"leak", "leak", "ok", "ok", "ok"}},
		{"times taken after the look", rules{tickAfterLook: true}, [5]string{"leak", "leak", "leak", "leak", "leak"}},
		{"a forged record is believed", rules{believeForged: true}, [5]string{"stranger", "stranger", "stranger", "stranger", "stranger"}},
		{"a name is proof", rules{nameIsProof: true}, [5]string{"ok", "stranger", "stranger", "ok", "ok"}},
		{"a former status is proof", rules{mirrorProves: true}, [5]string{"ok", "stranger", "ok", "ok", "ok"}},
		{"one listing is enough to recover", rules{oneListing: true}, [5]string{"ok", "ok", "leak", "leak", "ok"}},
		{"looks from before the create is over", rules{openLooks: true}, [5]string{"ok", "ok", "leak", "ok", "ok"}},
		{"a process frozen without bound", rules{frozen: true}, [5]string{"leak", "leak", "leak", "leak", "ok"}},
		{"reads are not monotone", rules{flapping: true}, [5]string{"leak", "leak", "leak", "duplicate", "duplicate"}},
	}
}

// TestEachRuleIsNeeded switches each rule off in turn. A model that stays green without a rule would prove nothing.
func TestEachRuleIsNeeded(t *testing.T) {
	t.Parallel()
	table := make([]string, len(mutants()))
	t.Run("rules", func(t *testing.T) {
		for i, m := range mutants() {
			t.Run(m.name, func(t *testing.T) {
				t.Parallel()
				var got [5]string
				for k, c := range classes() {
					r := firstViolation(c, m.off)
					got[k] = r.bad.String()
					if got[k] != m.want[k] {
						t.Errorf("without the rule, %s gives %s, want %s\n\t%s", c.name, got[k], m.want[k], strings.Join(r.trace, "\n\t"))
					}
				}
				table[i] = fmt.Sprintf("%-40s %s", m.name, strings.Join(got[:], " "))
			})
		}
	})
	t.Logf("\n%s", strings.Join(table, "\n"))
}

// firstViolation explores until something is wrong.
func firstViolation(c class, off rules) report {
	budgets := short()
	for _, name := range slices.SortedFunc(maps.Keys(budgets), cmp.Compare[string]) {
		if r := explore(c, off, budgets[name], stateLimit); r.bad != fine {
			return r
		}
	}
	return report{}
}
