package console

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"

	"github.com/restmapping/operator/pkg/engine/pass"
)

// The bounds of how long a request for passes waits for their ends.
const (
	defaultWait = 30 * time.Second
	maxWait     = 5 * time.Minute
)

// Result is what POST /reconcile answers.
type Result struct {
	// Asked is how many objects are looked at, Pending how many of those had not ended when the wait was over: they go on.
	Asked   int            `json:"asked"`
	Pending int            `json:"pending"`
	Ready   int            `json:"ready"`
	Stalled int            `json:"stalled"`
	Objects []ObjectResult `json:"objects"`
}

// ObjectResult is how the pass over one custom resource ended.
type ObjectResult struct {
	Mapping   string `json:"mapping"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Pending tells that the wait was over before the pass; then nothing else is known.
	Pending bool `json:"pending,omitempty"`
	// Gone tells that the custom resource is no longer there.
	Gone  bool `json:"gone,omitempty"`
	Ready bool `json:"ready"`
	// Stalled tells that nothing more is tried until something changes.
	Stalled bool `json:"stalled,omitempty"`
	// Step is what ended the pass, Reason and Message say why.
	Step    string `json:"step,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Drifted tells that the object outside had been changed.
	Drifted         bool    `json:"drifted,omitempty"`
	DurationSeconds float64 `json:"durationSeconds,omitempty"`
}

func (c *console) reconcile(w http.ResponseWriter, r *http.Request) {
	f, err := parseFilter(r.URL.Query())
	var wait time.Duration
	if err == nil {
		wait, err = parseWait(r.URL.Query().Get("wait"))
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if !c.Leading() {
		http.Error(w, c.elsewhere(r.Context()), http.StatusServiceUnavailable)
		return
	}
	names, err := c.meant(r.Context(), f)
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	if f.mapping != "" && len(names) == 0 {
		http.Error(w, "no mapping "+f.mapping+" is running", http.StatusNotFound)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), wait)
	defer cancel()
	result := c.ask(ctx, names, f)
	if f.name != "" && result.Asked == 0 {
		http.Error(w, "no custom resource of this name is known", http.StatusNotFound)
		return
	}
	if err := writeJSON(w, http.StatusOK, result); err != nil { // the reader has gone
		logr.FromContextOrDiscard(r.Context()).V(1).Info("the answer was not read to its end", "error", err.Error())
	}
}

func parseWait(text string) (time.Duration, error) {
	if text == "" {
		return defaultWait, nil
	}
	wait, err := time.ParseDuration(text)
	if err != nil || wait < 0 || wait > maxWait {
		return 0, fmt.Errorf("wait: give a time such as 30s, %s at most", maxWait)
	}
	return wait, nil
}

func (c *console) elsewhere(ctx context.Context) string {
	if leader := c.Leader(ctx); leader != "" {
		return "this replica stands by: ask the leader, pod " + leader
	}
	return "this replica stands by, and there is no leader now: try again"
}

// meant gives the running mappings that are asked about.
func (c *console) meant(ctx context.Context, f filter) ([]string, error) {
	mappings, err := c.listMappings(ctx)
	if err != nil {
		return nil, err
	}
	var names []string
	for i := range mappings {
		if _, running := c.Engine.State(mappings[i].Name); running && (f.mapping == "" || f.mapping == mappings[i].Name) {
			names = append(names, mappings[i].Name)
		}
	}
	return names, nil
}

// ask has the objects looked at, mapping after mapping: each waits for its own workers, and the first wait covers the rest.
func (c *console) ask(ctx context.Context, mappings []string, f filter) Result {
	result := Result{Objects: []ObjectResult{}}
	answers := make([]<-chan []ObjectResult, len(mappings))
	for i, name := range mappings {
		views, _ := c.Engine.Views(ctx, name)
		var keys []types.NamespacedName
		for _, v := range views {
			if f.shows(v) {
				keys = append(keys, v.Key)
			}
		}
		result.Asked += len(keys)
		answers[i] = c.askMapping(ctx, name, keys)
	}
	for _, answer := range answers {
		result.Objects = append(result.Objects, <-answer...)
	}
	for i := range result.Objects {
		o := &result.Objects[i]
		result.Pending += one(o.Pending)
		result.Ready += one(o.Ready)
		result.Stalled += one(o.Stalled)
	}
	return result
}

// askMapping gives one answer when all passes have ended, or ctx is over.
func (c *console) askMapping(ctx context.Context, name string, keys []types.NamespacedName) <-chan []ObjectResult {
	answer := make(chan []ObjectResult, 1)
	go func() { // ends with ctx; ask waits for it
		ended, _ := c.Engine.Reconcile(ctx, name, keys)
		results := make([]ObjectResult, len(keys))
		for i, key := range keys {
			s, known := ended[key]
			results[i] = resultOf(name, key, s, known)
		}
		slices.SortFunc(results, func(a, b ObjectResult) int {
			return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
		})
		answer <- results
	}()
	return answer
}

func resultOf(mapping string, key types.NamespacedName, s pass.Summary, known bool) ObjectResult {
	o := ObjectResult{Mapping: mapping, Namespace: key.Namespace, Name: key.Name, Pending: !known}
	if !known {
		return o
	}
	o.Gone, o.Ready, o.Stalled, o.Step, o.Reason, o.Message = s.Gone, s.Ready, s.Stalled, s.End, s.Reason, s.Message
	o.Drifted, o.DurationSeconds = s.Drifted, s.Duration.Seconds()
	return o
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}
