package model

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"testing"
)

// replacing are the combinations of faults with an edit that only a new object can answer.
func replacing() map[string]budget {
	return map[string]budget{
		"an edit":                     {kills: 1, losses: 1, edits: 1},
		"two edits":                   {kills: 1, edits: 2},
		"two kills":                   {kills: 2, edits: 1},
		"edited and removed":          {kills: 1, edits: 1, removals: 1},
		"a refusal":                   {kills: 1, refusals: 1, edits: 1},
		"a delete that is not done":   {kills: 1, undone: 1, edits: 1},
		"a stale cache":               {kills: 1, stale: 1, edits: 1},
		"a failing read":              {kills: 1, readFaults: 1, edits: 1},
		"a lost scope":                {kills: 1, blackouts: 1, edits: 1},
		"a frozen process taken over": {splits: 1, edits: 1},
	}
}

func replacingClasses() []class {
	all := classes()
	for i := range all {
		all[i].replaces = true
	}
	return all
}

// TestAReplacedObjectIsNeverDoubledAndNeverLeft: the old object and the new one are never there at once, none is left
// behind, and no world is stuck on the way from one to the other.
func TestAReplacedObjectIsNeverDoubledAndNeverLeft(t *testing.T) {
	t.Parallel()
	for _, c := range replacingClasses() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			states := 0
			for _, name := range slices.SortedFunc(maps.Keys(replacing()), cmp.Compare[string]) {
				r := explore(c, rules{}, replacing()[name], stateLimit)
				states += r.states
				if r.bad != fine {
					t.Errorf("%s: %s after\n\t%s", name, r.bad, strings.Join(r.trace, "\n\t"))
				}
				if r.stuck > 0 {
					t.Errorf("%s: %d of %d states are stuck, the first after\n\t%s", name, r.stuck, r.states, strings.Join(r.stuckTrace, "\n\t"))
				}
			}
			t.Logf("%-18s %8d states", c.name, states)
		})
	}
}

func TestEachRuleOfReplacingIsNeeded(t *testing.T) {
	t.Parallel()
	for name, off := range map[string]rules{
		"the delete is verified":                           {replaceUnverified: true},
		"the record holds the old object until it is gone": {replaceUnrecorded: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, c := range replacingClasses() {
				found := fine
				for _, left := range []budget{{edits: 1, undone: 1}, {edits: 1, kills: 1}} {
					if r := explore(c, off, left, stateLimit); r.bad != fine {
						found = r.bad
					}
				}
				if found == fine {
					t.Errorf("without the rule nothing goes wrong for %s", c.name)
				}
			}
		})
	}
}
