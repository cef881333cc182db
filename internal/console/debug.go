package console

import (
	"net/http"

	"github.com/go-logr/logr"

	"github.com/restmapping/operator/pkg/mapping"
)

// Served is one mapping as it runs, beside what its author wrote last.
type Served struct {
	Name string `json:"name"`
	// Generation is the newest, Program that of the running one, which is older after an edit that was not accepted.
	Generation int64                `json:"generation"`
	Running    bool                 `json:"running"`
	Synced     bool                 `json:"synced"`
	WatchError string               `json:"watchError,omitempty"`
	Program    *mapping.Description `json:"program,omitempty"`
}

func (c *console) mappings(w http.ResponseWriter, r *http.Request) {
	mappings, err := c.listMappings(r.Context())
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	only, served := r.URL.Query().Get("mapping"), []Served{}
	for i := range mappings {
		if only == "" || only == mappings[i].Name {
			served = append(served, c.served(mappings[i].Name, mappings[i].Generation))
		}
	}
	if err := writeJSON(w, http.StatusOK, served); err != nil { // the reader has gone
		logr.FromContextOrDiscard(r.Context()).V(1).Info("the answer was not read to its end", "error", err.Error())
	}
}

func (c *console) served(name string, generation int64) Served {
	s := Served{Name: name, Generation: generation}
	state, running := c.Engine.State(name)
	s.Running, s.Synced = running, state.Synced
	if state.WatchError != nil {
		s.WatchError = state.WatchError.Error()
	}
	if program := c.Engine.Program(name); program != nil {
		description := program.Describe()
		s.Program = &description
	}
	return s
}
