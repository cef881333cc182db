//go:build crash

package crash_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/restmapping/operator/internal/restfake"
)

// operation is what a custom resource goes through when the operator ends.
type operation string

const (
	creating operation = "create"
	updating operation = "update"
	deleting operation = "delete"
	// deletedWhileCreating: the custom resource is deleted while its create is under way.
	deletedWhileCreating operation = "delete while creating"
)

// points are where the operator can be made to end, with the operations that pass there.
func points() []point {
	return []point{
		{"before-intent", []operation{creating, deletedWhileCreating}},
		{"after-intent-before-send", []operation{creating, deletedWhileCreating}},
		{"after-send-before-record", []operation{creating, deletedWhileCreating}},
		{"after-record-before-status", []operation{creating, updating, deletedWhileCreating}},
		{"before-update-send", []operation{updating}},
		{"after-update-send", []operation{updating}},
		{"before-delete-send", []operation{deleting, deletedWhileCreating}},
		{"after-delete-send", []operation{deleting, deletedWhileCreating}},
		{"gone-verified-before-release", []operation{deleting, deletedWhileCreating}},
		{"after-release", []operation{deleting, deletedWhileCreating}},
	}
}

type point struct {
	name       string
	operations []operation
}

// whileDown tells that the operator ends before the deletion can be seen, so that it is asked for while it is down.
func (p point) whileDown() bool {
	return strings.Contains(p.name, "intent") || strings.HasSuffix(p.name, "before-record") || strings.Contains(p.name, "-part-")
}

// arrival is how long the operator may take to come to the point.
const arrival = 40 * time.Second

// TestKilledAtEveryPoint ends the operator at every named point with one custom resource of every class at that point,
// starts it again, and expects each to end with exactly one object, and after its deletion with none.
func TestKilledAtEveryPoint(t *testing.T) {
	killAt(t, "killed at every point", points())
}

// killAt ends the operator at each of these points, in each operation that passes there, with all classes of the test.
func killAt(t *testing.T, what string, points []point) {
	t.Helper()
	m := &matrix{scene: newScene(t), points: points, cells: map[string]string{}}
	m.timeout("3s") // so that no answer is lost here because the machine is busy
	m.walk()
	m.report(what)
	t.Logf("answers of a person: %s\n%s", m.person.answered(), m.table())
	if n := m.person.answers["IdempotencyKey"]; n > 0 {
		t.Errorf("a person was asked %d times for what its idempotency key tells", n)
	}
}

type matrix struct {
	*scene
	points []point
	cells  map[string]string
	row    int
}

// walk goes through all cells.
func (m *matrix) walk() {
	m.t.Helper()
	m.start()
	for _, p := range m.points {
		for _, o := range p.operations {
			m.cell(p, o)
		}
	}
}

// cell ends the operator at one point in one operation, for all classes at once.
func (m *matrix) cell(p point, o operation) {
	m.t.Helper()
	m.row++
	name := fmt.Sprintf("object-%d", m.row)
	if o == updating || o == deleting {
		m.all(func(c class) { m.create(c, name, 1) })
		if !m.rest(p.name + ", " + string(o) + ", before") {
			return
		}
	}
	m.kill()
	if o == deletedWhileCreating {
		m.server.set(slowly)
	}
	m.start("RESTMAPPING_CRASH_AT="+fmt.Sprintf("%s:%d", p.name, len(classes())), "RESTMAPPING_CRASH_HOLD=true")
	m.ask(p, o, name)
	if !m.killed(arrival) {
		m.t.Errorf("%s, %s: not all came to the point: %s", p.name, o, strings.Join(m.problems(false), "\n"))
		m.kill()
	}
	if o == deletedWhileCreating {
		m.server.set(nil)
		m.all(func(c class) { m.delete(c, name) })
	}
	m.start()
	done := m.rest(p.name+", "+string(o)) && m.deleteAll(p.name+", "+string(o)+", deleted")
	m.cells[p.name+string(o)] = map[bool]string{true: "ok", false: "FAILED"}[done]
}

func (m *matrix) all(do func(class)) {
	for _, c := range classes() {
		do(c)
	}
}

// ask asks for the operation.
func (m *matrix) ask(p point, o operation, name string) {
	m.t.Helper()
	switch o {
	case creating:
		m.all(func(c class) { m.create(c, name, 1) })
	case updating:
		m.all(func(c class) { m.resize(c, name, 2) })
	case deleting:
		m.all(func(c class) { m.delete(c, name) })
	case deletedWhileCreating:
		m.all(func(c class) { m.create(c, name, 1) })
		if !p.whileDown() {
			m.deleteInFlight(name)
		}
	}
}

// deleteInFlight deletes each custom resource while its create is at the server.
func (m *matrix) deleteInFlight(name string) {
	m.t.Helper()
	m.all(func(c class) {
		m.eventually("create of "+c.kind, arrival, func() string {
			if obj := m.get(c, name); obj != nil && len(obj.GetFinalizers()) > 0 {
				return ""
			}
			return "no intent yet"
		})
		m.delete(c, name)
	})
}

// slowly holds creates back for a while, so that something can happen meanwhile.
func slowly(r *restfake.Request) restfake.Fault {
	if isCreate(r) {
		return restfake.Delay(500 * time.Millisecond)
	}
	return restfake.Fault{}
}

// table shows the cells; a dash stands where the operation does not pass the point.
func (m *matrix) table() string {
	var b strings.Builder
	operations := []operation{creating, updating, deleting, deletedWhileCreating}
	fmt.Fprintf(&b, "in each cell %d classes are at the point at once: %s\n| point |", len(classes()), strings.Join(names(), "; "))
	for _, o := range operations {
		fmt.Fprintf(&b, " %s |", o)
	}
	b.WriteString("\n|---|---|---|---|---|\n")
	for _, p := range m.points {
		fmt.Fprintf(&b, "| %s |", p.name)
		for _, o := range operations {
			word := m.cells[p.name+string(o)]
			if !slices.Contains(p.operations, o) {
				word = "-"
			}
			fmt.Fprintf(&b, " %s |", word)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func names() []string {
	var list []string
	for _, c := range classes() {
		list = append(list, c.name)
	}
	return list
}

// long tells whether the long form was asked for.
func long() bool { return os.Getenv("CRASH_LONG") == "1" }
