//go:build cluster

package operator_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/restmapping/operator/internal/lab"
	"github.com/restmapping/operator/internal/restfake"
)

// laterMapping is of a kind whose changes the server only accepts and makes later.
const laterMapping = `
  identifiers: [{name: id, assigned: "operation.body.?resource.?id.orValue(operation.body.?id)"}]
  operations:
    read: {path: "/things/{id}"}
    list: {path: "/things", match: item.owner == self.metadata.uid}
    create: {path: "/things", async: &async {interval: 500ms, done: operation.body.status == 'Success', failed: operation.body.status == 'Failure', message: operation.body.error}}
    update: {method: PATCH, path: "/things/{id}", async: *async}
    delete: {path: "/things/{id}", async: *async}
  fields:
  - {value: self.metadata.uid, to: owner, operations: [Create]}
  - {from: spec.size, to: size}
  sync: {interval: 2s, consistencyWindow: 1s, serverSlack: 1s}
`

// TestAnOperationIsFollowedAcrossARestart: what the server has accepted is written down, shown, and followed by the next
// process; nothing is sent twice.
func TestAnOperationIsFollowedAcrossARestart(t *testing.T) {
	l := lab.New(t)
	server := l.NewServer([]restfake.Collection{{Path: "/things", DuplicateKey: "owner", Later: &restfake.Later{After: 3 * time.Second, ForgetAfter: time.Minute}}})
	kind := l.NewKind("")
	kind.Endpoint(server.URL, "  timeout: 2s")
	kind.Mapping(laterMapping)
	kind.Create("one", "{size: 3}")
	kind.Condition("one", "Reconciling", "True", "WaitingForOperation")
	if text := kind.Get("one").GetAnnotations()[record]; !strings.Contains(text, `"url":"/operations/op-1"`) {
		t.Errorf("the record is %s", text)
	}
	l.Stop()
	l.Start()
	kind.Ready("one")
	if n := server.Count("POST", ""); n != 1 || len(server.Duplicates()) > 0 {
		t.Errorf("%d creates were sent", n)
	}
	kind.Patch("one", `{"spec":{"size":4}}`)
	kind.Condition("one", "Reconciling", "True", "WaitingForOperation")
	l.Stop()
	l.Start()
	kind.Ready("one")
	if got, _ := server.Get("/things/1"); lab.Int(got.Fields["size"]) != 4 {
		t.Errorf("the size outside is %v", got.Fields["size"])
	}
	kind.Delete("one")
	l.Eventually("the delete is accepted", func() string {
		if n := server.Count("DELETE", ""); n == 0 {
			return fmt.Sprint(server.Counts())
		}
		return ""
	})
	l.Stop()
	l.Start()
	kind.Gone("one")
	if live := server.Live("/things"); len(live) != 0 || server.Running() > 0 {
		t.Errorf("left outside: %v", live)
	}
}

// TestAFailedOperationShowsTheServersWords, and a deletion right after it leaves nothing.
func TestAFailedOperationShowsTheServersWords(t *testing.T) {
	l := lab.New(t)
	server := l.NewServer([]restfake.Collection{{Path: "/things", Later: &restfake.Later{After: time.Second}}})
	server.FailNext(restfake.Failure{Message: "no room left"}, restfake.Failure{Message: "no room left"}, restfake.Failure{Message: "no room left"})
	kind := l.NewKind("")
	kind.Endpoint(server.URL, "  timeout: 2s")
	kind.Mapping(laterMapping)
	kind.Create("one", "{size: 3}")
	l.Eventually("the failure is shown", func() string {
		if text := kind.Status("one"); !strings.Contains(text, "no room left") {
			return text
		}
		return ""
	})
	kind.Ready("one")
	kind.Delete("one")
	kind.Gone("one")
	if live := server.Live("/things"); len(live) != 0 {
		t.Errorf("left outside: %v", live)
	}
}
