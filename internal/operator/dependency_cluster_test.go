//go:build cluster

package operator_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/restmapping/operator/internal/lab"
	"github.com/restmapping/operator/internal/restfake"
)

// each is how many custom resources use one thing, and how many another.
const each = 5

// members are the names of those who use one thing.
func members(of string) []string {
	names := make([]string, each)
	for i := range names {
		names[i] = fmt.Sprintf("%s-%d", of, i)
	}
	return names
}

// touched gives the last segments of the paths that were asked for since a number of requests.
func touched(server *lab.Server, since int) []string {
	var names []string
	for _, r := range server.Requests()[since:] {
		names = append(names, r.Path[strings.LastIndex(r.Path, "/")+1:])
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// worked waits until exactly the members were worked on since then: all of them, and nobody else.
func worked(t *testing.T, l *lab.Lab, server *lab.Server, since int, of string) {
	t.Helper()
	want := members(of)
	l.Eventually("all that use it are worked on", func() string {
		if got := touched(server, since); len(got) < each {
			return fmt.Sprint(got)
		}
		return ""
	})
	if got := touched(server, since); !slices.Equal(got, want) {
		t.Errorf("worked on were %v, want %v", got, want)
	}
}

// TestExactlyThoseThatUseItAreWorkedOnAgain: a Secret, another custom resource or an output changes. No clock is near, so what
// is worked on is worked on because of that.
func TestExactlyThoseThatUseItAreWorkedOnAgain(t *testing.T) {
	l := lab.New(t)
	t.Run("a Secret", func(t *testing.T) { changedSecret(t, l.In(t)) })
	t.Run("a custom resource", func(t *testing.T) { changedParent(t, l.In(t)) })
	t.Run("a ConfigMap", func(t *testing.T) { changedOutput(t, l.In(t)) })
}

func changedSecret(t *testing.T, l *lab.Lab) {
	t.Helper()
	server := l.NewServer([]restfake.Collection{secretThings})
	kind := l.NewKind("")
	kind.Endpoint(server.URL, "  timeout: 5s")
	kind.Mapping(strings.Replace(secretMapping, "interval: 2s", "interval: 10m", 1))
	for _, of := range []string{"a", "b"} {
		kind.Secret(of, "password", "first-password")
		for _, name := range members(of) {
			kind.Create(name, "{size: 3, passwordRef: {name: "+of+", key: password}}")
		}
	}
	kind.Ready(slices.Concat(members("a"), members("b"))...)
	since := len(server.Requests())
	kind.Secret("a", "password", "second-password")
	l.Eventually("the new password is outside", func() string {
		for _, name := range members("a") {
			if got, _ := server.Get("/things/" + name); got.Fields["password"] != "second-password" {
				return name
			}
		}
		return ""
	})
	worked(t, l, server, since, "a")
	for _, name := range members("b") {
		if got, _ := server.Get("/things/" + name); got.Fields["password"] != "first-password" {
			t.Errorf("%s was sent another password", name)
		}
	}
}

func changedParent(t *testing.T, l *lab.Lab) {
	t.Helper()
	server := l.NewServer(family)
	parent, child := newFamily(l, server)
	parent.Mapping(parentMapping)
	child.Mapping(childMapping(parent, ""))
	for _, of := range []string{"a", "b"} {
		parent.Create(of, "{size: 7}")
		for _, name := range members(of) {
			child.Create(name, "{size: 1, owner: "+of+"}")
		}
	}
	// What a child refers to is ready a moment before the child hears of it.
	child.Ready(slices.Concat(members("a"), members("b"))...)
	since := len(server.Requests())
	parent.Patch("a", `{"spec":{"size":8}}`)
	l.Eventually("the parent's size is at its children", func() string {
		for _, name := range members("a") {
			if got, _ := server.Get("/children/" + name); lab.Int(got.Fields["parentSize"]) != 8 {
				return name
			}
		}
		return ""
	})
	children := map[string]bool{}
	for _, r := range server.Requests()[since:] {
		if name, found := strings.CutPrefix(r.Path, "/children/"); found {
			children[name] = true
		}
	}
	for _, name := range members("b") {
		if children[name] {
			t.Errorf("%s was worked on, whose parent did not change", name)
		}
	}
	if len(children) != each {
		t.Errorf("worked on were %v", children)
	}
}

func changedOutput(t *testing.T, l *lab.Lab) {
	t.Helper()
	grantOutputs(t, l)
	server := l.NewServer([]restfake.Collection{upsertThings})
	kind := l.NewKind("")
	kind.Endpoint(server.URL, "  timeout: 5s")
	kind.Mapping(lazyMapping + "  outputs:\n  - {name: facts, kind: ConfigMap, data: {size: observed.size}}\n")
	names := slices.Concat(members("a"), members("b"))
	for _, name := range names {
		kind.Create(name, "{size: 3}")
	}
	kind.Ready(names...)
	maps := l.Client.Resource(configMapGVR).Namespace(kind.Namespace)
	since := len(server.Requests())
	for _, name := range members("a") {
		_, err := maps.Patch(t.Context(), name+"-facts", "application/merge-patch+json", []byte(`{"data":{"size":"somebody's"}}`), metav1.PatchOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	l.Eventually("what somebody wrote is put back", func() string {
		for _, name := range members("a") {
			got, err := maps.Get(t.Context(), name+"-facts", metav1.GetOptions{})
			if err != nil {
				return err.Error()
			}
			if text := fmt.Sprint(got.Object["data"]); text != "map[size:3]" {
				return name + " is " + text
			}
		}
		return ""
	})
	worked(t, l, server, since, "a")
	for _, r := range server.Requests()[since:] {
		if r.Method != http.MethodGet {
			t.Errorf("%s %s was sent although nothing changed outside", r.Method, r.Path)
		}
	}
}
