package restfake

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestRequestsAreRecorded(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	l := start(t, []Collection{{Path: "/orgs/{org}/x"}}, WithClock(func() time.Time { return now }))
	want(t, send(t, l, "POST", "/orgs/a%2Fb/x?q=1", `{"n":1}`), 201, "")
	want(t, send(t, l, "GET", "/orgs/a%2Fb/x/1", ""), 200, "")
	want(t, send(t, l, "GET", "/nowhere", ""), 404, "")
	records := l.Requests()
	if len(records) != 3 {
		t.Fatalf("%d records", len(records))
	}
	first := records[0]
	if first.Number != 1 || first.Method != http.MethodPost || first.Path != "/orgs/a%2Fb/x" || first.Query.Get("q") != "1" ||
		string(first.Body) != `{"n":1}` || !first.Time.Equal(now) || first.Route != "/orgs/{org}/x" || first.Status != 201 || !first.Committed {
		t.Errorf("record %+v", first)
	}
	if records[1].Route != "/orgs/{org}/x/{id}" || records[1].Committed || records[2].Route != "" || records[2].Status != 404 {
		t.Errorf("records %+v", records[1:])
	}
	wanted := map[string]int{"POST /orgs/{org}/x": 1, "GET /orgs/{org}/x/{id}": 1, "GET ": 1}
	if diff := cmp.Diff(wanted, l.Counts()); diff != "" {
		t.Error(diff)
	}
	if l.Count("", "") != 3 || l.Count("GET", "") != 2 || l.Count("", "/orgs/{org}/x") != 1 {
		t.Error("Count is wrong")
	}
	l.Forget()
	if l.Count("", "") != 0 || len(l.Requests()) != 0 || len(l.Live("")) != 1 {
		t.Error("Forget is wrong")
	}
	want(t, send(t, l, "GET", "/nowhere", ""), 404, "")
	if l.Requests()[0].Number != 4 {
		t.Error("the numbers start again")
	}
}

func TestCountersAloneForBenchmarks(t *testing.T) {
	t.Parallel()
	l := start(t, []Collection{{Path: "/x"}}, WithoutRecord())
	want(t, send(t, l, "GET", "/x", ""), 200, "")
	if len(l.Requests()) != 0 || l.Count("GET", "/x") != 1 {
		t.Error("recorded")
	}
}

func TestOnCommitSeesEveryChangeInOrder(t *testing.T) {
	t.Parallel()
	l := start(t, []Collection{{Path: "/x"}})
	type seen struct {
		Change  Change
		Path    string
		A       any
		Before  any
		Request int
	}
	var commits []seen
	l.OnCommit(func(c Commit) {
		number := 0
		if c.Request != nil {
			number = c.Request.Number
		}
		commits = append(commits, seen{c.Change, c.Object.Path, c.Object.Fields["a"], c.Before["a"], number})
	})
	want(t, send(t, l, "POST", "/x", `{"a":1}`), 201, "")
	want(t, send(t, l, "GET", "/x", ``), 200, "")
	want(t, send(t, l, "PATCH", "/x/1", `{"a":2}`), 200, "")
	if err := l.Change("/x/1", func(fields map[string]any) { fields["a"] = int64(3) }); err != nil {
		t.Fatal(err)
	}
	want(t, send(t, l, "DELETE", "/x/1", ``), 204, "")
	if _, err := l.Insert("/x", map[string]any{"a": "in"}); err != nil {
		t.Fatal(err)
	}
	if err := l.Remove("/x/2"); err != nil {
		t.Fatal(err)
	}
	wanted := []seen{
		{Created, "/x/1", int64(1), nil, 1},
		{Updated, "/x/1", int64(2), int64(1), 3},
		{Updated, "/x/1", int64(3), int64(2), 0},
		{Deleted, "/x/1", int64(3), int64(3), 4},
		{Created, "/x/2", "in", nil, 0},
		{Deleted, "/x/2", "in", "in", 0},
	}
	if diff := cmp.Diff(wanted, commits); diff != "" {
		t.Error(diff)
	}
}

func TestDuplicatesAreSeenAtCommitTime(t *testing.T) {
	t.Parallel()
	l := start(t, []Collection{{Path: "/x", DuplicateKey: "owner"}, {Path: "/y", DuplicateKey: "owner"}})
	post := func(path, body string) {
		t.Helper()
		want(t, send(t, l, "POST", path, body), 201, "")
	}
	post("/x", `{"owner":"a"}`)
	post("/x", `{"owner":"b"}`)
	post("/x", `{}`)
	post("/x", `{}`)
	post("/y", `{"owner":"a"}`)
	if got := l.Duplicates(); len(got) != 0 {
		t.Fatalf("duplicates %+v", got)
	}
	post("/x", `{"owner":"a"}`)
	want(t, send(t, l, "DELETE", "/x/5", ""), 204, "")
	got := l.Duplicates()
	if len(got) != 1 || got[0].Key != "a" || got[0].Collection != "/x" || got[0].Request != 6 {
		t.Fatalf("a duplicate that is gone must not be forgotten: %+v", got)
	}
	if diff := cmp.Diff([]string{"/x/1", "/x/5"}, got[0].Paths); diff != "" {
		t.Error(diff)
	}
	post("/x", `{"owner":"c"}`)
	want(t, send(t, l, "PATCH", "/x/6", `{"owner":"b"}`), 200, "")
	want(t, send(t, l, "DELETE", "/x/1", ""), 204, "")
	post("/x", `{"owner":"a"}`)
	if got := l.Duplicates(); len(got) != 2 || got[1].Key != "b" {
		t.Errorf("duplicates %+v", got)
	}
}

func TestChangesBehindTheBackNeedAnObject(t *testing.T) {
	t.Parallel()
	l := start(t, []Collection{{Path: "/x"}})
	_, err := l.Insert("/y", nil)
	for name, err := range map[string]error{
		"insert": err, "change": l.Change("/x/1", func(map[string]any) {}), "remove": l.Remove("/x"),
	} {
		if !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, ok := l.Get("/x/1"); ok {
		t.Error("an object from nowhere")
	}
}

func TestWhatIsHandedOutIsACopy(t *testing.T) {
	t.Parallel()
	l := start(t, []Collection{{Path: "/x"}})
	given := map[string]any{"a": map[string]any{"b": []any{int64(1)}}}
	object, err := l.Insert("/x", given)
	if err != nil {
		t.Fatal(err)
	}
	given["a"], object.Fields["a"] = 1, 2
	live := l.Live("/x")[0].Fields["a"].(map[string]any)
	live["b"].([]any)[0] = 3
	want(t, send(t, l, "GET", "/x/1", ""), 200, `{"a":{"b":[1]},"id":1}`)
}

func TestAnAddressThatIsTaken(t *testing.T) {
	t.Parallel()
	l := start(t, nil)
	if second, err := Start(t.Context(), l.URL[len("http://"):], New(nil)); err == nil {
		second.Close()
		t.Error("two servers on one address")
	}
	l.Close()
	l.Close()
}
