package pass_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/restmapping/operator/api/v1alpha1"
)

// crash is what a process that is killed does next.
type crash struct{}

// killAt ends the process just before the nth thing that it writes or sends, and starts another.
func (b *bench) killAt(n int) {
	count := func(string) {
		if n--; n == 0 {
			panic(crash{})
		}
	}
	b.server.before = count
	b.store.before = func(line string) error {
		count(line)
		return nil
	}
}

// survive makes passes with whatever the process does and however often it ends, until done says so.
func (b *bench) survive(name string, done func() bool) {
	b.Helper()
	for range 60 {
		b.lookOrDie(name)
		if done() {
			return
		}
		b.advance(7 * time.Second)
	}
	b.Fatalf("no end; so far: %q", b.journal.take())
}

func (b *bench) lookOrDie(name string) {
	defer func() {
		if end := recover(); end != nil {
			if _, killed := end.(crash); !killed {
				panic(end)
			}
			b.restart()
		}
	}()
	b.look(name)
}

// Whichever instant the process ends at, each part is there once in the end, and none is left after the deletion.
func TestPartsSurviveAKillAtEveryInstant(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 24; n++ {
		t.Run(fmt.Sprint("before action ", n), func(t *testing.T) {
			t.Parallel()
			b := newTeamsBench(t)
			b.create("one", "{size: 3, teams: [{name: dev, role: write}, {name: ops, role: admin}]}")
			b.killAt(n)
			b.survive("one", b.is("one", v1alpha1.ConditionReady, "True Available"))
			b.wantTeams("dev=write", "ops=admin")
			b.killAt(n)
			b.setSpec("one", "teams", []any{team("ops", "read"), team("qa", "read")})
			b.lookOrDie("one")
			b.survive("one", b.is("one", v1alpha1.ConditionReady, "True Available"))
			b.wantTeams("ops=read", "qa=read")
			b.killAt(n)
			b.delete("one")
			b.survive("one", b.gone("one"))
			b.wantTeams()
			b.wantLive(0)
		})
	}
}
