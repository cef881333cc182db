package spec_test

import (
	"os"
	"strings"
	"testing"

	"github.com/restmapping/operator/pkg/lifecycle"
	"github.com/restmapping/operator/pkg/rest"
)

// statuses are those that each row of the page's table stands for; rows about something else than a status are left out.
func statuses() map[string][]int {
	return map[string][]int{
		"2xx":                      {200, 201, 202, 204},
		"404, 410":                 {404, 410},
		"401, 403, 407":            {401, 403, 407},
		"409":                      {409},
		"412":                      {412},
		"423":                      {423},
		"429":                      {429},
		"503":                      {503},
		"408, 425, other 5xx, 1xx": {408, 425, 500, 502, 504, 599, 100},
		"any other 4xx":            {400, 402, 405, 406, 415, 422, 499},
	}
}

// meanings are the outcomes by the words that a cell of the table begins with.
func meanings() map[string]lifecycle.Outcome {
	return map[string]lifecycle.Outcome{
		"success": lifecycle.Success, "accepted": lifecycle.Success, "absent": lifecycle.Absent, "failed": lifecycle.Failed,
		"unauthorized": lifecycle.Unauthorized, "conflict": lifecycle.Conflict, "wait": lifecycle.Waiting,
		"throttled": lifecycle.Throttled, "ambiguous": lifecycle.Ambiguous, "rejected": lifecycle.Rejected,
	}
}

func TestTheTableOfAnswersIsWhatTheOperatorDoes(t *testing.T) {
	t.Parallel()
	operations := []rest.Operation{rest.Read, rest.List, rest.Create, rest.Update, rest.Delete}
	rows := answerRows(t)
	for label, codes := range statuses() {
		cells, there := rows[label]
		if !there || len(cells) != len(operations) {
			t.Errorf("the table has no row %q with a cell for each operation", label)
			continue
		}
		for i, operation := range operations {
			want := meaning(t, cells[i])
			for _, code := range codes {
				x := rest.Exchange{Response: &rest.Response{Status: code}}
				if got := lifecycle.Classify(rest.Request{Operation: operation}, x, nil); got.Outcome != want {
					t.Errorf("%d to %s: the page says %s, the operator %s", code, operation, want, got.Outcome)
				}
			}
		}
	}
}

// answerRows reads the table below the heading, by its first column.
func answerRows(t *testing.T) map[string][]string {
	t.Helper()
	content, err := os.ReadFile(mappingPage)
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(content), "## What an answer means\n")
	if !found {
		t.Fatal("the page has no section on what an answer means")
	}
	rows := map[string][]string{}
	for line := range strings.Lines(section) {
		if strings.HasPrefix(line, "| outcome") {
			break
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(strings.ReplaceAll(cells[i], "*", ""))
		}
		rows[cells[0]] = cells[1:]
	}
	return rows
}

func meaning(t *testing.T, cell string) lifecycle.Outcome {
	t.Helper()
	for word, outcome := range meanings() {
		if strings.HasPrefix(cell, word) {
			return outcome
		}
	}
	t.Errorf("the cell %q does not begin with an outcome", cell)
	return ""
}
