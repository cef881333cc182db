package pass_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/lifecycle"
	"github.com/restmapping/operator/pkg/rest"
)

// What is wrong here is not the server but the mapping, or what was believed of the server. None of it may make one
// object after another, take somebody else's, or lose ours.

// looks makes looks with half a minute between them.
func (b *bench) looks(name string, n int) {
	b.Helper()
	for range n {
		b.look(name)
		b.advance(30 * time.Second)
	}
}

// blindRead makes every read answer 404, as a wrong path does.
func (b *bench) blindRead() {
	b.server.instead = func(req rest.Request) *rest.Exchange {
		if req.Operation != rest.Read {
			return nil
		}
		return &rest.Exchange{Response: &rest.Response{Status: http.StatusNotFound}}
	}
}

func (b *bench) seeingRead() { b.server.instead = func(rest.Request) *rest.Exchange { return nil } }

func TestAWrongReadPathMakesOneObjectAtMost(t *testing.T) {
	t.Parallel()
	eachClass(t, func(b *bench, _ class) {
		b.blindRead()
		b.create("one", "{size: 3}")
		b.looks("one", 20)
		b.restart()
		b.looks("one", 20)
		b.wantLive(1)
		if text := conditionText(b.obj("one"), v1alpha1.ConditionReady); strings.HasPrefix(text, "True") {
			b.Errorf("Ready is %s", text)
		}
		b.seeingRead()
		b.follow("one", b.is("one", v1alpha1.ConditionReady, "True Available"))
		b.wantLive(1)
	})
}

// The answer to a create shows the object, and says nothing about the path of the read.
func TestAWrongReadPathBehindAnAnsweredCreateMakesOneObject(t *testing.T) {
	t.Parallel()
	mapping := strings.Replace(noneMapping, `create: {path: "/things"}`, `create: {path: "/things", select: response.body}`, 1)
	b := newBench(t, mapping, classes()["None"].collection())
	b.blindRead()
	b.create("one", "{size: 3}")
	for range 10 {
		b.looks("one", 3)
		b.advance(10 * time.Minute)
	}
	b.wantLive(1)
	b.wantMessage("one", v1alpha1.ConditionReady, "check path and query of operations.read")
	b.seeingRead()
	b.follow("one", b.is("one", v1alpha1.ConditionReady, "True Available"))
	b.wantLive(1)
}

func TestAReadThatGoesBlindDoesNotLoseWhatIsOurs(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Upsert", "UniqueKey", "Marker", "UniqueKey with an id of the server"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := classes()[name]
			b := newBench(t, c.mapping, c.collection())
			b.settled("one", "{size: 3}")
			b.blindRead()
			b.looks("one", 10)
			if got := b.record("one").Phase; got != lifecycle.PhaseCreated {
				b.Errorf("the record says %s", got)
			}
			b.seeingRead()
			b.follow("one", b.is("one", v1alpha1.ConditionReady, "True Available"))
			b.wantLive(1)
			b.delete("one")
			b.follow("one", b.gone("one"))
			b.wantLive(0)
		})
	}
}

func TestAnIdentifierGivenToAnotherObjectIsNotOurs(t *testing.T) {
	t.Parallel()
	c := classes()["Marker"]
	b := newBench(t, c.mapping, c.collection())
	b.settled("one", "{size: 3}")
	b.advance(time.Hour)
	if err := b.server.Change("/things/1", func(f map[string]any) { f["owner"], f["size"] = "somebody else", 9 }); err != nil {
		b.Fatal(err)
	}
	b.journal.take()
	b.looks("one", 3)
	b.nothingSent()
	b.wantCondition("one", v1alpha1.ConditionStalled, "True NotAdoptable")
	b.wantMessage("one", v1alpha1.ConditionStalled, "does not carry this custom resource's mark")
	b.delete("one")
	b.looks("one", 3)
	b.nothingSent()
	b.wantLive(1)
}

func TestAnObjectThatMovesToAnotherIdentifierIsFollowed(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Marker", "UniqueKey with an id of the server"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := classes()[name]
			b := newBench(t, c.mapping, c.collection())
			b.settled("one", "{size: 3}")
			b.advance(time.Hour)
			old, _ := b.server.Get("/things/1")
			if err := b.server.Remove("/things/1"); err != nil {
				b.Fatal(err)
			}
			delete(old.Fields, "id")
			if _, err := b.server.Insert("/things", old.Fields); err != nil {
				b.Fatal(err)
			}
			b.journal.take()
			b.looks("one", 3)
			b.nothingSent()
			b.wantCondition("one", v1alpha1.ConditionReady, "True Available")
			if got := b.record("one").Identifiers["id"]; got == "1" || got != b.status("one")["identifiers"].(map[string]any)["id"] {
				b.Errorf("the record names %q, the status %v", got, b.status("one")["identifiers"])
			}
			b.delete("one")
			b.follow("one", b.gone("one"))
			b.wantLive(0)
		})
	}
}

func TestADeleteWhoseAnswersAreAllLostEnds(t *testing.T) {
	t.Parallel()
	eachClass(t, func(b *bench, _ class) {
		b.settled("one", "{size: 3}")
		b.advance(time.Hour)
		b.delete("one")
		b.server.instead = func(req rest.Request) *rest.Exchange {
			if req.Operation != rest.Delete {
				return nil
			}
			_ = b.server.Remove(req.Path)
			return &rest.Exchange{Failure: &rest.Failure{Kind: rest.Broken, Message: "the answer was lost"}}
		}
		b.follow("one", b.gone("one"))
		b.wantLive(0)
	})
}

// With the parent gone, the list of its children cannot be asked; that must not hold a deletion up for ever.
func TestAParentThatIsGoneTakesItsChildrenAlong(t *testing.T) {
	t.Parallel()
	c := classes()["Marker"]
	b := newBench(t, c.mapping, c.collection())
	b.settled("one", "{size: 3}")
	b.advance(time.Hour)
	if err := b.server.Remove("/things/1"); err != nil {
		b.Fatal(err)
	}
	b.server.instead = func(req rest.Request) *rest.Exchange {
		if req.Operation == rest.Probe {
			return nil
		}
		return &rest.Exchange{Response: &rest.Response{Status: http.StatusNotFound}}
	}
	b.delete("one")
	b.follow("one", b.gone("one"))
}
