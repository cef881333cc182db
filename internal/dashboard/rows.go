package dashboard

import "fmt"

// by sums a metric of mappings or endpoints, chosen by the dashboard's variable of that name.
func by(label, metric string) string {
	return fmt.Sprintf(`sum by (%s) (%s{%s=~"$%s"})`, label, metric, label, label)
}

// rateBy is by for a counter.
func rateBy(label, metric, more string) string {
	labels := label
	if more != "" {
		labels += ", " + more
	}
	return fmt.Sprintf(`sum by (%s) (rate(%s{%s=~"$%s"}[$__rate_interval]))`, labels, metric, label, label)
}

// quantile is that of a histogram.
func quantile(q float64, label, metric string) string {
	return fmt.Sprintf(`histogram_quantile(%g, sum by (le, %s) (rate(%s_bucket{%s=~"$%s"}[$__rate_interval])))`, q, label, metric, label, label)
}

func rows() []row {
	return []row{
		{"At a glance", []graph{
			{title: "Custom resources", unit: "short", kind: "stat", queries: []query{
				{`sum by (state) (restmapping_objects{mapping=~"$mapping"})`, "{{state}}"},
			}},
			{title: "Mappings that are not accepted, endpoints that are not ready", unit: "short", kind: "stat", queries: []query{
				{`count(max by (mapping) (restmapping_mapping_condition{condition="Accepted"}) == 0) or vector(0)`, "mappings"},
				{`count(max by (endpoint) (restmapping_endpoint_condition{condition="Ready"}) == 0) or vector(0)`, "endpoints"},
			}},
			{title: "Operators, and leaders among them", unit: "short", kind: "stat", queries: []query{
				{`count by (version) (restmapping_build_info)`, "{{version}}"},
				{`sum(leader_election_master_status{name="restmapping-operator.restmapping.dev"})`, "leaders"},
			}},
		}},
		{"Mappings", []graph{
			{title: "Stalled custom resources", description: "They wait for a person: the condition Stalled says why.", unit: "short", queries: []query{
				{`sum by (mapping) (restmapping_objects{mapping=~"$mapping",state="stalled"})`, "{{mapping}}"},
			}},
			{title: "Looks, by how they ended", unit: "ops", queries: []query{
				{`sum by (end) (rate(restmapping_passes_total{mapping=~"$mapping"}[$__rate_interval]))`, "{{end}}"},
			}},
			{title: "How long a look takes", unit: "s", queries: []query{
				{quantile(0.5, "mapping", "restmapping_pass_duration_seconds"), "{{mapping}} median"},
				{quantile(0.95, "mapping", "restmapping_pass_duration_seconds"), "{{mapping}} 95 %"},
			}},
			{title: "From a change to ready, 95 %", unit: "s", queries: []query{
				{quantile(0.95, "mapping", "restmapping_ready_duration_seconds"), "{{mapping}}"},
			}},
			{title: "Drift found and corrected", unit: "ops", queries: []query{
				{rateBy("mapping", "restmapping_drift_found_total", ""), "{{mapping}} found"},
				{rateBy("mapping", "restmapping_drift_corrected_total", ""), "{{mapping}} corrected"},
			}},
			{title: "Waiting for a worker, and worked on", unit: "short", queries: []query{
				{by("mapping", "restmapping_queue_ready"), "{{mapping}} waiting"},
				{by("mapping", "restmapping_queue_running"), "{{mapping}} running"},
			}},
			{title: "Expressions: cost, and errors", unit: "short", queries: []query{
				{rateBy("mapping", "restmapping_expression_cost_total", ""), "{{mapping}} cost/s"},
				{rateBy("mapping", "restmapping_expression_errors_total", ""), "{{mapping}} errors/s"},
			}},
			{title: "Kept in memory", unit: "bytes", queries: []query{{by("mapping", "restmapping_cache_bytes"), "{{mapping}}"}}},
			{title: "Informers, and mappings whose watch is not in sync", unit: "short", queries: []query{
				{by("mapping", "restmapping_informers"), "{{mapping}} informers"},
				{`count by (mapping) (restmapping_watch_synced{mapping=~"$mapping"} == 0)`, "{{mapping}} not in sync"},
			}},
		}},
		{"Endpoints", []graph{
			{title: "Requests, by class of the status", unit: "reqps", queries: []query{
				{rateBy("endpoint", "restmapping_http_requests_total", "class"), "{{endpoint}} {{class}}"},
			}},
			{title: "Requests, by operation", unit: "reqps", queries: []query{
				{rateBy("endpoint", "restmapping_http_requests_total", "operation"), "{{endpoint}} {{operation}}"},
			}},
			{title: "How long a request takes", unit: "s", queries: []query{
				{quantile(0.5, "endpoint", "restmapping_http_request_duration_seconds"), "{{endpoint}} median"},
				{quantile(0.95, "endpoint", "restmapping_http_request_duration_seconds"), "{{endpoint}} 95 %"},
			}},
			{title: "Waiting for limits, and paused by the server", description: "Seconds of waiting in each second; above 1 several requests wait at once.", unit: "short", queries: []query{
				{rateBy("endpoint", "restmapping_http_throttled_seconds_total", ""), "{{endpoint}} limits"},
				{rateBy("endpoint", "restmapping_endpoint_paused_seconds_total", ""), "{{endpoint}} server"},
			}},
			{title: "Rate that an endpoint gets, and requests under way", unit: "short", queries: []query{
				{by("endpoint", "restmapping_endpoint_requests_per_second"), "{{endpoint}} per second"},
				{by("endpoint", "restmapping_endpoint_in_flight"), "{{endpoint}} in flight"},
			}},
			{title: "Circuits that are open, and requests held", unit: "short", queries: []query{
				{`max by (endpoint) (restmapping_endpoint_circuit_open{endpoint=~"$endpoint"})`, "{{endpoint}} open"},
				{rateBy("endpoint", "restmapping_http_held_total", "by"), "{{endpoint}} held by {{by}}"},
			}},
			{title: "Since the last success", unit: "s", queries: []query{
				{`time() - max by (endpoint) (restmapping_endpoint_last_success_timestamp_seconds{endpoint=~"$endpoint"} > 0)`, "{{endpoint}}"},
			}},
			{title: "Until certificates end", unit: "s", queries: []query{
				{`min by (endpoint) (restmapping_endpoint_certificate_expiry_timestamp_seconds{endpoint=~"$endpoint"}) - time()`, "{{endpoint}}"},
				{`min(restmapping_webhook_certificate_expiry_timestamp_seconds) - time()`, "webhook"},
			}},
			{title: "Reads of Secrets", unit: "ops", queries: []query{
				{`sum by (result) (rate(restmapping_secret_reads_total[$__rate_interval]))`, "{{result}}"},
			}},
		}},
	}
}
