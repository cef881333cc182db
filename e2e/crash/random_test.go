//go:build crash

package crash_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/restmapping/operator/internal/restfake"
)

// TestKilledAtRandomMoments kills the operator again and again while 60 custom resources are created, changed and
// deleted, and expects that each has exactly one object in the end, and none after its deletion.
func TestKilledAtRandomMoments(t *testing.T) {
	s := newScene(t)
	s.server.set(latency)
	c := newChurn(s, seed(t), 12)
	n := kills(t)
	for i := range n {
		s.start()
		c.during(time.Duration(c.random.IntN(2500))*time.Millisecond, 20*time.Millisecond)
		s.problems(true) // people answer while it goes on
		s.kill()
		if i%50 == 49 {
			s.server.Forget()
			t.Logf("%d kills", i+1)
		}
		if t.Failed() || len(s.server.broken()) > 0 {
			break
		}
	}
	s.start()
	s.rest("after the last kill")
	s.deleteAll("deleted after the last kill")
	s.report("killed at random moments")
	t.Logf("steps %d, answers of a person: %s", c.steps, s.person.answered())
}

// latency is that of a server nearby.
func latency(*restfake.Request) restfake.Fault {
	return restfake.Delay(time.Duration(5+rand.IntN(15)) * time.Millisecond)
}
