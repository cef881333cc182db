package mapping

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/rest"
)

// guarded sends the version of the object that was read with every change of it.
func guarded(s *v1alpha1.RestMappingSpec) {
	s.Operations.Update.Headers = parameters("If-Match", "observedHeaders.?etag")
	s.Operations.Update.BodyExpression = "merge(changed, {'rev': observedHeaders[?'x-rev'].orValue('none')})"
	s.Operations.Delete.Headers = parameters("If-Match", "observedHeaders.?etag")
	s.Operations.Delete.Query = parameters("rev", "observedHeaders[?'x-rev']")
}

const guardedObject = `{"description":"other","tags":["a","b"]}`

func TestChangesCarryTheHeadersOfWhatWasRead(t *testing.T) {
	t.Parallel()
	s := widgetPass(t, compiled(t, guarded), widgetSelf)
	for _, version := range []string{"v1", "v2"} { // the newest counts
		observed, present, err := s.Select(t.Context(), rest.Read, jsonResponse(t, 200, guardedObject, "etag", version, "x-rev", "7"))
		if err != nil || !present {
			t.Fatalf("Select: %v, %v", present, err)
		}
		want := []rest.Parameter{{Name: "If-Match", Value: version}}
		update, err := s.UpdateRequest(t.Context(), observed)
		noError(t, err)
		if diff := cmp.Diff(want, update.Headers); diff != "" || string(update.Body) != `{"description":"first","rev":"7"}` {
			t.Errorf("update: body %s, headers -want +got:\n%s", update.Body, diff)
		}
		remove, err := s.DeleteRequest(t.Context(), observed)
		noError(t, err)
		if diff := cmp.Diff(want, remove.Headers); diff != "" || len(remove.Query) != 1 || remove.Query[0].Value != "7" {
			t.Errorf("delete: query %v, headers -want +got:\n%s", remove.Query, diff)
		}
	}
}

// TestWithoutAnObjectThereIsNoPrecondition: a delete that was not preceded by a look, and an object out of a list, whose
// headers say nothing about it.
func TestWithoutAnObjectThereIsNoPrecondition(t *testing.T) {
	t.Parallel()
	p := compiled(t, guarded)
	s := widgetPass(t, p, widgetSelf)
	_, _, err := s.Select(t.Context(), rest.Read, jsonResponse(t, 200, guardedObject, "etag", "old"))
	noError(t, err)
	remove, err := s.DeleteRequest(t.Context(), nil)
	noError(t, err)
	if remove.Headers != nil || remove.Query != nil {
		t.Errorf("a delete without an object sends %v %v", remove.Headers, remove.Query)
	}
	update, err := widgetPass(t, p, widgetSelf).UpdateRequest(t.Context(), object(t, guardedObject))
	noError(t, err)
	if update.Headers != nil || string(update.Body) != `{"description":"first","rev":"none"}` {
		t.Errorf("an object that was not read: %v %s", update.Headers, update.Body)
	}
}

func TestAResponseWithoutAnObjectLeavesTheHeaders(t *testing.T) {
	t.Parallel()
	s := widgetPass(t, compiled(t, guarded), widgetSelf)
	observed, _, err := s.Select(t.Context(), rest.Read, jsonResponse(t, 200, guardedObject, "etag", "v1"))
	noError(t, err)
	if _, present, err := s.Select(t.Context(), rest.Read, jsonResponse(t, 200, `[]`, "etag", "v2")); present || err == nil {
		t.Fatalf("a list is no object: %v, %v", present, err)
	}
	update, err := s.UpdateRequest(t.Context(), observed)
	noError(t, err)
	if diff := cmp.Diff([]rest.Parameter{{Name: "If-Match", Value: "v1"}}, update.Headers); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestHeadersAreNotThereBeforeAnObjectIs(t *testing.T) {
	t.Parallel()
	got := compileErrors(t, widgetTarget(t), func(s *v1alpha1.RestMappingSpec) {
		s.Operations.Create.Headers = parameters("If-Match", "observedHeaders.?etag")
	})
	wantOneError(t, got, "spec.operations.create.headers[0].value", "observedHeaders")
}
