package model

import (
	"flag"
	"strings"
	"testing"
)

var long = flag.Bool("model.long", false, "explore the longer combinations of faults")

// stateLimit bounds the memory that an exploration takes.
const stateLimit = 12_000_000

// short are the combinations of faults that every run explores completely. Together they hold each fault with a kill,
// and each pair that has led to something.
func short() map[string]budget {
	return map[string]budget{
		"two kills":                     {kills: 2, losses: 1},
		"two lost answers":              {kills: 1, losses: 2},
		"somebody removes the object":   {kills: 1, losses: 1, removals: 1},
		"a refusal":                     {kills: 1, losses: 1, refusals: 1},
		"an edit":                       {kills: 1, losses: 1, edits: 1},
		"a stale cache":                 {kills: 1, losses: 1, stale: 1},
		"a lost scope":                  {kills: 1, losses: 1, removals: 1, blackouts: 1},
		"a delete that is not done":     {losses: 1, readFaults: 1, undone: 1},
		"a failing read":                {kills: 1, losses: 1, readFaults: 1},
		"a frozen process taken over":   {splits: 1, losses: 1},
		"edited and removed":            {kills: 1, edits: 1, removals: 1},
		"taken over, removed meanwhile": {splits: 1, removals: 1},
		"a forged record":               {kills: 1, losses: 1, forgeries: 1},
		"somebody else takes the key":   {kills: 1, losses: 1, strangers: 1},
		"removed, the key taken":        {kills: 1, removals: 1, strangers: 1},
		"a listing that misses":         {kills: 1, losses: 1, misses: 1},
	}
}

// longer are explored with -model.long.
func longer() map[string]budget {
	return map[string]budget{
		"two kills, two lost answers":        {kills: 2, losses: 2},
		"two kills, removed, stale":          {kills: 2, losses: 1, removals: 1, stale: 1},
		"two kills, edited, removed":         {kills: 2, losses: 1, edits: 1, removals: 1},
		"edited, removed, refused":           {kills: 1, losses: 2, edits: 1, removals: 1, refusals: 1},
		"taken over, and one is killed":      {splits: 1, kills: 1, losses: 1},
		"taken over, edited":                 {splits: 1, losses: 1, edits: 1},
		"lost scope, failing reads, removed": {kills: 1, losses: 1, removals: 1, blackouts: 1, readFaults: 1},
	}
}

// TestTheObjectIsNeverDoubledAndNeverLeft explores every interleaving. It checks, in each world that can be reached, that
// there is at most one object outside (I1); that there is none, and none can come to be, once the custom resource is
// gone (I2); that a create which the server would do twice is only sent when nothing is outside or under way (I3); that
// nobody waits for an operation which is not written down, and nothing is deleted while others refer to it; and that from
// every world, without any further fault, a world can be reached in which all is well (no stuck state).
func TestTheObjectIsNeverDoubledAndNeverLeft(t *testing.T) {
	t.Parallel()
	for _, f := range families(*long) {
		for _, c := range f.classes {
			t.Run(f.name+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				sum := count{family: f.name, class: c.name}
				for _, name := range form(f.names()) {
					r := exploreFrom(c, rules{}, f.begin[name], stateLimit)
					sum.add(r)
					if r.bad != fine {
						t.Errorf("%s: %s after\n\t%s", name, r.bad, strings.Join(r.trace, "\n\t"))
					}
					if r.stuck > 0 {
						t.Errorf("%s: %d of %d states are stuck, the first after\n\t%s", name, r.stuck, r.states, strings.Join(r.stuckTrace, "\n\t"))
					}
				}
				explored.note(sum)
			})
		}
	}
}

func (b bad) String() string {
	return [...]string{"ok", "duplicate", "leak", "duplicate", "stranger", "orphaned", "taken", "unrecorded"}[b]
}
