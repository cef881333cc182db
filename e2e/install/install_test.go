//go:build install

package install_test

import (
	"strings"
	"testing"
	"time"

	"github.com/restmapping/operator/e2e/install/images"
)

// TestInstallation goes the way of an installation, from helm install to helm uninstall. The steps need each other, so the
// first that fails ends it.
func TestInstallation(t *testing.T) {
	s := newScene(t)
	s.walk(newRelease("main", ""), []step{
		{"pods run under the restricted policy", (*scene).install},
		{"a mapping works", (*scene).work},
		{"a leader that crashes is replaced", (*scene).failover},
		{"an upgrade sends nothing again", (*scene).upgrade},
		{"a node is drained", (*scene).drain},
		{"a release for one namespace stands beside it", (*scene).beside},
		{"uninstalling leaves nothing and deletes nothing outside", (*scene).uninstall},
		{"a second installation goes on where the first ended", (*scene).again},
	})
}

// step is a part of a test that needs those before it.
type step struct {
	name string
	run  func(*scene, release)
}

// walk runs steps, up to the first that fails.
func (s *scene) walk(r release, steps []step) {
	for _, step := range steps {
		if !s.t.Run(step.name, func(t *testing.T) {
			part := s.in(t)
			step.run(part, r)
			s.server = part.server
		}) {
			return
		}
	}
}

func (s *scene) install(r release) {
	s.serve()
	s.restricted(r.namespace)
	s.helm(r, "install")
	for _, pod := range s.running(r) {
		s.t.Logf("pod %s runs on %s", pod.Name, pod.Spec.NodeName)
		for _, status := range pod.Status.ContainerStatuses {
			if status.RestartCount != 0 {
				s.t.Errorf("pod %s started %d times again; before it said:\n%s", pod.Name, status.RestartCount,
					s.kubectl("logs", pod.Name, "--namespace", r.namespace, "--previous", "--tail=20"))
			}
		}
	}
	s.leader(r, "")
}

func (s *scene) work(release) {
	s.apply(kind)
	s.apply(mapping)
	s.team("team-a")
	s.make("team-a", 1, 5)
	s.ready("team-a", 5)
	if found := s.report(); found.Count("POST") != 5 || len(found.Changes) != 5 || found.Duplicates != 0 {
		s.t.Errorf("five things were to be made once each: %+v", found)
	}
}

// failover kills the leader in the middle of work.
func (s *scene) failover(r release) {
	holder, pod := s.leader(r, "")
	s.make("team-a", 6, 45)
	s.eventually("work under way", func() string {
		if s.report().Count("POST") > 5 {
			return ""
		}
		return "nothing was made yet"
	})
	killed := s.kill(r, pod)
	s.t.Logf("killed the leader after %d of 45 creates", s.report().Count("POST"))
	next, _ := s.leader(r, holder)
	s.t.Logf("%s holds the lease %.1f s after the leader %s was killed", next, time.Since(killed).Seconds(), holder)
	s.make("team-a", 46, 46)
	s.ready("team-a", 46)
	s.t.Logf("all things were ready %.1f s after the kill", time.Since(killed).Seconds())
	if found := s.report(); found.Count("POST") != 46 || found.Duplicates != 0 {
		s.t.Errorf("46 things were to be made once each: %d creates, %d duplicates", found.Count("POST"), found.Duplicates)
	}
	s.running(r)
}

// upgrade rolls out another image.
func (s *scene) upgrade(r release) {
	before, made := s.ready("team-a", 46), len(s.report().Changes)
	s.helm(r, "upgrade", "--set", "image.tag="+images.New)
	for _, pod := range s.running(r) {
		if image := pod.Spec.Containers[0].Image; !strings.HasSuffix(image, images.New) {
			s.t.Errorf("pod %s runs %s", pod.Name, image)
		}
	}
	s.eventually("looks of the new version", func() string {
		if agent := s.report().LastAgent; !strings.HasSuffix(agent, "/"+images.New) {
			return "the last look was by " + agent
		}
		return ""
	})
	after := s.ready("team-a", 46)
	for name, item := range after {
		if was := before[name]; item.GetUID() != was.GetUID() {
			s.t.Errorf("%s was made again", name)
		}
	}
	if found := s.report(); len(found.Changes) != made {
		s.t.Errorf("the upgrade sent changes: %+v", found.Changes[made:])
	}
}
