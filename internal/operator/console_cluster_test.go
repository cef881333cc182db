//go:build cluster

package operator_test

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/restmapping/operator/internal/chart"
	"github.com/restmapping/operator/internal/charttest"
	"github.com/restmapping/operator/internal/console"
	"github.com/restmapping/operator/internal/controlplane"
	"github.com/restmapping/operator/internal/lab"
	"github.com/restmapping/operator/internal/operator"
	"github.com/restmapping/operator/internal/process"
	"github.com/restmapping/operator/internal/restfake"
)

// TestConsole asks the console as people with different rights do: the API server alone decides who may ask what.
func TestConsole(t *testing.T) {
	ports, err := process.FreePorts(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	l := lab.New(t, func(o *operator.Options) {
		applyConsoleRights(t)
		o.ConsoleAddress = fmt.Sprintf("127.0.0.1:%d", ports[0])
	})
	server := l.NewServer([]restfake.Collection{{Path: "/things", IDs: restfake.Chosen, Upsert: true}})
	kind := l.NewKind("")
	kind.Endpoint(server.URL, "  timeout: 2s")
	kind.Mapping(upsertMapping)
	kind.Create("well", "{size: 1}")
	kind.Ready("well")
	c := consoleClient{t, l, fmt.Sprintf("https://127.0.0.1:%d", ports[0])}

	c.expect("", http.MethodGet, "/status", http.StatusUnauthorized)
	c.expect("nobody", http.MethodGet, "/status", http.StatusForbidden)
	c.expect("viewer", http.MethodGet, "/metrics", http.StatusOK)
	c.expect("viewer", http.MethodGet, "/debug/mappings", http.StatusForbidden)
	c.expect("viewer", http.MethodPost, "/reconcile", http.StatusForbidden)
	c.expect("operator", http.MethodGet, "/debug/pprof/goroutine", http.StatusOK)

	var report console.Report
	c.json("viewer", http.MethodGet, "/status?mapping="+kind.GVR.Resource, &report)
	if !report.Leading || len(report.Mappings) != 1 || report.Mappings[0].Synced != 1 || len(report.Objects) != 1 || report.Objects[0].State != console.Ready {
		t.Errorf("the report is %+v", report)
	}
	if page := c.expect("viewer", http.MethodGet, "/status?format=html", http.StatusOK); !strings.Contains(page, "<td>well") {
		t.Errorf("the page lacks the object:\n%s", page)
	}
	before := server.Count("GET", "")
	var result console.Result
	c.json("operator", http.MethodPost, "/reconcile?mapping="+kind.GVR.Resource, &result)
	if result.Asked != 1 || result.Ready != 1 || result.Objects[0].Name != "well" || result.Objects[0].Step == "" {
		t.Errorf("the result is %+v", result)
	}
	if got := server.Count("GET", ""); got == before {
		t.Error("nothing was looked at")
	}
	var served []console.Served
	c.json("operator", http.MethodGet, "/debug/mappings?mapping="+kind.GVR.Resource, &served)
	if len(served) != 1 || served[0].Program == nil || served[0].Program.Operations[0].Path != "/things/{id}" {
		t.Errorf("the programs are %+v", served)
	}
}

// applyConsoleRights applies what the chart has for the console, and people who are bound to its roles.
func applyConsoleRights(t *testing.T) {
	t.Helper()
	var objects []*unstructured.Unstructured
	name := charttest.Release + "-console"
	for _, object := range charttest.Objects(t, map[string]any{"console": map[string]any{"enabled": true}}) {
		if strings.HasPrefix(object.GetName(), name) && object.GetKind() != "Service" {
			objects = append(objects, object)
		}
	}
	manifest, err := chart.Encode(objects)
	if err != nil {
		t.Fatal(err)
	}
	people := "\n---\napiVersion: v1\nkind: ServiceAccount\nmetadata: {name: nobody, namespace: default}\n"
	for person, role := range map[string]string{"viewer": name + "-view", "operator": name + "-operate"} {
		people += fmt.Sprintf("---\napiVersion: v1\nkind: ServiceAccount\nmetadata: {name: %[1]s, namespace: default}\n---\n"+
			"apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: console-%[1]s}\n"+
			"roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: %[2]s}\n"+
			"subjects: [{kind: ServiceAccount, name: %[1]s, namespace: default}]\n", person, role)
	}
	if err := controlplane.ApplyYAML(t.Context(), controlplane.ForTest(t).Admin(), append(manifest, people...)); err != nil {
		t.Fatal(err)
	}
}

type consoleClient struct {
	*testing.T
	lab  *lab.Lab
	base string
}

// expect asks as a person, without a token when it is "", and gives the body of the answer.
func (c consoleClient) expect(person, method, path string, status int) string {
	c.Helper()
	got, body := c.ask(person, method, path)
	if got != status {
		c.Errorf("%q: %s %s: %d %s, want %d", person, method, path, got, body, status)
	}
	return body
}

func (c consoleClient) json(person, method, path string, into any) {
	c.Helper()
	status, body := c.ask(person, method, path)
	if status != http.StatusOK {
		c.Fatalf("%s %s: %d %s", method, path, status, body)
	}
	if err := json.Unmarshal([]byte(body), into); err != nil {
		c.Fatal(err)
	}
}

func (c consoleClient) ask(person, method, path string) (status int, body string) {
	c.Helper()
	request, err := http.NewRequestWithContext(c.Context(), method, c.base+path, http.NoBody)
	if err != nil {
		c.Fatal(err)
	}
	request.Header.Set("Accept", "application/json")
	if person != "" {
		access, err := controlplane.ForTest(c.T).As(c.Context(), "default", person)
		if err != nil {
			c.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+access.BearerToken)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} // nobody has signed it
	defer transport.CloseIdleConnections()
	c.lab.Eventually("the console answers", func() string {
		answer, err := (&http.Client{Transport: transport}).Do(request)
		if err != nil {
			return err.Error()
		}
		defer func() { _ = answer.Body.Close() }()
		content, err := io.ReadAll(answer.Body)
		if err != nil {
			return err.Error()
		}
		status, body = answer.StatusCode, string(content)
		return ""
	})
	return status, body
}
