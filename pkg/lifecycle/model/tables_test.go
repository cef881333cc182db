package model

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
)

// count is what was explored of one class.
type count struct {
	family, class                                        string
	combinations, states, transitions, violations, stuck int
}

func (c *count) add(r report) {
	c.combinations, c.states, c.transitions, c.stuck = c.combinations+1, c.states+r.states, c.transitions+r.transitions, c.stuck+r.stuck
	if r.bad != fine {
		c.violations++
	}
}

// tables are printed when all tests have ended.
type tables struct {
	mu     sync.Mutex
	counts []count
	found  map[string][]string // without a rule, by class
}

// explored is a package variable because Go's tests have no other place for what all tests of a package share.
var explored = &tables{found: map[string][]string{}}

func (t *tables) note(c count) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.counts = append(t.counts, c)
}

// without notes what was found without a rule.
func (t *tables) without(rule string, found []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.found[rule] = found
}

func TestMain(m *testing.M) {
	code := m.Run()
	fmt.Print(explored)
	os.Exit(code)
}

// String gives both tables in the form of documents.
func (t *tables) String() string {
	var b strings.Builder
	if len(t.counts) > 0 {
		t.writeCounts(&b)
	}
	if len(t.found) > 0 {
		t.writeFound(&b)
	}
	return b.String()
}

func (t *tables) writeCounts(b *strings.Builder) {
	b.WriteString("\n| the object is | class | combinations of faults | states | transitions | violations | stuck |\n|---|---|---|---|---|---|---|\n")
	sum := count{family: "all", class: "all"}
	for _, f := range families(*long) {
		for _, c := range f.classes {
			i := slices.IndexFunc(t.counts, func(n count) bool { return n.family == f.name && n.class == c.name })
			if i < 0 {
				continue
			}
			n := t.counts[i]
			sum.combinations, sum.states, sum.transitions = sum.combinations+n.combinations, sum.states+n.states, sum.transitions+n.transitions
			sum.violations, sum.stuck = sum.violations+n.violations, sum.stuck+n.stuck
			n.write(b)
		}
	}
	sum.write(b)
}

func (c *count) write(b *strings.Builder) {
	fmt.Fprintf(b, "| %s | %s | %d | %d | %d | %d | %d |\n", c.family, c.class, c.combinations, c.states, c.transitions, c.violations, c.stuck)
}

func (t *tables) writeFound(b *strings.Builder) {
	b.WriteString("\n| the object is | without this rule |")
	for _, c := range classes() {
		fmt.Fprintf(b, " %s |", c.name)
	}
	b.WriteString("\n|---|---|" + strings.Repeat("---|", len(classes())) + "\n")
	for _, m := range mutants() {
		if found, tested := t.found[m.name]; tested {
			fmt.Fprintf(b, "| %s | %s | %s |\n", m.of, m.name, strings.Join(found, " | "))
		}
	}
}
