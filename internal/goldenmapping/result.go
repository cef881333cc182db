package goldenmapping

import (
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/restmapping/operator/pkg/lifecycle"
)

// Result is what came out of a case.
type Result struct {
	Title string `json:"-"`
	// Violations are the rules that the custom resource breaks.
	Violations []Violation `json:"violations,omitempty"`
	Steps      []Step      `json:"steps,omitempty"`
	// Identifiers are all that are known at the end.
	Identifiers map[string]string `json:"identifiers,omitempty"`
	// Ready and Status are of the object as it was seen last; absent when it never was.
	Ready  *Ready         `json:"ready,omitempty"`
	Status map[string]any `json:"status,omitempty"`

	transcript []string
	canaries   map[string]string
}

// Violation is a rule that the custom resource breaks.
type Violation struct {
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// Step is what one answer means.
type Step struct {
	// Part is the part with its key, such as teams[devs]; empty for the object itself.
	Part    string            `json:"part,omitempty"`
	Request string            `json:"request"`
	Outcome lifecycle.Outcome `json:"outcome"`
	// Declared tells that the mapping itself says so, not the default table.
	Declared bool `json:"declared,omitempty"`
	// Progress is how far an operation has come that the server does later.
	Progress lifecycle.Progress `json:"progress,omitempty"`
	Message  string             `json:"message,omitempty"`
	// Matches is how many items of a whole list are the object.
	Matches *int `json:"matches,omitempty"`
	// Keys are those of the items in the whole list of a part.
	Keys        []string `json:"keys,omitempty"`
	Differences []string `json:"differences,omitempty"`
	Immutable   []string `json:"immutable,omitempty"`
}

// Ready is what the mapping's rule says.
type Ready struct {
	OK      bool   `json:"ok"`
	Message string `json:"message,omitempty"`
}

// YAML gives the content of the status file. It fails when a secret has reached it.
func (r *Result) YAML() ([]byte, error) {
	text, err := yaml.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("write the result: %w", err)
	}
	if leaked := leaks(string(text), r.canaries); len(leaked) > 0 {
		return nil, &LeakError{Where: StatusFile, Secrets: leaked}
	}
	return append([]byte("# "+r.Title+"\n"), text...), nil
}

// Log gives the content of the transcript, with secrets by name. It fails when a secret stands anywhere but in a body,
// a header or a query.
func (r *Result) Log() ([]byte, error) {
	text := "# " + r.Title + "\n" + strings.Join(r.transcript, "---\n")
	for line := range strings.SplitSeq(text, "\n") {
		if path, isRequest := requestPath(line); isRequest {
			if leaked := leaks(path, r.canaries); len(leaked) > 0 {
				return nil, &LeakError{Where: "path of " + LogFile, Secrets: leaked}
			}
		}
	}
	return []byte(hide(text, r.canaries)), nil
}

// Sends tells whether a secret of this name was in a request.
func (r *Result) Sends(secret string) bool {
	value, known := r.canaries[secret]
	return known && strings.Contains(strings.Join(r.transcript, ""), value)
}

// SecretNames are the names of the secrets that the custom resource refers to, sorted.
func (r *Result) SecretNames() []string {
	var names []string
	for name := range r.canaries {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
