//go:build cluster

package operator_test

import (
	"fmt"
	"net"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/restmapping/operator/internal/lab"
	"github.com/restmapping/operator/internal/restfake"
)

// token is the credential of every endpoint here. It is sent in the query, where it is easiest to show by mistake.
const token = "s3cr3t-t0ken-value"

const tokenAuth = `  timeout: 2s
  auth: {apiKey: {in: Query, name: key, valueRef: {name: token, key: value}}}`

var (
	upsertThings = restfake.Collection{Path: "/things", IDs: restfake.Chosen, Upsert: true}
	uniqueThings = restfake.Collection{Path: "/things", IDs: restfake.Chosen}
	markedThings = restfake.Collection{Path: "/things", DuplicateKey: "note"}
)

// badAnswer is a server that misbehaves before anything was made.
type badAnswer struct {
	mapping    string
	collection restfake.Collection
	method     string
	path       string
	fault      restfake.Fault
	// reason is that of Ready, stalled whether a person must act, says what the message tells.
	reason  string
	stalled bool
	says    []string
	// status is that of lastError, operation its operation; empty for none.
	status    int
	operation string
	// writes is how many creates may be sent while the server misbehaves.
	writes int
}

func badReads() map[string]badAnswer {
	read := func(fault restfake.Fault, reason string, status int, says ...string) badAnswer {
		return badAnswer{
			mapping: upsertMapping, collection: upsertThings, method: "GET", path: "/things/{id}", fault: fault,
			reason: reason, status: status, operation: "Read", says: append([]string{"GET /things/{id}"}, says...),
		}
	}
	missing := read(restfake.Reply(404, "application/json", `{"message":"no such page"}`), "ObservationFailed", 404, "collection", "base URL", "no such page")
	missing.mapping, missing.collection, missing.path, missing.operation = markerMapping, markedThings, "/things", "List"
	missing.says[0] = "GET /things"
	return map[string]badAnswer{
		"hanging":                    read(restfake.Hang(), "EndpointUnreachable", 0, "timeout of 2s", "is the server slow"),
		"dropping the connection":    read(restfake.Drop(), "EndpointUnreachable", 0, "closed the connection"),
		"redirecting a read":         read(restfake.RedirectTo(302, "http://elsewhere.example/login?token=abc"), "ObservationFailed", 302, "redirect", "elsewhere.example", "baseURL"),
		"answering HTML":             read(restfake.HTML(), "ObservationFailed", 200, "text/html", "spec.outcomes"),
		"answering 50 MB":            read(restfake.Huge(50<<20), "ObservationFailed", 200, "responseBytes"),
		"answering truncated JSON":   read(restfake.Reply(200, "application/json", `{"id":"one","si`), "ObservationFailed", 200, "JSON"),
		"refusing the credential":    read(restfake.Reply(401, "application/json", `{"message":"bad key `+token+`"}`), "Unauthorized", 401, "401 Unauthorized", "bad key"),
		"forbidding":                 read(restfake.Reply(403, "application/json", `{"error":{"detail":"not your organization"}}`), "Unauthorized", 403, "403 Forbidden", "not your organization"),
		"a collection not there":     missing,
		"failing":                    read(restfake.Reply(500, "text/plain", "database is down"), "ServerError", 500, "500 Internal Server Error", "database is down"),
		"asking to slow down":        read(restfake.Throttle("1"), "Throttled", 429, "429 Too Many Requests", "slow down"),
		"in maintenance":             read(restfake.Reply(503, "text/html", "<html>maintenance</html>"), "Throttled", 503, "503 Service Unavailable"),
		"answering without a status": read(restfake.Reply(418, "application/json", `{}`), "ObservationFailed", 418, "418"),
	}
}

func badWrites() map[string]badAnswer {
	create := func(fault restfake.Fault, reason string, stalled bool, status, writes int, says ...string) badAnswer {
		return badAnswer{
			mapping: uniqueMapping, collection: uniqueThings, method: "POST", path: "/things", fault: fault,
			reason: reason, stalled: stalled, status: status, operation: "Create", writes: writes, says: append([]string{"POST /things"}, says...),
		}
	}
	marked := func(b badAnswer) badAnswer {
		b.mapping, b.collection = markerMapping, markedThings
		return b
	}
	const many = 20
	return map[string]badAnswer{
		"redirecting a create":       create(restfake.RedirectTo(307, "/v2/things"), "RequestRejected", true, 307, many, "redirect", "baseURL"),
		"refusing the body":          create(restfake.Reply(422, "application/json", `{"message":"validation failed","errors":[{"field":"size","detail":"must be odd"}]}`), "RequestRejected", true, 422, many, "422 Unprocessable Entity", "validation failed", "must be odd"),
		"a bad request with the key": create(restfake.Reply(400, "application/json", `{"message":"do not send `+token+`"}`), "RequestRejected", true, 400, many, "do not send [redacted]"),
		"a conflict that is unseen":  create(restfake.Reply(409, "application/json", `{"message":"id is taken"}`), "Conflict", false, 409, many, "409 Conflict", "id is taken", "cannot be seen"),
		"refusing the credential":    create(restfake.Reply(401, "application/json", `{}`), "Unauthorized", false, 401, many, "401 Unauthorized"),
		"throttling creates":         create(restfake.Throttle("1"), "Throttled", false, 429, many, "429 Too Many Requests", "slow down"),
		"failing on create":          create(restfake.Reply(500, "application/json", `{"message":"out of disk"}`), "Creating", false, 500, many, "500 Internal Server Error", "out of disk"),
		"failing on a marked create": marked(create(restfake.Reply(500, "application/json", `{"message":"out of disk"}`), "WaitingForSettle", false, 500, many, "500 Internal Server Error", "out of disk")),
		"a create done and lost":     marked(create(restfake.CommitThenDrop(), "WaitingForSettle", false, 0, 1, "closed the connection")),
		"a gateway after a create":   marked(create(restfake.CommitThenReply(502, "text/html", "<html>bad gateway</html>"), "WaitingForSettle", false, 502, 1, "502 Bad Gateway")),
	}
}

// TestMisbehavingServers: each fault is told with its reason, its request and a remedy; no secret and no query string is
// shown; and when the fault ends the object is made, once.
func TestMisbehavingServers(t *testing.T) {
	l := lab.New(t)
	for _, table := range []map[string]badAnswer{badReads(), badWrites()} {
		for name, bad := range table {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				misbehave(t, l.In(t), bad)
			})
		}
	}
}

func misbehave(t *testing.T, l *lab.Lab, bad badAnswer) {
	t.Helper()
	server := l.NewServer([]restfake.Collection{bad.collection})
	server.AddRule(restfake.Rule{Method: bad.method, Path: bad.path, Fault: bad.fault})
	kind := l.NewKind("")
	kind.Secret("token", "value", token)
	kind.Endpoint(server.URL, tokenAuth)
	kind.Mapping(bad.mapping)
	kind.Create("one", "{size: 3}")
	message := kind.Unready("one", bad.reason)
	for _, want := range bad.says {
		if !strings.Contains(message, want) {
			t.Errorf("the message lacks %q: %s", want, message)
		}
	}
	if bad.stalled {
		kind.Stalled("one", bad.reason)
	} else {
		kind.Condition("one", "Reconciling", "True", "")
	}
	checkLastError(t, kind, bad)
	checkNothingShown(t, kind, "one")
	if sent := server.Count(bad.method, "/things"); bad.method == "POST" && sent > bad.writes {
		t.Errorf("%d creates were sent", sent)
	}
	server.ClearRules()
	kind.Ready("one")
	if live := server.Live("/things"); len(live) != 1 {
		t.Errorf("outside there are %d objects: %v", len(live), live)
	}
	if twice := server.Duplicates(); len(twice) > 0 {
		t.Errorf("doubled outside: %v", twice)
	}
	if kind.StatusField("one", "lastError") != nil {
		t.Errorf("the error stands although it is over: %s", kind.Status("one"))
	}
	t.Logf("%s: %s; requests %v", bad.reason, message, server.Counts())
}

func checkLastError(t *testing.T, kind *lab.Kind, bad badAnswer) {
	t.Helper()
	if got := kind.StatusField("one", "lastError", "operation"); got != bad.operation {
		t.Errorf("lastError.operation is %v, want %s", got, bad.operation)
	}
	got := kind.StatusField("one", "lastError", "httpStatus")
	if bad.status == 0 && got != nil || bad.status != 0 && lab.Int(got) != bad.status {
		t.Errorf("lastError.httpStatus is %v, want %d", got, bad.status)
	}
}

// checkNothingShown looks for the credential, and for a query string of ours or of a redirect.
func checkNothingShown(t *testing.T, kind *lab.Kind, name string) {
	t.Helper()
	text := kind.Status(name)
	for _, secret := range []string{token, "?key", "key=", "?token"} {
		if strings.Contains(text, secret) {
			t.Errorf("the status shows %q: %s", secret, text)
		}
	}
}

// TestServerBadAfterItWasGood: an object that was ready stays so over a short fault, and drift is put back after it.
func TestServerBadAfterItWasGood(t *testing.T) {
	l := lab.New(t)
	faults := map[string]restfake.Fault{
		"an empty page of HTML": restfake.HTML(),
		"a refused credential":  restfake.Reply(401, "application/json", `{}`),
		"an error":              restfake.Reply(500, "application/json", `{}`),
		"no answer":             restfake.Hang(),
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := l.In(t)
			server := l.NewServer([]restfake.Collection{upsertThings})
			kind := l.NewKind("")
			kind.Endpoint(server.URL, "  timeout: 1s")
			kind.Mapping(upsertMapping)
			kind.Create("one", "{size: 3}")
			kind.Ready("one")
			server.AddRule(restfake.Rule{Method: "GET", Path: "/things/{id}", Fault: fault})
			kind.Condition("one", "Synced", "Unknown", "")
			writes := server.Count("PUT", "/things/{id}") + server.Count("DELETE", "/things/{id}")
			if err := server.Change("/things/one", func(f map[string]any) { f["size"] = 9 }); err != nil {
				t.Fatal(err)
			}
			if now := server.Count("PUT", "/things/{id}") + server.Count("DELETE", "/things/{id}"); now != writes {
				t.Errorf("something was sent to a server that cannot be read")
			}
			server.ClearRules()
			l.Eventually("the drift is put back", func() string {
				if got, _ := server.Get("/things/one"); lab.Int(got.Fields["size"]) != 3 {
					return fmt.Sprint(got.Fields)
				}
				return ""
			})
			kind.Ready("one")
			kind.Condition("one", "Synced", "True", "InSync")
		})
	}
}

// TestUnreachableServer: nothing listens; then something does.
func TestUnreachableServer(t *testing.T) {
	l := lab.New(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	kind := l.NewKind("")
	kind.Endpoint("http://"+address, "  timeout: 2s")
	kind.Mapping(upsertMapping)
	kind.Create("one", "{size: 3}")
	message := kind.Unready("one", "EndpointUnreachable")
	for _, want := range []string{"GET /things/{id}", "not sent", "connection refused", "and the server up"} {
		if !strings.Contains(message, want) {
			t.Errorf("the message lacks %q: %s", want, message)
		}
	}
	listener, err = net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	fake := restfake.New([]restfake.Collection{upsertThings})
	server := httptest.NewUnstartedServer(fake)
	_ = server.Listener.Close()
	server.Listener = listener
	server.Start()
	t.Cleanup(func() { fake.Close(); server.Close() })
	kind.Ready("one")
	if live := fake.Live("/things"); len(live) != 1 {
		t.Errorf("outside: %v", live)
	}
}
