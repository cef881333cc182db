package policies

import (
	"os"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
	"sigs.k8s.io/yaml"
)

const file = "../../docs/policies/gatekeeper.yaml"

// template is what of a ConstraintTemplate matters here.
type template struct {
	Kind     string
	Metadata struct{ Name string }
	Spec     struct {
		CRD struct {
			Spec struct{ Names struct{ Kind string } }
		}
		Targets []struct{ Target, Rego string }
	}
}

// templates reads the file: Rego by the kind of its constraints, and the kinds of all constraints.
func templates(t *testing.T) (rules map[string]string, constraints map[string]bool) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	rules, constraints = map[string]string{}, map[string]bool{}
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		var found template
		if err := yaml.Unmarshal([]byte(document), &found); err != nil {
			t.Fatal(err)
		}
		if found.Kind != "ConstraintTemplate" {
			constraints[found.Kind] = true
			continue
		}
		kind := found.Spec.CRD.Spec.Names.Kind
		if strings.ToLower(kind) != found.Metadata.Name || len(found.Spec.Targets) != 1 || found.Spec.Targets[0].Target != "admission.k8s.gatekeeper.sh" {
			t.Errorf("Gatekeeper does not take the template %s of %s", found.Metadata.Name, kind)
		}
		rules[kind] = found.Spec.Targets[0].Rego
	}
	return rules, constraints
}

func account(spec, more string) string {
	return "{apiVersion: example.com/v1, kind: Account, metadata: {name: one, namespace: policies" + more + "}" + spec + "}"
}

func secret(kind, labels string) string {
	return "{apiVersion: v1, kind: Secret, metadata: {name: one, namespace: policies" + labels + "}" + kind + "}"
}

// TestGatekeeper has OPA judge the cases that the chart's policies are tested with, as Gatekeeper does: violation with the object
// in input.review.
func TestGatekeeper(t *testing.T) {
	t.Parallel()
	rules, constraints := templates(t)
	if len(rules) != 2 || len(constraints) != 2 {
		t.Fatalf("templates %v, constraints %v", rules, constraints)
	}
	const own, opens = "RestmappingOwnNamespace", "RestmappingOpenedSecrets"
	const opened, closed = `, labels: {restmapping.dev/allow-read: "true"}`, `, labels: {restmapping.dev/allow-read: "false"}`
	cases := map[string]struct{ policy, object, refusal string }{
		"a reference to another namespace": {own, account(", spec: {passwordRef: {name: p, key: k, namespace: kube-system}}", ""), "spec.passwordRef: a reference names another namespace"},
		"a namespace that is no text":      {own, account(", spec: {passwordRef: {namespace: 3}}", ""), "names another namespace"},
		"a reference to its own":           {own, account(", spec: {passwordRef: {name: p, key: k, namespace: policies}}", ""), ""},
		"a reference to none":              {own, account(", spec: {passwordRef: {name: p, namespace: \"\"}}", ""), ""},
		"a reference without one":          {own, account(", spec: {passwordRef: {name: p, key: k}}", ""), ""},
		"a namespace that is no reference": {own, account(", spec: {place: {namespace: elsewhere}, size: 3}", ""), ""},
		"a text that ends in Ref":          {own, account(", spec: {someRef: elsewhere}", ""), ""},
		"an empty spec":                    {own, account(", spec: {}", ""), ""},
		"no spec":                          {own, account("", ""), ""},
		"one that is going": {
			own, account(", spec: {passwordRef: {namespace: kube-system}}", `, deletionTimestamp: "2026-01-02T03:04:05Z"`), "",
		},
		"a pull secret that is opened":            {opens, secret(", type: kubernetes.io/dockerconfigjson", opened), "cannot be opened"},
		"an account's token that is opened":       {opens, secret(", type: kubernetes.io/service-account-token", opened), "cannot be opened"},
		"a pull secret":                           {opens, secret(", type: kubernetes.io/dockerconfigjson", ""), ""},
		"a pull secret with the label turned off": {opens, secret(", type: kubernetes.io/dockerconfigjson", closed), ""},
		"an ordinary one that is opened":          {opens, secret(", type: Opaque", opened), ""},
		"one without a type":                      {opens, secret("", opened), ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var object any
			if err := yaml.Unmarshal([]byte(tc.object), &object); err != nil {
				t.Fatal(err)
			}
			got := violations(t, tc.policy, rules[tc.policy], map[string]any{"review": map[string]any{"object": object}})
			switch {
			case tc.refusal == "" && len(got) > 0:
				t.Errorf("refused: %v", got)
			case tc.refusal != "" && (len(got) != 1 || !strings.Contains(got[0], tc.refusal)):
				t.Errorf("got %v, want one refusal that says %q", got, tc.refusal)
			}
		})
	}
}

// violations are the messages that Gatekeeper would give.
func violations(t *testing.T, policy, module string, input any) []string {
	t.Helper()
	results, err := rego.New(
		rego.Query("data."+strings.ToLower(policy)+".violation"), rego.Module(policy+".rego", module), rego.Input(input),
		rego.SetRegoVersion(ast.RegoV0), rego.Strict(true),
	).Eval(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(results) != 1 || len(results[0].Expressions) != 1 {
		t.Fatalf("OPA gave %v", results)
	}
	found, ok := results[0].Expressions[0].Value.([]any)
	if !ok {
		t.Fatalf("violation is %T", results[0].Expressions[0].Value)
	}
	messages := make([]string, 0, len(found))
	for _, item := range found {
		violation, _ := item.(map[string]any)
		message, ok := violation["msg"].(string)
		if !ok {
			t.Fatalf("a violation without msg: %v", item)
		}
		messages = append(messages, message)
	}
	return messages
}
