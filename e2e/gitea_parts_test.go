//go:build e2e

package e2e_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/restmapping/operator/e2e/suite"
)

// organizationWithTeams is one resource for an organization and two teams in it.
const organizationWithTeams = `
apiVersion: gitea.example.com/v1alpha1
kind: Organization
metadata: {name: team-b}
spec:
  fullName: Team B
  teams:
  - {name: developers, description: They write the code, units: {repo.code: write, repo.issues: write}, includesAllRepositories: true}
  - {name: leads, admin: true}
`

// giteaParts takes an organization with teams through its life: made, one changed by hand, one taken out and one added, one
// that was there before left alone.
func giteaParts(t *testing.T, s *suite.Suite, api *suite.API) {
	t.Helper()
	s.Apply(organizationWithTeams)
	s.Ready("organization/team-b")
	teams(t, s, api, "Owners", "developers", "leads")

	developers := teamOf(api, "developers")
	api.Must(http.MethodPatch, "/teams/"+number(developers["id"]), `{"description":"by hand"}`)
	s.Eventually("the team is put back", func() string {
		if got := teamOf(api, "developers")["description"]; got != "They write the code" {
			return "its description is " + got.(string)
		}
		return ""
	})
	s.Eventually("the status tells what was put back", func() string {
		drift := s.Kubectl("get", "organization/team-b", "-o", "jsonpath={.status.drift}")
		if !strings.Contains(drift, "parts.teams[developers].description") {
			return drift
		}
		return ""
	})
	s.Ready("organization/team-b")

	api.Must(http.MethodPost, "/orgs/team-b/teams", `{"name":"guests","permission":"read","units_map":{"repo.code":"read"}}`)
	s.Kubectl("patch", "organization/team-b", "--type=merge", "-p",
		`{"spec":{"teams":[{"name":"developers","units":{"repo.code":"write"}},{"name":"testers","units":{"repo.issues":"write"}}]}}`)
	s.Ready("organization/team-b")
	teams(t, s, api, "Owners", "developers", "guests", "testers")

	s.Kubectl("patch", "organization/team-b", "--type=merge", "-p", `{"spec":{"teams":[{"name":"Guests","units":{"repo.code":"write"}}]}}`)
	s.Kubectl("wait", "--for=condition=Stalled", "organization/team-b", "--timeout=60s")
	teams(t, s, api, "Owners", "guests")
	s.Kubectl("delete", "organization/team-b", "--timeout=120s")
	if api.Object("/orgs/team-b") != nil {
		t.Error("the organization is still in Gitea")
	}
}

// teams waits until the organization has these teams.
func teams(t *testing.T, s *suite.Suite, api *suite.API, want ...string) {
	t.Helper()
	s.Eventually("the teams of the organization", func() string {
		var got []string
		for _, item := range api.List("/orgs/team-b/teams") {
			team, _ := item.(map[string]any)
			name, _ := team["name"].(string)
			got = append(got, name)
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			return strings.Join(got, ", ")
		}
		return ""
	})
}

func teamOf(api *suite.API, name string) map[string]any {
	for _, item := range api.List("/orgs/team-b/teams") {
		if team, ok := item.(map[string]any); ok && team["name"] == name {
			return team
		}
	}
	return map[string]any{}
}
