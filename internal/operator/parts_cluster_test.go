//go:build cluster

package operator_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/restmapping/operator/internal/lab"
	"github.com/restmapping/operator/internal/restfake"
)

// teamsMapping is of things with teams, which the server numbers and keeps unique by name.
const teamsMapping = `
  identifiers: [{name: thing, value: self.metadata.name}]
  operations:
    read: {path: "/things/{thing}"}
    create: {method: PUT, path: "/things/{thing}"}
    update: {method: PUT, path: "/things/{thing}"}
    delete: {path: "/things/{thing}"}
  fields: [{from: spec.size, to: size}]
  parts:
  - name: teams
    forEach: self.spec.?teams.orValue([])
    key: part.name
    identifiers: [{name: id, assigned: response.body.id}]
    operations:
      list: {path: "/things/{thing}/teams", itemKey: item.name}
      create: {path: "/things/{thing}/teams", safety: UniqueKey}
      update: {method: PATCH, path: "/things/{thing}/teams/{id}"}
      delete: {path: "/things/{thing}/teams/{id}"}
    fields: [{from: part.name, to: name}, {from: part.role, to: role}]
    deletion: First
  sync: {interval: 2s, consistencyWindow: 1s, serverSlack: 1s}
`

const teamsSpec lab.Schema = `
              size: {type: integer}
              teams: {type: array, items: {type: object, properties: {name: {type: string}, role: {type: string}}}}`

// TestPartsOfACustomResource shows one custom resource with objects that belong to it, from its creation to its end.
func TestPartsOfACustomResource(t *testing.T) {
	l := lab.New(t)
	server := l.NewServer([]restfake.Collection{
		{Path: "/things", IDs: restfake.Chosen, Upsert: true},
		{Path: "/things/{thing}/teams", Unique: [][]string{{"name"}}, DuplicateKey: "name"},
	})
	kind := l.NewKind(teamsSpec)
	kind.Endpoint(server.URL, "  timeout: 2s")
	kind.Mapping(teamsMapping)
	teams := func(want ...string) {
		t.Helper()
		l.Eventually("the teams outside", func() string {
			var got []string
			for _, o := range server.Live("/things/{thing}/teams") {
				got = append(got, fmt.Sprintf("%v=%v", o.Fields["name"], o.Fields["role"]))
			}
			slices.Sort(got)
			return cmp.Diff(want, got)
		})
	}

	kind.Create("one", "{size: 3, teams: [{name: dev, role: write}, {name: ops, role: admin}]}")
	kind.Ready("one")
	teams("dev=write", "ops=admin")

	// Steady: one request for the object, one for its teams, and nothing at the API server.
	version := kind.Get("one").GetResourceVersion()
	reads, lists := server.Count("GET", "/things/{id}"), server.Count("GET", "/things/{thing}/teams")
	l.Eventually("more looks", func() string {
		if server.Count("GET", "/things/{thing}/teams") < lists+3 {
			return "not yet"
		}
		return ""
	})
	reads, lists = server.Count("GET", "/things/{id}")-reads, server.Count("GET", "/things/{thing}/teams")-lists
	if reads < lists || reads > lists+1 || kind.Get("one").GetResourceVersion() != version {
		t.Errorf("%d reads and %d lists; the version went from %s to %s", reads, lists, version, kind.Get("one").GetResourceVersion())
	}

	if err := server.Change("/things/one/teams/1", func(f map[string]any) { f["role"] = "read" }); err != nil {
		t.Fatal(err)
	}
	teams("dev=write", "ops=admin")

	kind.Patch("one", `{"spec":{"teams":[{"name":"ops","role":"admin"},{"name":"qa","role":"read"}]}}`)
	teams("ops=admin", "qa=read")
	kind.Ready("one")

	kind.Patch("one", `{"spec":{"teams":[{"name":"ops"},{"name":"ops"}]}}`)
	if message := kind.Stalled("one", "RuleViolated"); !strings.Contains(message, "the key ops") {
		t.Errorf("the message does not name the key: %s", message)
	}
	teams("ops=admin", "qa=read")

	kind.Delete("one")
	kind.Gone("one")
	teams()
	if live := server.Live("/things"); len(live) != 0 {
		t.Errorf("left outside: %v", live)
	}
	if twice := server.Duplicates(); len(twice) > 0 {
		t.Errorf("doubled outside: %v", twice)
	}
}
