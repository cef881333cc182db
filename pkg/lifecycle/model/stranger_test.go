package model

import (
	"strings"
	"testing"

	"github.com/restmapping/operator/api/v1alpha1"
)

// withStranger is a world in which somebody else made an object with the same key just before, so that reads may not
// show it yet.
func withStranger(left budget) world {
	w := world{left: left}
	w.objects[0] = object{live: true, fuzzy: true, alien: true, gen: 99}
	return w
}

// TestWhatTheServerSaysIsSomebodyElsesIsLeftAlone (I4): the server says that the key is taken, and what is there is not
// what was sent: it is left alone, and so it is when the custom resource is deleted. So it is when the answer "it is taken"
// never reaches the record, because it was lost or the process was killed.
func TestWhatTheServerSaysIsSomebodyElsesIsLeftAlone(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		left budget
		want bad
	}{
		"nothing else happens":       {budget{}, fine},
		"the server refuses":         {budget{refusals: 1}, fine},
		"a read fails":               {budget{readFaults: 1}, fine},
		"the custom resource edited": {budget{edits: 1}, fine},
		"the process is killed":      {budget{kills: 1}, fine},
		"the answer is lost":         {budget{losses: 1}, fine},
	} {
		for _, c := range classes() {
			if c.safety != v1alpha1.SafetyUniqueKey {
				continue
			}
			t.Run(c.name+", "+name, func(t *testing.T) {
				t.Parallel()
				if r := exploreFrom(c, rules{}, withStranger(tc.left), stateLimit); r.bad != tc.want {
					t.Errorf("got %s, want %s\n\t%s", r.bad, tc.want, strings.Join(r.trace, "\n\t"))
				}
			})
		}
	}
}
