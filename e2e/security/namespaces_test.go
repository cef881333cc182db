//go:build security

package security_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// kindOf and plural name the kind of an attack: each has its own, since a kind has one mapping.
func kindOf(attack string) string { return "Thing" + strings.ReplaceAll(attack, "-", "") }

func plural(attack string) string { return strings.ToLower(kindOf(attack)) + "s" }

// of names a custom resource of an attack for reason.
func of(attack, name string) string { return "thing:" + attack + "/" + name }

// mapping is the kind of an attack and its mapping; more is YAML below spec.
func mapping(attack, endpoint, more string) string {
	return fmt.Sprintf(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[2]s.security.example.com}
spec:
  group: security.example.com
  scope: Namespaced
  names: {kind: %[1]s, plural: %[2]s, categories: [attacks]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              id: {type: string}
              note: {type: string}
              server: {type: string}
              kind: {type: string}
              secretRef:
                type: object
                properties: {name: {type: string}, key: {type: string}, namespace: {type: string}}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
---
apiVersion: restmapping.dev/v1alpha1
kind: RestMapping
metadata: {name: %[3]s}
spec:
  target: {group: security.example.com, version: v1, kind: %[1]s}
  endpoint: %[4]s
  sync: {interval: 2s, consistencyWindow: 1s, serverSlack: 1s}
%[5]s
`, kindOf(attack), plural(attack), attack, endpoint, more)
}

func thing(attack, namespace, name, spec string) string {
	return fmt.Sprintf(`
apiVersion: security.example.com/v1
kind: %s
metadata: {name: %s, namespace: %s}
spec: %s
---`, kindOf(attack), name, namespace, spec)
}

const plain = `
  identifiers: [{name: id, value: self.metadata.name}]
  operations:
    read: {path: "/things/{id}"}
    create: {method: PUT, path: "/things/{id}"}
  fields: [{from: spec.note, to: note}]
`

// foreignSecrets names a Secret of another namespace, and one that is not open, in every field of both kinds of endpoint.
func foreignSecrets(s *scene) {
	server := listen(s.t, allowedHost, fine)
	scopes := map[string]string{"RestEndpoint": "attacker", "ClusterRestEndpoint": ""}
	names := map[string]string{
		"loot":                      "SecretNotFound", // it is in victim alone
		"victim.loot":               "SecretNotFound",
		"closed":                    "SecretNotAllowed", // it is not opened by the label
		"../victim/loot":            "",                 // no name of a Secret
		"loot, namespace: victim":   "SecretNotFound",   // a field that does not exist
		"../../victim/secrets/loot": "",
		"loot%00":                   "",
	}
	attempts, refusedEarly := 0, 0
	want := map[string][]string{}
	for i, path := range slices.Sorted(maps.Keys(credentials)) {
		for j, name := range slices.Sorted(maps.Keys(names)) {
			for kind, namespace := range scopes {
				attempts++
				endpoint := fmt.Sprintf("s%d-%d", i, j)
				if err := s.attempt(endpointYAML(kind, namespace, endpoint, server.URL, reference(credentials[path], name, server.URL))); err != nil {
					if !strings.Contains(err.Error(), "nvalid") && !strings.Contains(err.Error(), "field not declared in schema") {
						s.t.Errorf("%s of %s: %v", path, kind, err)
					}
					refusedEarly++
					continue
				}
				if names[name] == "" {
					s.t.Errorf("%s of %s took the name %q", path, kind, name)
				}
				// Those of a ClusterRestEndpoint are in the operator's namespace, where neither is.
				want[strings.ToLower(kind)+"/"+endpoint] = []string{names[name], "SecretNotFound"}
			}
		}
	}
	for endpoint, reasons := range want {
		s.reason(endpoint, "attacker", "Ready", oneOf(reasons...))
	}
	if server.holds(loot) {
		s.t.Error("the attacker's server got the loot")
	}
	if n := len(server.requests()); n > 0 {
		s.t.Errorf("%d requests were sent without the credential: %v", n, server.requests())
	}
	s.t.Logf("%d attempts through %d fields of 2 kinds: none got a Secret; %d were refused by the API server", attempts, len(credentials), refusedEarly)
}

// reference puts a reference into an endpoint's fields.
func reference(fields, name, url string) string {
	quoted := fmt.Sprintf("%q", name)
	if before, after, more := strings.Cut(name, ", "); more {
		quoted = fmt.Sprintf("%q, %s", before, after)
	}
	return filled(strings.ReplaceAll(fields, "WHOLE", "{name: "+quoted+"}"), "{name: "+quoted+", key: value}", url)
}

// filled puts any reference, written as YAML, into an endpoint's fields.
func filled(fields, ref, url string) string {
	return strings.NewReplacer("REF", ref, "GOOD", "{name: own, key: value}", "SERVER", url).Replace(fields)
}

func endpointYAML(kind, namespace, name, url, fields string) string {
	at := ""
	if namespace != "" {
		at = ", namespace: " + namespace
	}
	return fmt.Sprintf(`
apiVersion: restmapping.dev/v1alpha1
kind: %s
metadata: {name: %s%s}
spec:
  baseURL: %q
  timeout: 3s
  probe: {path: /probe}
  %s
`, kind, name, at, url, fields)
}

// foreignNamespace uses a ClusterRestEndpoint that is open to another namespace.
func foreignNamespace(s *scene) {
	server := listen(s.t, allowedHost, fine)
	for name, allowed := range map[string]string{
		"nobody": "", "names": "allowedNamespaces: {names: [victim]}",
		"labels": "allowedNamespaces: {selector: {matchLabels: {kubernetes.io/metadata.name: victim}}}",
	} {
		s.Apply("%s", endpointYAML("ClusterRestEndpoint", "", "for-"+name, server.URL, allowed))
		s.Apply("%s", mapping("for-"+name, "{kind: ClusterRestEndpoint, name: for-"+name+"}", plain))
		s.Apply("%s", thing("for-"+name, "attacker", "for-"+name, "{note: x}"))
		s.reason(of("for-"+name, "for-"+name), "attacker", "Ready", oneOf("EndpointNotAllowed"))
	}
	for _, r := range server.requests() {
		if r.URI != "/probe" {
			s.t.Errorf("%s %s was sent for a namespace that is not allowed", r.Method, r.URI)
		}
	}
}

// foreignEndpoint names the endpoint of another namespace in a custom resource.
func foreignEndpoint(s *scene) {
	server := listen(s.t, allowedHost, fine)
	s.Apply("%s", endpointYAML("RestEndpoint", "victim", "rich", server.URL, "auth: {bearer: {tokenRef: {name: loot, key: value}}}"))
	s.Apply("%s", mapping("pick", "{kind: RestEndpoint, nameExpression: self.spec.server}", plain))
	names := []string{"rich", "victim/rich", "victim.rich", "../victim/rich", "ClusterRestEndpoint/rich", "%2e%2e/victim/rich", "rich\\u0000", ""}
	for i, name := range names {
		one := fmt.Sprintf("pick-%d", i)
		s.Apply("%s", thing("pick", "attacker", one, fmt.Sprintf(`{note: x, server: "%s"}`, name)))
		s.reason(of("pick", one), "attacker", "Ready", oneOf("EndpointNotFound", "ExpressionFailed", "EndpointNotReady", "InvalidEndpoint"))
	}
	for _, r := range server.requests() {
		if r.URI != "/probe" {
			s.t.Errorf("%s %s was sent with the credential of another namespace", r.Method, r.URI)
		}
	}
	s.t.Logf("%d names of a foreign endpoint: none was used", len(names))
}

// foreignInput names a Secret of another namespace in a custom resource.
func foreignInput(s *scene) {
	server := listen(s.t, allowedHost, fine)
	s.Apply("%s", endpointYAML("RestEndpoint", "attacker", "sink", server.URL, ""))
	s.Apply("%s", mapping("input", "{kind: RestEndpoint, name: sink}", `
  identifiers: [{name: id, value: self.metadata.name}]
  secrets: [{name: stolen, refExpression: self.spec.secretRef}]
  operations:
    read: {path: "/things/{id}", headers: [{name: X-Stolen, value: secrets.stolen}]}
    create: {method: PUT, path: "/things/{id}"}
  fields: [{to: stolen, value: secrets.stolen, writeOnly: true}]
`))
	refs := []string{
		`{name: loot, key: value}`, `{name: loot, key: value, namespace: victim}`, `{name: victim/loot, key: value}`,
		`{name: ../victim/loot, key: value}`, `{name: ../../victim/secrets/loot, key: value}`, `{name: closed, key: value}`, `{name: "victim/secrets/loot", key: value}`,
	}
	for i, ref := range refs {
		one := fmt.Sprintf("input-%d", i)
		s.Apply("%s", thing("input", "attacker", one, "{secretRef: "+ref+"}"))
		said := s.reason(of("input", one), "attacker", "Ready", oneOf("SecretNotFound", "SecretNotAllowed", "ExpressionFailed"))
		if strings.Contains(said, "SecretNotAllowed") && !strings.Contains(ref, "closed") {
			s.t.Errorf("%s tells that a Secret elsewhere exists: %s", ref, said)
		}
	}
	if server.holds(loot) {
		s.t.Error("the attacker's server got the loot")
	}
	s.t.Logf("%d references in custom resources: none was read", len(refs))
}

// foreignOutputs names objects of other namespaces, and one that is there already, as what is written into.
func foreignOutputs(s *scene) {
	server := listen(s.t, allowedHost, fine)
	s.Apply("%s", endpointYAML("RestEndpoint", "attacker", "source", server.URL, ""))
	names := []string{"../../victim/secrets/loot", "victim/loot", "../victim/secrets/new", "own", "loot%00"}
	for _, kind := range []string{"Secret", "ConfigMap"} {
		attack := "out-" + strings.ToLower(kind)
		s.Apply("%s", mapping(attack, "{kind: RestEndpoint, name: source}", fmt.Sprintf(`
  identifiers: [{name: id, value: self.metadata.name}]
  operations:
    read: {path: "/things/{id}"}
    create: {method: PUT, path: "/things/{id}"}
  outputs: [{name: stolen, kind: %s, nameExpression: self.spec.note, data: {value: "'overwritten'"}}]
`, kind)))
		for i, name := range names {
			one := fmt.Sprintf("%s-%d", attack, i)
			s.Apply("%s", thing(attack, "attacker", one, fmt.Sprintf("{note: %q}", name)))
			s.reason(of(attack, one), "attacker", "Ready", func(said string) bool { return !strings.Contains(said, " Progressing:") })
		}
	}
	for _, namespace := range []string{"victim", "restmapping-system", "attacker"} {
		all := s.Kubectl("get", "secrets,configmaps", "-n", namespace, "-o", "jsonpath={range .items[*]}{.metadata.name} {.data}{\"\\n\"}{end}")
		for line := range strings.Lines(all) {
			// "own" as a ConfigMap was not there before, and is the attacker's to make.
			if strings.Contains(line, "overwritten") || strings.Contains(line, "b3ZlcndyaXR0ZW4") {
				if namespace != "attacker" || !strings.HasPrefix(line, "own ") || strings.Contains(line, "b3ZlcndyaXR0ZW4") {
					s.t.Errorf("namespace %s: %s", namespace, line)
				}
			}
		}
	}
	s.t.Logf("%d names in 2 kinds: nothing was written elsewhere, or over what was there", len(names))
}
