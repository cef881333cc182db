//go:build install

package install_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/restmapping/operator/e2e/install/images"
)

// TestInstallationWithWebhooks goes the same way with the webhook and the operator's own certificate.
func TestInstallationWithWebhooks(t *testing.T) {
	s := newScene(t)
	// Of the same name as the other test's, so that it takes over the CRDs that are kept.
	hooked := newRelease("main", "webhooks: {enabled: true}")
	s.walk(hooked, []step{
		{"pods run with their own certificate", (*scene).install},
		{"a mapping works", (*scene).workHooked},
		{"what cannot work is refused", (*scene).refuse},
		{"a leader that crashes is replaced", (*scene).failoverHooked},
		{"an upgrade sends nothing again", (*scene).upgradeHooked},
		{"uninstalling leaves nothing", (*scene).uninstallHooked},
	})
}

const wrongMapping = `
apiVersion: restmapping.dev/v1alpha1
kind: RestMapping
metadata: {name: wrong}
spec:
  target: {group: install.example.com, version: v1, kind: Thing}
  endpoint: {kind: RestEndpoint, name: server}
  identifiers: [{name: id, value: self.metadata.nam}]
  operations:
    read: {path: "/things/{id}"}
    create: {method: PUT, path: "/things/{id}"}
    delete: {path: "/things/{id}"}
  fields: [{from: spec.size, to: size}]
`

func (s *scene) workHooked(release) {
	s.apply(kind)
	// The certificate is made by the first leader, and reaches the pods' volumes within about a minute.
	s.eventually("the webhook lets a good mapping in", func() string {
		if out, err := s.run(mapping, "kubectl", "apply", "-f", "-"); err != nil {
			return out
		}
		return ""
	})
	made := s.report()
	s.team("team-hooked")
	s.make("team-hooked", 1, 5)
	s.ready("team-hooked", 5)
	if found := s.report(); found.Count("POST") != made.Count("POST")+5 || found.Duplicates != 0 {
		s.t.Errorf("five things were to be made once each: %+v", found.Changes[len(made.Changes):])
	}
}

// refuse holds the webhook to its job: nothing but its answer names the field and what is wrong with the expression.
func (s *scene) refuse(release) {
	out, err := s.run(wrongMapping, "kubectl", "apply", "-f", "-")
	if err == nil || !strings.Contains(out, "spec.identifiers[0].value") || !strings.Contains(out, "unknown field 'nam'") {
		s.t.Errorf("a mapping with a wrong expression: %v\n%s", err, out)
	}
}

func (s *scene) failoverHooked(r release) {
	holder, pod := s.leader(r, "")
	killed := s.kill(r, pod)
	s.leader(r, holder)
	s.t.Logf("another holds the lease %.1f s after the leader was killed", time.Since(killed).Seconds())
	s.running(r)
	s.refuse(r)
}

func (s *scene) upgradeHooked(r release) {
	made := len(s.report().Changes)
	secret := s.certificate(r)
	s.helm(r, "upgrade", "--set", "image.tag="+images.New)
	s.running(r)
	s.refuse(r)
	if s.certificate(r) != secret {
		s.t.Error("the upgrade took the certificate away")
	}
	s.make("team-hooked", 6, 6)
	s.ready("team-hooked", 6)
	if changes := s.report().Changes[made:]; len(changes) != 1 {
		s.t.Errorf("one thing was to be made after the upgrade: %+v", changes)
	}
}

// certificate is what the operator shows to the API server.
func (s *scene) certificate(r release) string {
	s.t.Helper()
	secret, err := s.client.CoreV1().Secrets(r.namespace).Get(s.t.Context(), r.deployment()+"-webhook", metav1.GetOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	if len(secret.Data["tls.crt"]) == 0 {
		s.t.Error("the Secret of the webhook holds no certificate")
	}
	return string(secret.Data["tls.crt"])
}

// uninstallHooked finds afterwards that mappings can be written without anybody to ask.
func (s *scene) uninstallHooked(r release) {
	s.kubectl("delete", "things", "--all", "--namespace=team-hooked", "--timeout=180s")
	s.kubectl("delete", "restmapping", "things", "--timeout=120s")
	s.helm(r, "uninstall", "--wait")
	s.nothingOf(r)
	s.apply(wrongMapping)
	s.kubectl("delete", "restmapping", "wrong", "--timeout=60s")
}
