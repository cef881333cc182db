package pass_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/rest"
)

const guardedMapping = `
  identifiers: [{name: id, value: self.metadata.name}]
  operations:
    read: {path: "/things/{id}"}
    create: {method: PUT, path: "/things/{id}"}
    update: {method: PUT, path: "/things/{id}", headers: [{name: If-Match, value: "observedHeaders.?etag"}]}
    delete: {path: "/things/{id}"}
  fields: [{from: spec.size, to: size}]
`

// TestAnUpdateIsMadeForTheVersionThatWasRead: the first update meets a version that has moved on, and the look that
// follows brings the new one.
func TestAnUpdateIsMadeForTheVersionThatWasRead(t *testing.T) {
	t.Parallel()
	b := newBench(t, guardedMapping, upsertThings())
	b.settled("one", "{size: 3}")
	b.advance(time.Hour)
	version := "v1"
	var sent []rest.Parameter
	b.server.instead = func(req rest.Request) *rest.Exchange {
		if req.Operation == rest.Update {
			sent = append(sent, req.Headers...)
			if len(sent) == 1 {
				version = "v2"
				return &rest.Exchange{Response: &rest.Response{Status: http.StatusPreconditionFailed}}
			}
		}
		x := b.server.client.Do(b.Context(), req)
		if x.Response != nil {
			x.Response.Headers["etag"] = version
		}
		return &x
	}
	b.setSpec("one", "size", int64(4))
	b.follow("one", b.is("one", v1alpha1.ConditionSynced, "True InSync"))
	want := []rest.Parameter{{Name: "If-Match", Value: "v1"}, {Name: "If-Match", Value: "v2"}}
	if diff := cmp.Diff(want, sent); diff != "" {
		t.Errorf("preconditions (-want +got):\n%s", diff)
	}
}
