package alerts

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/promqltest"
	"sigs.k8s.io/yaml"
)

// rule is an alert of the chart.
type rule struct {
	Alert string `json:"alert"`
	Expr  string `json:"expr"`
	For   string `json:"for"`
}

func rules(t *testing.T) map[string]rule {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "..", "deploy", "helm", "restmapping-operator", "files", "alerts.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Groups []struct {
			Rules []rule `json:"rules"`
		} `json:"groups"`
	}
	if err := yaml.Unmarshal(content, &file); err != nil {
		t.Fatal(err)
	}
	found := map[string]rule{}
	for _, group := range file.Groups {
		for _, r := range group.Rules {
			found[r.Alert] = r
		}
	}
	return found
}

// firing says for which label sets an alert fires at a time: those for which its expression held at each evaluation, a minute
// apart, for as long as the alert wants.
func firing(t *testing.T, r rule, load string, at time.Duration) []string {
	t.Helper()
	wait, err := model.ParseDuration(r.For)
	if err != nil {
		t.Fatal(err)
	}
	storage := promqltest.LoadedStorage(t, load)
	t.Cleanup(func() { _ = storage.Close() })
	engine := promqltest.NewTestEngine(t, false, 5*time.Minute, 100000)
	held := map[string]int{}
	steps := 0
	for since := time.Duration(wait); since >= 0; since -= time.Minute {
		steps++
		query, err := engine.NewInstantQuery(t.Context(), storage, nil, r.Expr, time.Unix(0, 0).Add(at-since))
		if err != nil {
			t.Fatalf("%s: %v", r.Alert, err)
		}
		result := query.Exec(t.Context())
		if result.Err != nil {
			t.Fatalf("%s: %v", r.Alert, result.Err)
		}
		vector, err := result.Vector()
		if err != nil {
			t.Fatalf("%s: %v", r.Alert, err)
		}
		for _, sample := range vector {
			held[label(sample)]++
		}
		query.Close()
	}
	var fire []string
	for name, times := range held {
		if times == steps {
			fire = append(fire, name)
		}
	}
	slices.Sort(fire)
	return fire
}

func label(s promql.Sample) string {
	for _, name := range []string{"mapping", "endpoint", "namespace"} {
		if value := s.Metric.Get(name); value != "" {
			return value
		}
	}
	return "-"
}

// scene is what Prometheus has scraped, a minute apart, and who the alert is about at a time.
type scene struct {
	load string
	at   time.Duration
	want []string
}

func scenes() map[string]map[string]scene {
	return map[string]map[string]scene{
		"RestMappingOperatorDown": {
			"it went half an hour ago": {"restmapping_build_info{version=\"1\"} 1x10", 40 * time.Minute, []string{"-"}},
			"it runs":                  {"restmapping_build_info{version=\"1\"} 1x60", 40 * time.Minute, nil},
			"it was restarted":         {"restmapping_build_info{version=\"1\"} 1x10 _x8 1x60", 19 * time.Minute, nil},
		},
		"RestMappingNoLeader": {
			"two that wait": {
				`leader_election_master_status{name="restmapping-operator.restmapping.dev",namespace="ours",pod="a"} 0x60
				 leader_election_master_status{name="restmapping-operator.restmapping.dev",namespace="ours",pod="b"} 0x60`, 30 * time.Minute, []string{"ours"},
			},
			"one leads": {
				`leader_election_master_status{name="restmapping-operator.restmapping.dev",namespace="ours",pod="a"} 0x60
				 leader_election_master_status{name="restmapping-operator.restmapping.dev",namespace="ours",pod="b"} 1x60`, 30 * time.Minute, nil,
			},
			"a change of leaders": {
				`leader_election_master_status{name="restmapping-operator.restmapping.dev",namespace="ours",pod="a"} 1x20 0x40
				 leader_election_master_status{name="restmapping-operator.restmapping.dev",namespace="ours",pod="b"} 0x22 1x38`, 25 * time.Minute, nil,
			},
		},
		"RestMappingNotAccepted": {
			"one of two": {
				`restmapping_mapping_condition{condition="Accepted",mapping="bad",pod="a"} 0x60
				 restmapping_mapping_condition{condition="Accepted",mapping="good",pod="a"} 1x60
				 restmapping_mapping_condition{condition="Ready",mapping="good",pod="a"} 0x60`, 30 * time.Minute, []string{"bad"},
			},
			"it was removed": {`restmapping_mapping_condition{condition="Accepted",mapping="bad"} 0x5`, 30 * time.Minute, nil},
		},
		"RestMappingObjectsStalled": {
			"three": {
				`restmapping_objects{mapping="a",state="stalled"} 3x60
				 restmapping_objects{mapping="b",state="stalled"} 0x60
				 restmapping_objects{mapping="b",state="total"} 9x60`, 30 * time.Minute, []string{"a"},
			},
			"not for long enough":   {`restmapping_objects{mapping="a",state="stalled"} 0x19 3x40`, 30 * time.Minute, nil},
			"it was mended in time": {`restmapping_objects{mapping="a",state="stalled"} 3x20 0x40`, 25 * time.Minute, nil},
		},
		"RestMappingDriftFoughtOver": {
			"again and again":         {`restmapping_drift_corrected_total{mapping="a"} 0+0.1x180`, 150 * time.Minute, []string{"a"}},
			"five hundred at one go":  {`restmapping_drift_corrected_total{mapping="a"} 0x60 500x120`, 150 * time.Minute, nil},
			"for an hour so far":      {`restmapping_drift_corrected_total{mapping="a"} 0x55 1+0.1x120`, 110 * time.Minute, nil},
			"it has ended":            {`restmapping_drift_corrected_total{mapping="a"} 0+1x60 60x200`, 200 * time.Minute, nil},
			"nobody changes anything": {`restmapping_drift_corrected_total{mapping="a"} 7x180`, 150 * time.Minute, nil},
		},
		"RestEndpointFailing": {
			"a circuit that is open": {`restmapping_endpoint_circuit_open{endpoint="e"} 1x60`, 30 * time.Minute, []string{"e"}},
			"errors of the server": {
				`restmapping_http_requests_total{endpoint="e",class="5xx",operation="Read"} 0+8x60
				 restmapping_http_requests_total{endpoint="e",class="2xx",operation="Read"} 0+2x60
				 restmapping_http_requests_total{endpoint="f",class="2xx",operation="Read"} 0+9x60
				 restmapping_http_requests_total{endpoint="f",class="failed",operation="Read"} 0+1x60`, 30 * time.Minute, []string{"e"},
			},
			"an endpoint that cannot be used": {`restmapping_endpoint_condition{endpoint="e",condition="Ready"} 0x60`, 30 * time.Minute, []string{"e"}},
			"refusals are answers":            {`restmapping_http_requests_total{endpoint="e",class="4xx",operation="Read"} 0+8x60`, 30 * time.Minute, nil},
			"all is well": {
				`restmapping_endpoint_condition{endpoint="e",condition="Ready"} 1x60
				 restmapping_endpoint_condition{endpoint="e",condition="Stalled"} 0x60
				 restmapping_endpoint_circuit_open{endpoint="e"} 0x60`, 30 * time.Minute, nil,
			},
		},
		"RestEndpointThrottled": {
			"limits that are too narrow": {`restmapping_http_throttled_seconds_total{endpoint="e"} 0+120x60`, 40 * time.Minute, []string{"e"}},
			"a server that asks to wait": {`restmapping_endpoint_paused_seconds_total{endpoint="e"} 0+45x60`, 40 * time.Minute, []string{"e"}},
			"now and then": {
				`restmapping_http_throttled_seconds_total{endpoint="e"} 0+20x60
				 restmapping_endpoint_paused_seconds_total{endpoint="e"} 0+10x60`, 40 * time.Minute, nil,
			},
		},
		"RestMappingCertificateExpiry": {
			"of an endpoint, in six days": {`restmapping_endpoint_certificate_expiry_timestamp_seconds{endpoint="e"} 525600x120`, 100 * time.Minute, []string{"e"}},
			"of the webhook, in six days": {`restmapping_webhook_certificate_expiry_timestamp_seconds{namespace="ours"} 525600x120`, 100 * time.Minute, []string{"ours"}},
			"in nine days": {
				`restmapping_endpoint_certificate_expiry_timestamp_seconds{endpoint="e"} 784800x120
				 restmapping_webhook_certificate_expiry_timestamp_seconds{namespace="ours"} 784800x120`, 100 * time.Minute, nil,
			},
		},
	}
}

func TestEachAlertFiresForItsFaultAndForNothingElse(t *testing.T) {
	known, all := rules(t), scenes()
	for name := range known {
		fires := false
		for _, s := range all[name] {
			fires = fires || len(s.want) > 0
		}
		if !fires {
			t.Errorf("%s has no scene in which it fires", name)
		}
	}
	for name, list := range all {
		r, ok := known[name]
		if !ok {
			t.Errorf("there is no alert %s", name)
			continue
		}
		for what, s := range list {
			t.Run(name+"/"+what, func(t *testing.T) {
				if got := firing(t, r, "load 1m\n"+s.load, s.at); !slices.Equal(got, s.want) {
					t.Errorf("fires for %q, want %q", got, s.want)
				}
			})
		}
	}
}
