//go:build install

package install_test

import (
	"slices"
	"strings"
)

// uninstall takes both releases away, and finds that nothing of them is left and that nothing outside was touched.
func (s *scene) uninstall(r release) {
	// What the second release manages goes first: nobody else could delete it afterwards.
	s.kubectl("delete", "things", "--all", "--namespace=team-b", "--timeout=120s")
	made := len(s.report().Changes)
	s.helm(secondRelease(), "uninstall", "--wait")
	s.helm(r, "uninstall", "--wait")
	for _, gone := range []release{r, secondRelease()} {
		s.nothingOf(gone)
	}
	if changes := s.report().Changes[made:]; len(changes) > 0 {
		s.t.Errorf("uninstalling sent changes: %+v", changes)
	}
	s.kubectl("get", "restmapping", "things")
	if found := s.ready("team-a", 47); len(found) != 47 {
		s.t.Errorf("%d things are left", len(found))
	}
}

// kept are what an uninstallation leaves in the namespace, as the chart says: the key that signs records, and the lease. The
// rest Kubernetes puts into every namespace.
var kept = []string{
	"configmap/kube-root-ca.crt", "lease.coordination.k8s.io/restmapping-operator.restmapping.dev", "secret/restmapping-operator-key",
	"serviceaccount/default",
}

// nothingOf fails when something carries a release's label, or is left in its namespace.
func (s *scene) nothingOf(r release) {
	s.t.Helper()
	s.eventually("nothing left of "+r.name, func() string {
		labelled := s.names("--all-namespaces", "--selector=app.kubernetes.io/instance="+r.name, s.kinds())
		labelled = slices.DeleteFunc(labelled, func(name string) bool { return strings.HasPrefix(name, "customresourcedefinition") })
		inside := s.names("--namespace="+r.namespace, s.kinds("--namespaced"))
		inside = slices.DeleteFunc(inside, func(name string) bool { return slices.Contains(kept, name) })
		return strings.Join(append(labelled, inside...), " ")
	})
}

// kinds are all that can be listed, but events, and what kubectl warns of.
func (s *scene) kinds(args ...string) string {
	s.t.Helper()
	names := strings.Fields(s.kubectl(append([]string{"api-resources", "--verbs=list", "--output=name"}, args...)...))
	names = slices.DeleteFunc(names, func(name string) bool {
		kind, _, _ := strings.Cut(name, ".")
		return kind == "events" || name == "componentstatuses" || name == "endpoints"
	})
	return strings.Join(names, ",")
}

// names lists objects as kind/name.
func (s *scene) names(args ...string) []string {
	s.t.Helper()
	out := s.kubectl(append([]string{"get", "--output=name", "--ignore-not-found", "--show-kind"}, args...)...)
	return strings.Fields(out)
}

// again installs the chart a second time: it finds its key, its records and the objects, and sends nothing. Then all goes.
func (s *scene) again(r release) {
	before := s.report()
	made, last := len(before.Changes), before.Last
	s.helm(r, "install")
	s.running(r)
	s.leader(r, "")
	// Looks at what was in order are spread over the interval, so not all of them are waited for.
	s.eventually("a look after the second installation", func() string {
		if s.report().Last == last {
			return "none yet"
		}
		return ""
	})
	if changes := s.report().Changes[made:]; len(changes) > 0 {
		s.t.Errorf("installing again sent changes: %+v", changes)
	}
	s.kubectl("delete", "things", "--all", "--namespace=team-a", "--timeout=180s")
	found := s.report()
	if changes := found.Changes[made:]; len(changes) != 47 || found.Count("DELETE") != 47+3 {
		s.t.Errorf("47 things were to be deleted after the three of the other team: %d changes, %d deletes", len(changes), found.Count("DELETE"))
	}
	s.kubectl("delete", "restmapping", "things", "--timeout=120s")
	s.helm(r, "uninstall", "--wait")
	s.nothingOf(r)
}
