package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestRatio(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		a, b float64
		want string
	}{
		"twice as much":               {4, 2, "2.00"},
		"half":                        {1, 2, "0.50"},
		"nothing where there is some": {0, 3, "0.00"},
		"some where there is nothing": {50, 0, "50 : 0"},
		"nothing on both sides":       {0, 0, "0 : 0"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := ratio(tc.a, tc.b); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

func sample() []result {
	return []result{
		{Scenario: "create", Contender: "handwritten", Objects: 10, Per: 10, Unit: "object", Seconds: 1, REST: map[string]int{"GET /widgets/{id}": 10, "POST /widgets": 10}, Writes: 20, CPU: 40 * time.Millisecond, PeakMiB: 30},
		{Scenario: "create", Contender: "handwritten", Objects: 20, Per: 20, Unit: "object", Seconds: 2, CPU: time.Second, PeakMiB: 60},
		{Scenario: "create", Contender: "operator", Objects: 10, Per: 10, Unit: "object", Seconds: 1.5, REST: map[string]int{"GET /widgets/{id}": 20, "POST /widgets": 10}, Writes: 20, Events: 10, Mapping: 3, CPU: 80 * time.Millisecond, PeakMiB: 45, Left: 2},
	}
}

func TestOnlyLikeIsComparedWithLike(t *testing.T) {
	t.Parallel()
	got := pairs(sample())
	if len(got) != 1 || got[0].operator.Objects != 10 || got[0].handwritten.Objects != 10 {
		t.Errorf("pairs: %+v", got)
	}
}

func TestTables(t *testing.T) {
	t.Parallel()
	want := strings.TrimLeft(`
| scenario | objects | seconds | REST calls | API reads | API writes | CPU  | peak memory |
|----------|---------|---------|------------|-----------|------------|------|-------------|
| create   | 10      | 1.50    | 1.50       | 0 : 0     | 1.00       | 2.00 | 1.50        |
`, "\n")
	if diff := cmp.Diff(want, ratios(sample())); diff != "" {
		t.Errorf("ratios (-want +got):\n%s", diff)
	}
	text := figures(sample())
	for _, wanted := range []string{
		"| create   | 10      | operator    | 1.5     | 3.00       | object | GET 2.00, POST 1.00 | 0.000     | 2.00       | 1.00   | 8.00   | 45       | 0.0   |",
		"| create   | 10      | handwritten | 1.0     | 2.00       | object | GET 1.00, POST 1.00 | 0.000     | 2.00       | 0.00   | 4.00   | 30       | 0.0   |",
	} {
		if !strings.Contains(text, wanted) {
			t.Errorf("the figures lack\n%s\nin\n%s", wanted, text)
		}
	}
}

func TestTheDocumentSaysWhereAndWhatWentWrong(t *testing.T) {
	t.Parallel()
	m := machine{date: time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC), cores: 2, goVersion: "go1.26", cpuOS: "linux/amd64"}
	text := document(m, sample())
	for _, wanted := range []string{
		"2026-11-21 08:00 UTC with 2 processors, go1.26, linux/amd64", "Duplicates at the server: 0. Objects left behind after the last delete: 2.",
		"3 writes in the 2 seconds", "every 10s, have 10 workers",
	} {
		if !strings.Contains(text, wanted) {
			t.Errorf("the document lacks %q", wanted)
		}
	}
	if strings.Contains(text, "%!") {
		t.Error("the document has a placeholder that was not filled in")
	}
	if strings.Index(text, "## Ratios") > strings.Index(text, "## Figures") {
		t.Error("the ratios come first")
	}
}

func TestDuplicatesAreAFailure(t *testing.T) {
	t.Parallel()
	if err := violations(sample()); err != nil {
		t.Errorf("slow is no failure: %v", err)
	}
	if err := violations([]result{{Contender: "operator", Scenario: "create", Objects: 5, Duplicates: 1}}); err == nil {
		t.Error("a duplicate must fail")
	}
}

func TestProgressDividesByTheUnit(t *testing.T) {
	t.Parallel()
	got := progress(sample()[2])
	if want := "  create      1.50 s   3.00 REST calls,  2.00 API writes,  8.000 ms CPU per object; peak  45 MiB"; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
