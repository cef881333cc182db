package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

// up starts everything and tells the story.
func up(ctx context.Context, p places) error {
	began := time.Now()
	if s, err := readState(p); err == nil && s != nil && alive(s.Keeper) {
		return fmt.Errorf("a demo is running already; end it with: make demo-down")
	}
	chapter("Starting a control plane, a real Gitea and the operator")
	s, err := startKeeper(ctx, p)
	if err != nil {
		return err
	}
	t := &teller{places: p, state: s, gitea: gitea{base: s.APIURL, token: s.Token}}
	for _, scene := range []func(context.Context) error{t.connect, t.firstKind, t.drift, t.secondKind, t.deletion} {
		if err := scene(ctx); err != nil {
			return fmt.Errorf("%w\n\neverything is left running to look at; logs: %s and %s; end it with: make demo-down", err, p.keeperLog(), s.Log)
		}
	}
	t.summary(time.Since(began))
	return nil
}

// teller tells the story, one scene after another.
type teller struct {
	places
	state *state
	gitea gitea
}

func (t *teller) mapping(kind, file string) string {
	return filepath.Join("mappings", "gitea", kind, file)
}

// connect gives the namespace its server and credential, and the operator its rights.
func (t *teller) connect(ctx context.Context) error {
	chapter("A server: one RestEndpoint, with its credential in a Secret")
	manifest := fmt.Sprintf(`apiVersion: v1
kind: Secret
metadata: {name: gitea, labels: {restmapping.dev/allow-read: "true"}}
stringData: {token: %s}
---
apiVersion: restmapping.dev/v1alpha1
kind: RestEndpoint
metadata: {name: gitea}
spec:
  baseURL: %s
  auth:
    headers: [{name: Authorization, prefix: "token ", valueRef: {name: gitea, key: token}}]
  probe: {path: /user}
`, t.state.Token, t.state.APIURL)
	if err := t.applyText(ctx, "a Secret and a RestEndpoint for "+t.state.APIURL, manifest); err != nil {
		return err
	}
	return t.kubectl(ctx, steps{
		{"apply", "-f", filepath.Join("mappings", "gitea", "rbac.yaml")},
		{"wait", "--for=condition=Ready", "restendpoint/gitea", "--timeout=60s"},
		{"get", "restendpoints"},
	})
}

// firstKind applies a CRD, a mapping and a custom resource, and shows what Gitea has.
func (t *teller) firstKind(ctx context.Context) error {
	chapter("A kind: its CRD, one RestMapping, and a custom resource")
	err := t.kubectl(ctx, steps{
		{"apply", "-f", t.mapping("organization", "crd.yaml")},
		{"wait", "--for=condition=Established", "crd/organizations.gitea.example.com", "--timeout=60s"},
		{"apply", "-f", t.mapping("organization", "mapping.yaml")},
		{"wait", "--for=condition=Ready", "restmapping/gitea-organizations", "--timeout=90s"},
		{"apply", "-f", t.mapping("organization", "sample.yaml")},
		{"wait", "--for=condition=Ready", "organization/team-a", "--timeout=60s"},
		{"get", "organizations,restmappings"},
	})
	if err != nil {
		return err
	}
	return t.gitea.show(ctx, "/orgs/team-a", "name", "full_name", "description", "visibility")
}

// drift changes the object in Gitea and waits until it is put back.
func (t *teller) drift(ctx context.Context) error {
	chapter("Somebody changes it in Gitea; the operator puts it back")
	if err := t.gitea.patch(ctx, "/orgs/team-a", `{"description":"changed by hand"}`); err != nil {
		return err
	}
	if err := t.gitea.show(ctx, "/orgs/team-a", "description"); err != nil {
		return err
	}
	say("It is looked at every ten minutes. The annotation asks for a look now:")
	ask := steps{{"annotate", "organization/team-a", "restmapping.dev/reconcile=" + time.Now().Format("150405"), "--overwrite"}}
	if err := t.kubectl(ctx, ask); err != nil {
		return err
	}
	if err := t.gitea.await(ctx, "/orgs/team-a", "description", "Everything of team A"); err != nil {
		return err
	}
	if err := t.gitea.show(ctx, "/orgs/team-a", "description"); err != nil {
		return err
	}
	return t.kubectl(ctx, steps{{"get", "events", "--field-selector=reason=DriftCorrected", "-o", "custom-columns=OBJECT:.involvedObject.name,REASON:.reason,MESSAGE:.message"}})
}

// secondKind adds a kind while the operator runs.
func (t *teller) secondKind(ctx context.Context) error {
	chapter("A second kind, added while the operator runs")
	err := t.kubectl(ctx, steps{
		{"apply", "-f", t.mapping("repository", "crd.yaml")},
		{"wait", "--for=condition=Established", "crd/repositories.gitea.example.com", "--timeout=60s"},
		{"apply", "-f", t.mapping("repository", "mapping.yaml")},
		{"wait", "--for=condition=Ready", "restmapping/gitea-repositories", "--timeout=90s"},
		{"apply", "-f", t.mapping("repository", "sample.yaml")},
		{"wait", "--for=condition=Ready", "repository/orders", "--timeout=60s"},
		{"get", "restmappings"},
		{"get", "organizations,repositories"},
	})
	if err != nil {
		return err
	}
	return t.gitea.show(ctx, "/repos/team-a/orders", "full_name", "description", "private", "default_branch")
}

// deletion deletes a custom resource and shows that the object outside went with it.
func (t *teller) deletion(ctx context.Context) error {
	chapter("A deletion: the custom resource goes when the object outside is gone")
	if err := t.kubectl(ctx, steps{{"delete", "repository/orders", "--timeout=90s"}}); err != nil {
		return err
	}
	return t.gitea.gone(ctx, "/repos/team-a/orders")
}

func (t *teller) summary(took time.Duration) {
	chapter("That was it, in " + took.Round(time.Second).String())
	fmt.Printf(`Everything is still running. Go on by hand:

  export KUBECONFIG=%[1]s
  export PATH=%[2]s:$PATH
  kubectl get organizations
  kubectl apply -f mappings/gitea/repository/sample.yaml && kubectl get repositories -w
  kubectl edit organization team-a
  kubectl describe organization team-a
  kubectl get restmapping gitea-organizations -o yaml

  Gitea:         %[3]s   user %[4]s, password %[5]s
  Operator's log: %[6]s

End it with: make demo-down
`, t.kubeconfig(), filepath.Join(t.root, "bin"), t.state.WebURL, t.state.User, t.state.Password, t.state.Log)
}

func chapter(title string) { fmt.Printf("\n== %s\n\n", title) }

func say(text string) { fmt.Println("# " + text) }

func indent(text string) string {
	lines := strings.SplitAfter(text, "\n")
	var b strings.Builder
	for _, line := range lines {
		if line != "" {
			b.WriteString("   " + line)
		}
	}
	return b.String()
}
