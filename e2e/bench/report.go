package main

import (
	"fmt"
	"maps"
	"math"
	"runtime"
	"slices"
	"strings"
	"time"
)

// machine is where and when it was measured.
type machine struct {
	date             time.Time
	cores            int
	goVersion, cpuOS string
}

func machineNow() machine {
	return machine{date: time.Now().UTC(), cores: runtime.NumCPU(), goVersion: runtime.Version(), cpuOS: runtime.GOOS + "/" + runtime.GOARCH}
}

// progress is one line about one scenario.
func progress(r result) string {
	return fmt.Sprintf("  %-8s %7.2f s  %5.2f REST calls, %5.2f API writes, %6.3f ms CPU per %s; peak %3.0f MiB",
		r.Scenario, r.Seconds, r.each(float64(r.requests())), r.each(float64(r.Writes)), r.each(milliseconds(r.CPU)), r.Unit, r.PeakMiB)
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

const preface = `# Benchmarks

<!-- Written by make bench; edit e2e/bench/report.go instead. -->

The operator beside a controller that was compiled by hand for the same kind and the same REST API
(` + "[`e2e/bench/handwritten`](../e2e/bench/handwritten)" + `: a typed client, no CEL), measured in one run by ` + "`make bench`" + `.
The handwritten controller can do nothing else; the difference is the price of a mapping in YAML.

`

const guide = `## How to read this

Compare the two contenders, not the absolute figures: the control plane (etcd without fsync), the REST server (in memory, no delay), the driver and the
contender share the processors of one machine, and each cell is one run. The contenders run one after the other, each with a fresh process and an
empty server; both look at each object every %s, have %d workers and no limit on requests that they could reach. A ratio is the operator's
cost divided by the handwritten controller's; below 1 the operator is cheaper. "x : 0" means that the handwritten controller has no such
cost. CPU is the contender's own, in steps of 10 ms over the whole scenario, so small figures of small runs are coarse. Peak memory is the
highest resident memory within the scenario. Noise is how many processors other programs used meanwhile; it makes seconds longer, and the rest
hardly. API reads and writes are those for the kind, without the driver's own. The operator also makes an event of each create, update,
correction and delete, which the handwritten controller does not, and keeps counts in its mapping's status (%s).

What the scenarios measure:

| scenario | what is done | the time ends when |
|---|---|---|
| create | the driver creates all custom resources, ten at a time | all are on the server and Ready |
| steady | nothing, for %d intervals | |
| drift | up to %d objects are changed at the server | all are put back; the costs hold those of the looks that go on meanwhile. The operator notes in the status what it put back |
| update | all custom resources are changed | the server has all; the costs run until all are Ready |
| restart | the process is stopped and started again | every object was read once. The operator spreads these first looks over the interval on purpose, when it knows the objects to be in sync: a restart is no burst at the server |
| delete | all custom resources are deleted | both sides are empty. The operator reads after its DELETE, and lets the custom resource go when the object is gone; the handwritten controller believes the answer. Within a minute of its start (the request timeout and the server's slack) the operator waits for the end of that minute, so that no request of the process before can bring an object back; here the start lies longer ago |

`

// document is docs/benchmarks.md: ratios first.
func document(m machine, results []result) string {
	var b strings.Builder
	b.WriteString(preface)
	fmt.Fprintf(&b, "Measured on %s UTC with %d processors, %s, %s.\n\n", m.date.Format("2006-01-02 15:04"), m.cores, m.goVersion, m.cpuOS)
	b.WriteString("## Ratios: operator / handwritten\n\n")
	b.WriteString(ratios(results))
	b.WriteString("\n")
	b.WriteString(faults(results))
	b.WriteString("\n")
	fmt.Fprintf(&b, guide, interval, workers, mappingWrites(results), steadyIntervals, drifted)
	b.WriteString("## Figures\n\n")
	b.WriteString(figures(results))
	return b.String()
}

func ratios(results []result) string {
	rows := [][]string{{"scenario", "objects", "seconds", "REST calls", "API reads", "API writes", "CPU", "peak memory"}}
	for _, p := range pairs(results) {
		o, h := p.operator, p.handwritten
		rows = append(rows, []string{
			o.Scenario, fmt.Sprint(o.Objects), ratio(o.Seconds, h.Seconds), ratio(float64(o.requests()), float64(h.requests())),
			ratio(float64(o.Reads), float64(h.Reads)), ratio(float64(o.Writes), float64(h.Writes)),
			ratio(milliseconds(o.CPU), milliseconds(h.CPU)), ratio(o.PeakMiB, h.PeakMiB),
		})
	}
	return table(rows)
}

type pair struct{ operator, handwritten result }

// pairs puts together what belongs together, in the order in which it was measured.
func pairs(results []result) []pair {
	var list []pair
	for _, h := range results {
		if h.Contender != "handwritten" {
			continue
		}
		for _, o := range results {
			if o.Contender == "operator" && o.Scenario == h.Scenario && o.Objects == h.Objects {
				list = append(list, pair{operator: o, handwritten: h})
			}
		}
	}
	return list
}

// ratio is how many times b goes into a.
func ratio(a, b float64) string {
	const nothing = 1e-9
	switch {
	case math.Abs(b) > nothing:
		return fmt.Sprintf("%.2f", a/b)
	case math.Abs(a) > nothing:
		return fmt.Sprintf("%.4g : 0", a)
	default:
		return "0 : 0"
	}
}

// faults says what must be none.
func faults(results []result) string {
	duplicates, left := 0, 0
	for _, r := range results {
		duplicates, left = max(duplicates, r.Duplicates), max(left, r.Left)
	}
	return fmt.Sprintf("Duplicates at the server: %d. Objects left behind after the last delete: %d.\n", duplicates, left)
}

// mappingWrites sums up what does not belong to any one object.
func mappingWrites(results []result) string {
	total, seconds := 0, 0.0
	for _, r := range results {
		if r.Contender == "operator" {
			total += r.Mapping
			seconds += r.Seconds
		}
	}
	return fmt.Sprintf("%d writes in the %.0f seconds of all scenarios", total, seconds)
}

func figures(results []result) string {
	rows := [][]string{{
		"scenario", "objects", "contender", "seconds", "REST calls", "per", "by method", "API reads", "API writes", "events", "CPU ms", "peak MiB", "noise",
	}}
	for _, p := range pairs(results) {
		for _, r := range []result{p.operator, p.handwritten} {
			rows = append(rows, []string{
				r.Scenario, fmt.Sprint(r.Objects), r.Contender, fmt.Sprintf("%.1f", r.Seconds),
				fmt.Sprintf("%.2f", r.each(float64(r.requests()))), r.Unit, methods(r), fmt.Sprintf("%.3f", r.each(float64(r.Reads))),
				fmt.Sprintf("%.2f", r.each(float64(r.Writes))), fmt.Sprintf("%.2f", r.each(float64(r.Events))), fmt.Sprintf("%.2f", r.each(milliseconds(r.CPU))),
				fmt.Sprintf("%.0f", r.PeakMiB), fmt.Sprintf("%.1f", r.Noise),
			})
		}
	}
	return "REST calls, API calls and CPU are per what stands in the column \"per\".\n\n" + table(rows)
}

// methods gives the REST calls of each unit by method.
func methods(r result) string {
	sums := map[string]int{}
	for call, n := range r.REST {
		method, _, _ := strings.Cut(call, " ")
		sums[method] += n
	}
	var parts []string
	for _, method := range slices.Sorted(maps.Keys(sums)) {
		parts = append(parts, fmt.Sprintf("%s %.2f", method, r.each(float64(sums[method]))))
	}
	return strings.Join(parts, ", ")
}

// table is Markdown whose columns are aligned, so that it also reads well on a terminal.
func table(rows [][]string) string {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], len(cell))
		}
	}
	var b strings.Builder
	for i, row := range rows {
		for j, cell := range row {
			fmt.Fprintf(&b, "| %-*s ", widths[j], cell)
		}
		b.WriteString("|\n")
		if i == 0 {
			for _, width := range widths {
				b.WriteString("|" + strings.Repeat("-", width+2))
			}
			b.WriteString("|\n")
		}
	}
	return b.String()
}
