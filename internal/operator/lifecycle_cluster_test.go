//go:build cluster

package operator_test

import (
	"flag"
	"os"
	"testing"

	"github.com/restmapping/operator/internal/controlplane"
	"github.com/restmapping/operator/internal/lab"
	"github.com/restmapping/operator/internal/restfake"
)

func TestMain(m *testing.M) {
	flag.Parse()
	// The parts of a test that run in parallel wait for servers and intervals; they do not compute.
	if err := flag.Set("test.parallel", "12"); err != nil {
		panic(err)
	}
	os.Exit(controlplane.Main(m, controlplane.Options{}))
}

// upsertMapping is of a kind whose name the client chooses: PUT makes and changes it.
const upsertMapping = `
  identifiers: [{name: id, value: self.metadata.name}]
  operations:
    read: {path: "/things/{id}"}
    create: {method: PUT, path: "/things/{id}"}
    update: {method: PUT, path: "/things/{id}"}
    delete: {path: "/things/{id}"}
  fields:
  - {from: spec.size, to: size}
  - {from: spec.color, to: color}
  status: [{to: size, value: observed.size}]
  sync: {interval: 2s, consistencyWindow: 1s, serverSlack: 1s}
`

func TestObjectIsCreatedCorrectedAndDeleted(t *testing.T) {
	l := lab.New(t)
	server := l.NewServer([]restfake.Collection{{Path: "/things", IDs: restfake.Chosen, Upsert: true}})
	kind := l.NewKind("")
	kind.Endpoint(server.URL, "  timeout: 2s")
	kind.Mapping(upsertMapping)
	kind.MappingCondition("Ready", "True", "Serving")

	kind.Create("one", "{size: 3, color: red}")
	kind.Ready("one")
	if got, ok := server.Get("/things/one"); !ok || got.Fields["color"] != "red" {
		t.Fatalf("the object outside is %v", got)
	}

	if err := server.Change("/things/one", func(f map[string]any) { f["color"] = "blue" }); err != nil {
		t.Fatal(err)
	}
	l.Eventually("drift is put back", func() string {
		if got, _ := server.Get("/things/one"); got.Fields["color"] != "red" {
			return "color is still blue"
		}
		return ""
	})

	kind.Patch("one", `{"spec":{"size":4}}`)
	kind.Ready("one")
	if got, _ := server.Get("/things/one"); lab.Int(got.Fields["size"]) != 4 {
		t.Fatalf("size is %v", got.Fields["size"])
	}

	kind.Delete("one")
	kind.Gone("one")
	if live := server.Live("/things"); len(live) != 0 {
		t.Fatalf("left outside: %v", live)
	}
}
