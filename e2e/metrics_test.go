//go:build e2e

package e2e_test

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/restmapping/operator/e2e/suite"
)

const faults = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gauges.metered.example.com}
spec:
  group: metered.example.com
  names: {kind: Gauge, plural: gauges, singular: gauge}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {note: {type: string}}}, status: {type: object, x-kubernetes-preserve-unknown-fields: true}}}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: metered-gauges, labels: {restmapping.dev/aggregate-to-operator: "true"}}
rules:
- {apiGroups: [metered.example.com], resources: ["*"], verbs: [get, list, watch, patch, update]}
---
apiVersion: restmapping.dev/v1alpha1
kind: RestEndpoint
metadata: {name: down}
spec: {baseURL: "http://127.0.0.1:1", probe: {path: /me}}
---
apiVersion: restmapping.dev/v1alpha1
kind: RestMapping
metadata: {name: gauges}
spec:
  target: {group: metered.example.com, version: v1, kind: Gauge}
  endpoint: {kind: RestEndpoint, name: down}
  identifiers: [{name: id, value: self.metadata.name}]
  operations: {read: {path: "/gauges/{id}"}}
---
apiVersion: restmapping.dev/v1alpha1
kind: RestMapping
metadata: {name: broken}
spec:
  target: {group: metered.example.com, version: v1, kind: Gauge}
  endpoint: {kind: RestEndpoint, name: down}
  identifiers: [{name: id, value: self.spec.nothing}]
  operations: {read: {path: "/gauges/{id}"}}
`

// TestMetricsOfAnInstalledOperator scrapes an operator at which faults were made: each metric that an alert asks for is there, and
// those that tell of these faults have the values at which the alerts fire.
func TestMetricsOfAnInstalledOperator(t *testing.T) {
	s := suite.New(t, "--leader-elect")
	s.Apply("%s", faults)
	scrape := func() string {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.Operator.Metrics, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return err.Error()
		}
		defer func() { _ = resp.Body.Close() }()
		text, err := io.ReadAll(io.LimitReader(resp.Body, 16<<20))
		if err != nil {
			return err.Error()
		}
		return string(text)
	}
	for _, line := range []string{
		`restmapping_mapping_condition{condition="Accepted",mapping="broken"} 0`,
		`restmapping_mapping_condition{condition="Accepted",mapping="gauges"} 1`,
		`restmapping_endpoint_condition{condition="Ready",endpoint="RestEndpoint default/down"} 0`,
		`restmapping_http_requests_total{class="failed",endpoint="RestEndpoint default/down",operation="Probe"} `,
		`leader_election_master_status{name="restmapping-operator.restmapping.dev"} 1`,
	} {
		s.Eventually(line, func() string {
			if strings.Contains(scrape(), "\n"+line) {
				return ""
			}
			return "not there"
		})
	}
	rules, err := os.ReadFile(filepath.Join(s.Root, "deploy", "helm", "restmapping-operator", "files", "alerts.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	text := scrape()
	for _, name := range regexp.MustCompile(`\b(?:restmapping|leader_election)_[a-z_]+`).FindAllString(string(rules), -1) {
		if strings.HasSuffix(name, "_certificate_expiry_timestamp_seconds") {
			continue // there is neither a webhook nor a client certificate here
		}
		if !strings.Contains(text, "\n"+name+"{") {
			t.Errorf("an alert asks for %s, which an operator does not have", name)
		}
	}
}
