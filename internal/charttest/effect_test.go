package charttest

import (
	"bytes"
	"maps"
	"strings"
	"testing"
)

// others holds, for each value, something else than its default.
func others() map[string]any {
	return map[string]any{
		"nameOverride":               "rest",
		"fullnameOverride":           "rest",
		"replicas":                   3,
		"image.repository":           "registry.example.com/operator",
		"image.tag":                  "v9",
		"image.digest":               "sha256:" + strings.Repeat("0", 64),
		"image.pullPolicy":           "Always",
		"imagePullSecrets":           []any{map[string]any{"name": "registry"}},
		"crds.install":               false,
		"crds.keep":                  false,
		"serviceAccount.create":      false,
		"serviceAccount.name":        "other",
		"serviceAccount.annotations": map[string]any{"a": "b"},
		"rbac.create":                false,
		"rbac.userRoles":             false,
		"managedKinds":               []any{map[string]any{"group": "example.com", "resources": []any{"things"}}},
		"watchNamespaces":            []any{"team-a"},
		"rbac.serviceAccountTokens":  true,
		"credentialVolumes":          []any{map[string]any{"name": "vault", "secret": map[string]any{"secretName": "x"}}},
		"endpoints.allowedCIDRs":     []any{"127.0.0.0/8"}, "endpoints.refusedCIDRs": []any{"10.250.0.0/16"},
		"policies.enabled": true, "console.enabled": true, "console.certificateSecret": "tls",
		"webhooks.enabled": true, "webhooks.certificates": "cert-manager", "webhooks.issuerRef": map[string]any{"name": "company"},
		"webhooks.customResources.enabled": true, "webhooks.customResources.failurePolicy": "Fail",
		"outputs.secrets": true, "outputs.configMaps": true,
		"concurrency":                         5,
		"minSyncIntervalSeconds":              31,
		"drainTimeoutSeconds":                 46,
		"leaderElection.leaseDurationSeconds": 16,
		"leaderElection.renewDeadlineSeconds": 11,
		"leaderElection.retryPeriodSeconds":   3,
		"kubeAPI.qps":                         51,
		"kubeAPI.burst":                       101,
		"log.level":                           "warn",
		"log.format":                          "console",
		"tracing.endpoint":                    "http://collector:4318",
		"tracing.protocol":                    "grpc",
		"tracing.ratio":                       0.25,
		"metrics.enabled":                     false,
		"metrics.service.annotations":         map[string]any{"a": "b"},
		"metrics.serviceMonitor.enabled":      true, "metrics.serviceMonitor.intervalSeconds": 15, "metrics.serviceMonitor.labels": map[string]any{"a": "b"},
		"metrics.rules.enabled": true, "metrics.rules.labels": map[string]any{"a": "b"},
		"metrics.dashboard.enabled": true, "metrics.dashboard.labels": map[string]any{"a": "b"},
		"podDisruptionBudget.enabled":        false,
		"podDisruptionBudget.maxUnavailable": "50%",
		"resources":                          map[string]any{"limits": map[string]any{"memory": "1Gi"}},
		"networkPolicy.enabled":              true,
		"networkPolicy.metricsFrom":          []any{map[string]any{"podSelector": map[string]any{}}},
		"networkPolicy.egress":               []any{map[string]any{"ports": []any{map[string]any{"port": 443}}}},
		"runAsUser":                          0,
		"commonLabels":                       map[string]any{"a": "b"},
		"podLabels":                          map[string]any{"a": "b"},
		"podAnnotations":                     map[string]any{"a": "b"},
		"priorityClassName":                  "high",
		"nodeSelector":                       map[string]any{"a": "b"},
		"tolerations":                        []any{map[string]any{"operator": "Exists"}},
		"affinity":                           map[string]any{"nodeAffinity": map[string]any{}},
		"topologySpreadConstraints": []any{map[string]any{
			"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
		}},
		"extraArgs": []any{"--other"},
		"extraEnv":  []any{map[string]any{"name": "A", "value": "b"}},
	}
}

// TestEveryValueHasAnEffect: a value that changes nothing in the manifest is a lie to its reader.
func TestEveryValueHasAnEffect(t *testing.T) {
	t.Parallel()
	usual, other := Render(t, nil), others()
	for _, v := range documented(t) {
		t.Run(v.Key, func(t *testing.T) {
			t.Parallel()
			set, known := other[v.Key]
			if !known {
				t.Fatalf("give value %s something else than its default in this test", v.Key)
			}
			usual, values := usual, nested(v.Key, set)
			group, _, _ := strings.Cut(v.Key, ".")
			if on := switchedOn(group, v.Key); on != nil && v.Key != group+".enabled" {
				given, _ := values[group].(map[string]any)
				if asked, ok := given["customResources"].(map[string]any); ok { // they are asked about for managedKinds alone
					values["managedKinds"] = []any{map[string]any{"group": "example.com", "resources": []any{"widgets"}}}
					if v.Key != "webhooks.customResources.enabled" {
						on["customResources"], asked["enabled"] = map[string]any{"enabled": true}, true
					}
				}
				usual = Render(t, map[string]any{group: maps.Clone(on), "managedKinds": values["managedKinds"]})
				maps.Copy(on, given)
				values[group] = on
			}
			if group, setting, ok := monitoring(v.Key); ok && setting != "enabled" {
				on := func(more map[string]any) map[string]any {
					more["enabled"] = true
					return map[string]any{"metrics": map[string]any{group: more}}
				}
				usual, values = Render(t, on(map[string]any{})), on(map[string]any{setting: set})
			}
			if given, ok := values["tracing"].(map[string]any); ok && v.Key != "tracing.endpoint" {
				given["endpoint"] = "http://collector:4318"
				usual = Render(t, map[string]any{"tracing": map[string]any{"endpoint": given["endpoint"]}})
			}
			if bytes.Equal(usual, Render(t, values)) {
				t.Errorf("%s: %v changes nothing", v.Key, set)
			}
		})
	}
}

// monitoring gives the group and the name of a value of metrics that has an effect only where its group is turned on.
func monitoring(key string) (group, setting string, ok bool) {
	below, ok := strings.CutPrefix(key, "metrics.")
	group, setting, deep := strings.Cut(below, ".")
	return group, setting, ok && deep && group != "service"
}

// switchedOn is what the values of a group that is off by default are tried with.
func switchedOn(group, key string) map[string]any {
	switch {
	case key == "webhooks.certificates":
		return map[string]any{"enabled": true, "certificates": "operator"}
	case group == "webhooks":
		return map[string]any{"enabled": true, "certificates": "cert-manager"}
	case group == "networkPolicy", group == "console":
		return map[string]any{"enabled": true}
	default:
		return nil
	}
}

// nested makes {a: {b: value}} of a.b.
func nested(key string, content any) map[string]any {
	first, rest, more := strings.Cut(key, ".")
	if !more {
		return map[string]any{first: content}
	}
	return map[string]any{first: nested(rest, content)}
}
