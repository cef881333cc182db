package process_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/restmapping/operator/internal/process"
)

func TestRetry(t *testing.T) {
	t.Parallel()
	ended := fmt.Errorf("start: %w", &process.ExitError{Name: "server", Err: errors.New("exit status 1")})
	other := errors.New("no such file")
	cases := map[string]struct {
		results []error
		calls   int
		want    error
	}{
		"the first start works":                  {results: []error{nil}, calls: 1},
		"a child that ended gets another chance": {results: []error{ended, nil}, calls: 2},
		"not more than three":                    {results: []error{ended, ended, ended, nil}, calls: 3, want: ended},
		"any other error is final":               {results: []error{other, nil}, calls: 1, want: other},
		"also after a first retry":               {results: []error{ended, other, nil}, calls: 2, want: other},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			calls := 0
			got, err := process.Retry(func() (int, error) {
				calls++
				return calls, tc.results[calls-1]
			})
			if !errors.Is(err, tc.want) || calls != tc.calls || got != calls {
				t.Errorf("want %d calls and %v, got %d and %v", tc.calls, tc.want, calls, err)
			}
		})
	}
}

func TestRunReportsWhatTheProgramSaid(t *testing.T) {
	t.Parallel()
	config := process.Config{Name: "migrate", Path: "/bin/sh", Args: []string{"-c", "echo the disk is full; exit 4"}}
	err := process.Run(t.Context(), config)
	if err == nil || !strings.Contains(err.Error(), "the disk is full") || !strings.Contains(err.Error(), "migrate") {
		t.Errorf("got %v", err)
	}
	config.Args = []string{"-c", "echo fine"}
	if err := process.Run(t.Context(), config); err != nil {
		t.Error(err)
	}
}
