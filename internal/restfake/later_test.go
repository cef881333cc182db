package restfake

import (
	"testing"
	"time"
)

func TestAChangeThatIsDoneLaterShowsInItsOperation(t *testing.T) {
	t.Parallel()
	l := start(t, []Collection{{Path: "/things", IDs: Chosen, Later: &Later{Polls: 1, ForgetAfter: time.Hour}}})
	accepted := send(t, l, "POST", "/things", `{"id":"a"}`)
	want(t, accepted, 202, "")
	if location := accepted.header.Get("Location"); location != "/operations/op-1" {
		t.Errorf("Location %q", location)
	}
	if len(l.Live("")) != 0 || l.Running() != 1 {
		t.Error("it was done at once")
	}
	want(t, send(t, l, "GET", "/operations/op-1", ""), 200, `{"id":"op-1","status":"Running"}`)
	want(t, send(t, l, "GET", "/operations/op-1", ""), 200, `{"id":"op-1","resource":{"id":"a"},"status":"Success"}`)
	if len(l.Live("")) != 1 || l.Running() != 0 {
		t.Error("it was not done")
	}
	want(t, send(t, l, "POST", "/things", `{"id":"a"}`), 202, "")
	l.FinishOperations()
	want(t, send(t, l, "GET", "/operations/op-2", ""), 200, `{"code":409,"error":"already exists","id":"op-2","status":"Failure"}`)
	l.ForgetOperations()
	want(t, send(t, l, "GET", "/operations/op-1", ""), 404, "")
}

func TestTimeEndsAnOperationAndForgetsIt(t *testing.T) {
	t.Parallel()
	now := time.Now()
	l := start(t, []Collection{{Path: "/things", Later: &Later{After: time.Minute, ForgetAfter: time.Second, RetryAfter: "7"}}}, WithClock(func() time.Time { return now }))
	want(t, send(t, l, "POST", "/things", `{}`), 202, "")
	running := send(t, l, "GET", "/operations/op-1", "")
	if running.header.Get("Retry-After") != "7" || len(l.Live("")) != 0 {
		t.Errorf("while it runs: %v", running)
	}
	now = now.Add(time.Minute)
	if len(l.Live("")) != 1 {
		t.Error("time did not end it")
	}
	now = now.Add(time.Second)
	want(t, send(t, l, "GET", "/operations/op-1", ""), 404, "")
}

func TestAnOperationFailsAsItIsTold(t *testing.T) {
	t.Parallel()
	l := start(t, []Collection{{Path: "/things", Later: &Later{}}})
	l.FailNext(Failure{Message: "no room"}, Failure{Message: "half", Half: true})
	want(t, send(t, l, "POST", "/things", `{}`), 202, "")
	want(t, send(t, l, "POST", "/things", `{}`), 202, "")
	want(t, send(t, l, "GET", "/operations/op-1", ""), 200, `{"code":400,"error":"no room","id":"op-1","status":"Failure"}`)
	want(t, send(t, l, "GET", "/operations/op-2", ""), 200, `{"code":400,"error":"half","id":"op-2","status":"Failure"}`)
	if len(l.Live("")) != 1 {
		t.Errorf("outside there is %v", l.Live(""))
	}
}
