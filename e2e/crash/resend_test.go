//go:build crash

package crash_test

import (
	"fmt"
	"slices"
	"testing"
)

// TestKilledWhileACreateIsSentAgain ends the operator with the answer to a create lost, and then, twice, around the request
// that sends it again with its idempotency key. Nobody is asked, and there is one object.
func TestKilledWhileACreateIsSentAgain(t *testing.T) {
	all := classes()
	keyed := all[slices.IndexFunc(all, func(c class) bool { return c.kind == "Keyed" })]
	for row, points := range [][]string{
		{"after-intent-before-send", "before-resend"},
		{"after-intent-before-send", "after-resend-before-record"},
		{"after-send-before-record", "before-resend", "after-resend-before-record"},
		{"after-send-before-record", "after-resend-before-record", "after-resend-before-record"},
	} {
		t.Run(fmt.Sprint(points), func(t *testing.T) {
			s := newScene(t)
			s.start()
			s.kill()
			for i, point := range points {
				s.start("RESTMAPPING_CRASH_AT="+point+":1", "RESTMAPPING_CRASH_HOLD=true")
				if i == 0 {
					s.create(keyed, fmt.Sprintf("object-%d", row), 1)
				}
				if !s.killed(arrival) {
					t.Fatalf("it did not come to %s: %v", point, s.problems(false))
				}
			}
			s.start()
			s.rest("after the kills")
			s.deleteAll("deleted")
			if len(s.person.answers) > 0 {
				t.Errorf("a person was asked: %s", s.person.answered())
			}
			s.report("killed while a create is sent again")
		})
	}
}
