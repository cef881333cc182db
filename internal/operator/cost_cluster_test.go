//go:build cluster

package operator_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/restmapping/operator/internal/lab"
	"github.com/restmapping/operator/internal/restfake"
)

// uniqueMapping: POST to a collection, the name chosen by the client and refused twice.
const uniqueMapping = `
  identifiers: [{name: id, value: self.metadata.name}]
  operations:
    read: {path: "/things/{id}"}
    create: {path: "/things"}
    update: {method: PATCH, path: "/things/{id}"}
    delete: {path: "/things/{id}"}
  fields:
  - {to: id, value: self.metadata.name, operations: [Create]}
  - {from: spec.size, to: size}
  sync: {interval: 2s, consistencyWindow: 1s, serverSlack: 1s}
`

// markerMapping: the id is the server's, and a field carries the UID.
const markerMapping = `
  identifiers: [{name: id, assigned: response.body.id}]
  operations:
    read: {path: "/things/{id}"}
    list: {path: "/things", match: "item.note == self.metadata.uid"}
    create: {path: "/things", select: response.body}
    update: {method: PATCH, path: "/things/{id}"}
    delete: {path: "/things/{id}"}
  fields:
  - {to: note, value: self.metadata.uid, operations: [Create]}
  - {from: spec.size, to: size}
  sync: {interval: 2s, consistencyWindow: 1s, serverSlack: 1s}
`

// noneMapping: the id is the server's, and nothing can be searched for.
const noneMapping = `
  identifiers: [{name: id, assigned: response.body.id}]
  operations:
    read: {path: "/things/{id}"}
    create: {path: "/things"}
    update: {method: PATCH, path: "/things/{id}"}
    delete: {path: "/things/{id}"}
  fields:
  - {from: spec.size, to: size}
  sync: {interval: 2s, consistencyWindow: 1s, serverSlack: 1s}
`

// TestWhatACreateCosts holds the number of writes at the API server for one created object against what is promised.
func TestWhatACreateCosts(t *testing.T) {
	l := lab.New(t)
	cases := map[string]struct {
		mapping    string
		collection restfake.Collection
		writes     int
	}{
		"upsert":           {upsertMapping, restfake.Collection{Path: "/things", IDs: restfake.Chosen, Upsert: true}, 2},
		"unique key":       {uniqueMapping, restfake.Collection{Path: "/things", IDs: restfake.Chosen}, 2},
		"marker":           {markerMapping, restfake.Collection{Path: "/things"}, 3},
		"no create safety": {noneMapping, restfake.Collection{Path: "/things"}, 3},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			const objects = 20
			server := l.NewServer([]restfake.Collection{tc.collection})
			kind := l.NewKind("")
			kind.Endpoint(server.URL, "  timeout: 2s")
			kind.Mapping(tc.mapping)
			kind.MappingCondition("Ready", "True", "Serving")
			before := l.Counters()
			for i := range objects {
				kind.Create(fmt.Sprintf("n%d", i), "{size: 3}")
			}
			for i := range objects {
				kind.Ready(fmt.Sprintf("n%d", i))
			}
			spent := l.Counters().Since(before)
			got := spent.Writes(kind.Group, kind.GVR.Resource) - objects // the creates are the test's own
			if got > tc.writes*objects {
				t.Errorf("%d objects cost %d writes, more than %d each", objects, got, tc.writes)
			}
			if live := server.Live("/things"); len(live) != objects {
				t.Errorf("%d objects outside, want %d", len(live), objects)
			}
			t.Logf("%s: %d writes for %d objects; requests %v", name, got, objects, server.Counts())
		})
	}
}

// TestSteadyStateIsFree: nothing changes, so nothing is written or read at the API server, and each object is asked for
// once an interval at most.
func TestSteadyStateIsFree(t *testing.T) {
	l := lab.New(t)
	const objects, intervals, interval = 1000, 5, 4 * time.Second
	server := l.NewServer([]restfake.Collection{upsertThings}, restfake.WithoutRecord())
	kind := l.NewKind("")
	kind.Endpoint(server.URL, "  timeout: 5s\n  limits: {requestsPerSecond: 5000, burst: 5000}")
	kind.Mapping(strings.Replace(upsertMapping, "interval: 2s", "interval: "+interval.String(), 1))
	for i := range objects {
		kind.Create(fmt.Sprintf("n%d", i), "{size: 3}")
	}
	l.EventuallyWithin(3*time.Minute, "the mapping counts all", func() string {
		if got := kind.MappingSummary(); got != fmt.Sprintf("%d/%d", objects, objects) {
			return got
		}
		return ""
	})
	// Every first look after a create, and the last count of the mapping, are over an interval later.
	server.Forget()
	l.Eventually("every object was looked at again", func() string {
		if n := server.Count("GET", ""); n < objects {
			return fmt.Sprint(n)
		}
		return ""
	})
	before, started := l.Counters(), time.Now()
	server.Forget()
	time.Sleep(intervals * interval)
	spent, requests, took := l.Counters().Since(before), server.Count("", ""), time.Since(started)
	if n := spent.Writes(kind.Group, kind.GVR.Resource) + spent.Writes("restmapping.dev", "restmappings"); n != 0 {
		t.Errorf("%d writes in the steady state: %v", n, spent)
	}
	if n := spent.Reads(kind.Group, kind.GVR.Resource) + spent.Reads("restmapping.dev", "restmappings") + spent.Reads("", "secrets"); n != 0 {
		t.Errorf("%d live reads in the steady state: %v", n, spent)
	}
	if n := server.Count("", "") - server.Count("GET", ""); n != 0 {
		t.Errorf("%d mutating requests", n)
	}
	// The jitter is a tenth, so a little more than one request for each object and interval can fall into the time.
	if most := int(float64(objects)*took.Seconds()/(0.9*interval.Seconds())) + objects; requests > most {
		t.Errorf("%d requests, more than %d", requests, most)
	}
	if requests < objects*(intervals-2) {
		t.Errorf("%d requests: not every object was looked at", requests)
	}
	kind.CheckAll()
	t.Logf("%d objects, %d intervals of %s in %s: API server %v; REST %d requests, %.2f for each object and interval",
		objects, intervals, interval, took.Round(time.Millisecond), spent, requests, float64(requests)/objects/(took.Seconds()/interval.Seconds()))
}
