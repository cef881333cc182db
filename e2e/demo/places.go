package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// places are the folders and files of the demo.
type places struct{ root, dir string }

func placesIn(root string) places { return places{root: root, dir: filepath.Join(root, ".demo")} }

func (p places) kubeconfig() string      { return filepath.Join(p.dir, "kubeconfig") }
func (p places) keeperLog() string       { return filepath.Join(p.dir, "keeper.log") }
func (p places) state() string           { return filepath.Join(p.dir, "state.json") }
func (p places) file(name string) string { return filepath.Join(p.dir, name) }

// state is what the keeper tells the story.
type state struct {
	// Keeper is the keeper's process.
	Keeper int `json:"keeper"`
	// Ready tells that everything runs.
	Ready bool `json:"ready"`
	// Problem is why the keeper gave up.
	Problem  string `json:"problem,omitempty"`
	APIURL   string `json:"apiURL,omitempty"`
	WebURL   string `json:"webURL,omitempty"`
	User     string `json:"user,omitempty"`
	Password string `json:"password,omitempty"`
	Token    string `json:"token,omitempty"`
	Log      string `json:"log,omitempty"`
}

// readState gives nil when there is no demo.
func readState(p places) (*state, error) {
	text, err := os.ReadFile(p.state())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the demo's state: %w", err)
	}
	s := &state{}
	if err := json.Unmarshal(text, s); err != nil {
		return nil, fmt.Errorf("read %s: %w", p.state(), err)
	}
	return s, nil
}

// writeState replaces the file in one step, so that a reader never sees half of it.
func writeState(p places, s state) error {
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(p.state()+".new", text, 0o600); err != nil {
		return fmt.Errorf("write the demo's state: %w", err)
	}
	return os.Rename(p.state()+".new", p.state())
}
