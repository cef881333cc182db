package dashboard

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/restmapping/operator/internal/golden"
	"github.com/restmapping/operator/internal/repository"
)

// foreign are the metrics that libraries make.
var foreign = map[string]bool{"leader_election_master_status": true}

func file(t *testing.T, parts ...string) string {
	t.Helper()
	root, err := repository.Root()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(append([]string{root}, parts...)...)
}

func content(t *testing.T, parts ...string) string {
	t.Helper()
	text, err := os.ReadFile(file(t, parts...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestTheChartHasTheDashboardAsItIsMade(t *testing.T) {
	t.Parallel()
	got, err := JSON()
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, file(t, "deploy", "helm", "restmapping-operator", "files", "dashboard.json"), got)
}

// documented are the metrics of docs/metrics.md, with the labels of each.
func documented(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, parts := range regexp.MustCompile("(?m)^\\| `(restmapping_[a-z_]+)` \\| [a-z]+ \\| ([^|]+) \\|").FindAllStringSubmatch(content(t, "docs", "metrics.md"), -1) {
		found[parts[1]] = parts[2]
	}
	if len(found) < 20 {
		t.Fatalf("only %d metrics are documented: the search is broken", len(found))
	}
	return found
}

// selector is a metric of an expression with the labels it is chosen by.
var selector = regexp.MustCompile(`\b((?:restmapping|leader_election|workqueue)_[a-z_]+)(?:\{([^}]*)\})?`)

// check says what an expression asks for that there is not.
func check(t *testing.T, known map[string]string, where, expr string) map[string]bool {
	t.Helper()
	used := map[string]bool{}
	for _, parts := range selector.FindAllStringSubmatch(expr, -1) {
		name := strings.TrimSuffix(parts[1], "_bucket")
		used[name] = true
		labels, ok := known[name]
		if !ok {
			if !foreign[name] {
				t.Errorf("%s: %s is not in docs/metrics.md", where, name)
			}
			continue
		}
		for _, label := range regexp.MustCompile(`([a-z]+)(?:=|!)`).FindAllStringSubmatch(parts[2], -1) {
			if !strings.Contains(labels, "`"+label[1]+"`") {
				t.Errorf("%s: %s has no label %s", where, name, label[1])
			}
		}
	}
	if len(used) == 0 {
		t.Errorf("%s: no metric in %s", where, expr)
	}
	return used
}

func TestTheDashboardAsksForWhatThereIs(t *testing.T) {
	t.Parallel()
	known, used := documented(t), map[string]bool{}
	titles := map[string]bool{}
	for _, r := range rows() {
		for _, g := range r.graphs {
			if titles[g.title] || len(g.queries) == 0 || g.unit == "" {
				t.Errorf("panel %q is there twice, or is empty, or has no unit", g.title)
			}
			titles[g.title] = true
			for _, q := range g.queries {
				for name := range check(t, known, g.title, q.expr) {
					used[name] = true
				}
			}
		}
	}
	for name := range known {
		if !used[name] {
			t.Errorf("%s is in no panel", name)
		}
	}
}

// Panels neither overlap nor leave the grid.
func TestPanelsHaveTheirPlaces(t *testing.T) {
	t.Parallel()
	text, err := JSON()
	if err != nil {
		t.Fatal(err)
	}
	var b board
	if err := json.Unmarshal(text, &b); err != nil {
		t.Fatal(err)
	}
	taken, ids := map[[2]int]string{}, map[int]bool{}
	for _, p := range b.Panels {
		if ids[p.ID] {
			t.Errorf("number %d is there twice", p.ID)
		}
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other, there := taken[[2]int{x, y}]; there || x >= columns {
					t.Fatalf("%q lies on %q or beside the grid", p.Title, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
	}
}

// rule is an alert as Prometheus reads it.
type rule struct {
	Alert       string            `json:"alert"`
	Expr        string            `json:"expr"`
	For         string            `json:"for"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

func TestAlertsAskForWhatThereIsAndHaveAPage(t *testing.T) {
	t.Parallel()
	var rules struct {
		Groups []struct {
			Name  string `json:"name"`
			Rules []rule `json:"rules"`
		} `json:"groups"`
	}
	if err := yaml.UnmarshalStrict([]byte(content(t, "deploy", "helm", "restmapping-operator", "files", "alerts.yaml")), &rules); err != nil {
		t.Fatal(err)
	}
	known, pages := documented(t), map[string]bool{}
	for _, group := range rules.Groups {
		for _, r := range group.Rules {
			check(t, known, r.Alert, r.Expr)
			pages[r.Alert+".md"] = true
			page := content(t, "docs", "runbooks", r.Alert+".md")
			for _, part := range []string{"# " + r.Alert, "## What it means", "## What to look at", "## What to do"} {
				if !strings.Contains(page, part+"\n") {
					t.Errorf("docs/runbooks/%s.md has no %q", r.Alert, part)
				}
			}
			if r.Annotations["summary"] == "" || r.Annotations["description"] == "" || r.For == "" ||
				!strings.HasSuffix(r.Annotations["runbook_url"], "/docs/runbooks/"+r.Alert+".md") || r.Labels["severity"] == "" {
				t.Errorf("%s lacks something: %+v", r.Alert, r)
			}
		}
	}
	found, err := filepath.Glob(file(t, "docs", "runbooks", "*.md"))
	if err != nil || len(found) != len(pages) {
		t.Errorf("%d pages for %d alerts: %v", len(found), len(pages), err)
	}
}
