package model

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// laterClasses are the classes at a server that accepts everything and does it later.
func laterClasses() []class {
	all := classes()
	for i := range all {
		all[i].later = true
	}
	return all
}

// laterShort are the combinations of faults that are explored completely for them.
func laterShort() map[string]budget {
	return map[string]budget{
		"two kills":                   {kills: 2},
		"a lost answer":               {kills: 1, losses: 1},
		"a job fails":                 {kills: 1, fails: 1},
		"a job is forgotten":          {kills: 1, forgets: 1},
		"fails and is forgotten":      {fails: 1, forgets: 1},
		"lost and forgotten":          {losses: 1, forgets: 1},
		"an edit":                     {kills: 1, edits: 1},
		"somebody removes the object": {kills: 1, removals: 1},
		"a failing read":              {kills: 1, readFaults: 1},
		"a job is overdue":            {kills: 1, overdue: 1},
		"a process is taken over":     {splits: 1},
	}
}

// TestWhatIsDoneLaterIsNeverDoubledAndNeverLeft is TestTheObjectIsNeverDoubledAndNeverLeft for such a server. A process
// also never ends a pass with a job under way that is not written down.
func TestWhatIsDoneLaterIsNeverDoubledAndNeverLeft(t *testing.T) {
	t.Parallel()
	budgets := laterShort()
	for _, c := range laterClasses() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			states, transitions := 0, 0
			for _, name := range slices.SortedFunc(maps.Keys(budgets), cmp.Compare[string]) {
				r := explore(c, rules{}, budgets[name], stateLimit)
				states, transitions = states+r.states, transitions+r.transitions
				if r.bad != fine {
					t.Errorf("%s: %s after\n\t%s", name, r.bad, strings.Join(r.trace, "\n\t"))
				}
				if r.stuck > 0 {
					t.Errorf("%s: %d of %d states are stuck, the first after\n\t%s", name, r.stuck, r.states, strings.Join(r.stuckTrace, "\n\t"))
				}
			}
			t.Logf("%-18s %2d combinations of faults, %8d states, %9d transitions, 0 violations", c.name, len(budgets), states, transitions)
		})
	}
}

func laterMutants() []mutant {
	return []mutant{
		{"a job is waited for before it is written down", rules{unrecordedJob: true}, [5]string{"unrecorded", "unrecorded", "unrecorded", "unrecorded", "unrecorded"}},
		{"a vanished job counts as failed", rules{vanishedFailed: true}, [5]string{"leak", "leak", "leak", "leak", "leak"}},
		{"settled without the deadline", rules{noDeadline: true}, [5]string{"leak", "leak", "leak", "leak", "ok"}},
		{"a failed job left nothing", rules{failedIsNothing: true}, [5]string{"leak", "leak", "leak", "leak", "leak"}},
		{"the end of a job opens no window", rules{noEndWindow: true}, [5]string{"leak", "leak", "leak", "duplicate", "duplicate"}},
	}
}

// TestEachRuleOfWhatIsDoneLaterIsNeeded is TestEachRuleIsNeeded for such a server.
func TestEachRuleOfWhatIsDoneLaterIsNeeded(t *testing.T) {
	t.Parallel()
	for _, m := range laterMutants() {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			var got [5]string
			for k, c := range laterClasses() {
				r := firstLaterViolation(c, m.off)
				got[k] = r.bad.String()
				if got[k] != m.want[k] {
					t.Errorf("without the rule, %s gives %s, want %s\n\t%s", c.name, got[k], m.want[k], strings.Join(r.trace, "\n\t"))
				}
			}
			t.Logf("%-46s %s", m.name, fmt.Sprint(strings.Join(got[:], " ")))
		})
	}
}

func firstLaterViolation(c class, off rules) report {
	budgets := laterShort()
	for _, name := range slices.SortedFunc(maps.Keys(budgets), cmp.Compare[string]) {
		if r := explore(c, off, budgets[name], stateLimit); r.bad != fine {
			return r
		}
	}
	return report{}
}
