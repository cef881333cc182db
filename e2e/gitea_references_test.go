//go:build e2e

package e2e_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/restmapping/operator/e2e/suite"
)

// giteaReferences: a repository and a team that refer to an Organization resource. Nothing is sent before that is ready, and
// it is not deleted in Gitea before them.
func giteaReferences(t *testing.T, s *suite.Suite, api *suite.API) {
	t.Helper()
	children := []string{"repository/referring", "team/referring"}
	s.Apply(`
apiVersion: gitea.example.com/v1alpha1
kind: Repository
metadata: {name: referring}
spec: {organizationRef: {name: people}}
---
apiVersion: gitea.example.com/v1alpha1
kind: Team
metadata: {name: referring}
spec: {organizationRef: {name: people}, units: {repo.code: write}}
`)
	for _, child := range children {
		reads(s, child, "Ready", "ReferenceNotFound", "Organization default/people")
	}
	s.Apply("apiVersion: gitea.example.com/v1alpha1\nkind: Organization\nmetadata: {name: people}\nspec: {name: the-people, visibility: private}\n")
	s.Ready("organization/people")
	for _, child := range children {
		s.Ready(child)
	}
	if api.Object("/repos/the-people/referring") == nil {
		t.Error("want the repository in the organization under the name that it has in Gitea")
	}
	s.Kubectl("delete", "organization/people", "--wait=false")
	reads(s, "organization/people", "Ready", "WaitingForDependents", "referring")
	if status, _ := api.Do(http.MethodGet, "/orgs/the-people", ""); status != http.StatusOK {
		t.Errorf("want the organization to be there as long as something refers to it, got %d", status)
	}
	s.Kubectl("delete", "repository/referring", "team/referring", "--timeout=120s")
	s.Kubectl("wait", "--for=delete", "organization/people", "--timeout=120s")
	if api.Object("/orgs/the-people") != nil {
		t.Error("the organization is still in Gitea")
	}
}

// reads waits until a condition has a reason, and a message with these words.
func reads(s *suite.Suite, resource, condition, reason, words string) {
	s.TB.Helper()
	const field = "{.status.conditions[?(@.type==\"%\")].reason} {.status.conditions[?(@.type==\"%\")].message}"
	s.Eventually(resource+" says "+reason, func() string {
		got := s.Kubectl("get", resource, "-o", "jsonpath="+strings.ReplaceAll(field, "%", condition))
		if strings.HasPrefix(got, reason+" ") && strings.Contains(got, words) {
			return ""
		}
		return got
	})
}
