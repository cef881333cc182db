package pass_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/internal/restfake"
	"github.com/restmapping/operator/pkg/rest"
)

// steppedMapping is of things that are deactivated, and then unlocked, before they can be deleted.
const steppedMapping = `
  identifiers: [{name: id, value: self.metadata.name}]
  operations:
    read: {path: "/things/{id}"}
    create: {method: PUT, path: "/things/{id}"}
    update: {method: PATCH, path: "/things/{id}"}
    delete:
      path: "/things/{id}"
      before:
      - {when: "observed.?state.orValue('ACTIVE') == 'ACTIVE'", method: PATCH, path: "/things/{id}", bodyExpression: "{'state': 'OFF'}"}
      - {when: "observed.?locked.orValue(true)", method: PATCH, path: "/things/{id}", bodyExpression: "{'locked': false}", headers: [{name: X-Step, value: "'unlock'"}]}
  fields: [{from: spec.size, to: size}]
`

func TestWhatMustComeBeforeTheDeleteIsSentOneByOne(t *testing.T) {
	t.Parallel()
	for _, restart := range []bool{false, true} {
		b := newBench(t, steppedMapping, upsertThings())
		b.settled("one", "{size: 3}")
		b.setSpec("one", "size", int64(99)) // a deletion does not depend on the spec
		b.delete("one")
		b.journal.take()
		var sent []string
		b.follow("one", func() bool {
			pass := b.journal.take()
			mutating := 0
			for _, line := range pass {
				if !strings.HasPrefix(line, "GET") && strings.Contains(line, "/things") {
					sent = append(sent, line)
					mutating++
				}
			}
			if mutating > 1 {
				b.Errorf("one pass sent %q", pass)
			}
			if restart && len(b.server.Live("/things")) > 0 {
				b.restart()
			}
			return b.gone("one")()
		})
		want := []string{"PATCH /things/one", "PATCH /things/one", "DELETE /things/one"}
		if !slices.Equal(sent, want) {
			b.Errorf("sent %q, want %q", sent, want)
		}
		b.wantLive(0)
	}
}

// A step that the server accepted and that cannot be seen yet is not sent over and over.
func TestAStepIsGivenItsTimeToShow(t *testing.T) {
	t.Parallel()
	b := newBench(t, steppedMapping, upsertThings())
	b.settled("one", "{size: 3}")
	b.delete("one")
	fault := restfake.Fault{HiddenFor: 5 * time.Second}
	b.server.fault(http.MethodPatch, fault)
	b.look("one")
	b.journal.take()
	for range 3 {
		b.advance(time.Second)
		b.look("one")
	}
	b.nothingSent()
	b.wantCondition("one", v1alpha1.ConditionReady, "Unknown Deleting")
	b.follow("one", b.gone("one"))
	b.wantLive(0)
}

func TestARefusedStepHoldsTheDeletion(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]string{
		409: "Unknown WaitingForServer", 423: "Unknown WaitingForServer", 400: "False RequestRejected", 403: "False Unauthorized", 500: "Unknown Deleting",
	} {
		b := newBench(t, steppedMapping, upsertThings())
		b.settled("one", "{size: 3}")
		b.delete("one")
		b.server.fault(http.MethodPatch, restfake.Reply(status, "application/json", `{"message":"not now"}`))
		b.look("one")
		b.wantCondition("one", v1alpha1.ConditionReady, want)
		b.wantMessage("one", v1alpha1.ConditionReady, "not now")
		b.wantLive(1)
		b.follow("one", b.gone("one"))
	}
}

func TestAStepThatCannotBeJudgedStopsTheDeletion(t *testing.T) {
	t.Parallel()
	b := newBench(t, strings.Replace(steppedMapping, "observed.?state.orValue('ACTIVE') == 'ACTIVE'", "observed.nothing.there", 1), upsertThings())
	b.settled("one", "{size: 3}")
	b.delete("one")
	b.look("one")
	b.wantCondition("one", v1alpha1.ConditionStalled, "True ExpressionFailed")
	b.nothingSent()
	b.wantLive(1)
}

// softMapping is of a server that keeps what was deleted, shows it, and keeps its name.
const softMapping = `
  identifiers: [{name: id, value: self.metadata.name}]
  operations:
    read: {path: "/things/{id}"}
    create: {path: "/things"}
    update: {method: PATCH, path: "/things/{id}"}
    delete: {method: PATCH, path: "/things/{id}", bodyExpression: "{'deleted_at': 'now'}"}
  fields: [{value: self.metadata.name, to: id, operations: [Create]}, {from: spec.size, to: size}]
  outcomes:
  - {operations: [Read], when: "response.status == 200 && response.body.?deleted_at.orValue(null) != null", outcome: Absent}
  - {operations: [Create], when: response.status == 409, outcome: Rejected, message: the name is reserved by an object that was deleted}
`

// What counts as gone counts for the look after the delete, and for the next resource of the name.
func TestASoftDeleteThatReservesTheName(t *testing.T) {
	t.Parallel()
	b := newBench(t, softMapping, uniqueThings())
	b.settled("one", "{size: 3}")
	b.delete("one")
	b.follow("one", b.gone("one"))
	if got, ok := b.server.Get("/things/one"); !ok || got.Fields["deleted_at"] != "now" {
		b.Fatalf("outside is %v", got)
	}
	b.create("one", "{size: 4}")
	b.edit("one", func(obj *unstructured.Unstructured) { obj.SetUID("uid-two") })
	b.look("one")
	b.wantCondition("one", v1alpha1.ConditionStalled, "True RequestRejected")
	b.wantMessage("one", v1alpha1.ConditionStalled, "reserved")
	if got, _ := b.server.Get("/things/one"); got.Fields["size"] != int64(3) {
		b.Errorf("what was deleted was changed: %v", got.Fields)
	}
	b.delete("one")
	b.follow("one", b.gone("one"))
	if n := b.server.Count(http.MethodPatch, ""); n != 1 {
		b.Errorf("what belongs to another was deleted: %d", n)
	}
}

// In use is waiting, whether the server says so by its status or in words.
func TestADeleteOfWhatIsInUseWaits(t *testing.T) {
	t.Parallel()
	const words = `
  outcomes: [{operations: [Delete], when: "response.status == 500 && toJSON(response.body).contains('in use')", outcome: Wait, message: something still uses it}]
`
	for _, status := range []int{409, 423, 500} {
		b := newBench(t, upsertMapping+words, upsertThings())
		b.settled("one", "{size: 3}")
		b.delete("one")
		b.server.AddRule(restfake.Rule{Method: http.MethodDelete, Times: 3, Fault: restfake.Reply(status, "application/json", `{"message":"it is in use"}`)})
		for range 3 {
			b.look("one")
			b.wantCondition("one", v1alpha1.ConditionReady, "Unknown WaitingForServer")
			b.advance(10 * time.Second)
		}
		b.wantLive(1)
		b.follow("one", b.gone("one"))
		b.wantLive(0)
	}
}

// The operation of a step is Delete, so that outcomes of Delete count for it.
func TestAStepIsPartOfTheDelete(t *testing.T) {
	t.Parallel()
	b := newBench(t, steppedMapping, upsertThings())
	b.settled("one", "{size: 3}")
	b.delete("one")
	var operations []rest.Operation
	b.server.instead = func(req rest.Request) *rest.Exchange {
		if req.Method == http.MethodPatch {
			operations = append(operations, req.Operation)
		}
		return nil
	}
	b.follow("one", b.gone("one"))
	if !slices.Equal(operations, []rest.Operation{rest.Delete, rest.Delete}) {
		b.Errorf("the steps were sent as %v", operations)
	}
}
