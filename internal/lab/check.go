package lab

import (
	"fmt"
	"strings"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Check holds a custom resource's status against the rules that every status must keep, and against kstatus.
func (k *Kind) Check(names ...string) {
	k.lab.tb.Helper()
	for _, name := range names {
		obj := k.Get(name)
		if obj == nil {
			continue
		}
		if problems := Problems(obj); len(problems) > 0 {
			k.lab.tb.Errorf("status of %s: %s%s", name, strings.Join(problems, "; "), show(obj))
		}
	}
}

// CheckAll is Check for every custom resource of the kind.
func (k *Kind) CheckAll() {
	k.lab.tb.Helper()
	list, err := k.Resource().List(k.lab.tb.Context(), metav1.ListOptions{})
	if err != nil {
		k.lab.tb.Fatalf("list %s: %v", k.GVR.Resource, err)
	}
	for i := range list.Items {
		if problems := Problems(&list.Items[i]); len(problems) > 0 {
			k.lab.tb.Errorf("status of %s: %s%s", list.Items[i].GetName(), strings.Join(problems, "; "), show(&list.Items[i]))
		}
	}
}

// Problems lists what is wrong with a status that the operator wrote.
func Problems(obj *unstructured.Unstructured) []string {
	var problems []string
	bad := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	ready, synced := condition(obj, "Ready"), condition(obj, "Synced")
	stalled, reconciling := condition(obj, "Stalled"), condition(obj, "Reconciling")
	if ready == nil || synced == nil {
		return []string{"Ready and Synced must always stand"}
	}
	for kind, c := range map[string]map[string]any{"Ready": ready, "Synced": synced, "Stalled": stalled, "Reconciling": reconciling} {
		problems = append(problems, conditionProblems(kind, c, obj.GetGeneration())...)
	}
	if stalled != nil && reconciling != nil {
		bad("Stalled and Reconciling at once")
	}
	if stalled != nil && ready["status"] == "True" {
		bad("Stalled and Ready at once")
	}
	if ready["status"] != "True" && ready["message"] == "" && ready["reason"] != "Progressing" {
		bad("Ready is %v without a message", ready["status"])
	}
	return append(problems, kstatusProblems(obj, ready, stalled, reconciling)...)
}

// conditionProblems checks one condition; nil for one that does not stand.
func conditionProblems(kind string, c map[string]any, generation int64) []string {
	if c == nil {
		return nil
	}
	var problems []string
	if seen, ok := c["observedGeneration"].(int64); !ok || seen > generation {
		problems = append(problems, fmt.Sprintf("%s has observedGeneration %v of generation %d", kind, c["observedGeneration"], generation))
	}
	if c["reason"] == "" || c["reason"] == nil {
		problems = append(problems, kind+" has no reason")
	}
	if (kind == "Stalled" || kind == "Reconciling") && c["status"] != "True" {
		problems = append(problems, kind+" stands while it is not true")
	}
	return problems
}

// kstatusProblems checks that kubectl, Flux and others come to the same conclusion as the conditions.
func kstatusProblems(obj *unstructured.Unstructured, ready, stalled, reconciling map[string]any) []string {
	result, err := status.Compute(obj)
	if err != nil {
		return []string{"kstatus: " + err.Error()}
	}
	want := status.InProgressStatus
	observed, _, _ := unstructured.NestedInt64(obj.Object, "status", "observedGeneration")
	switch {
	case obj.GetDeletionTimestamp() != nil:
		want = status.TerminatingStatus
	case observed != obj.GetGeneration() || reconciling != nil:
	case stalled != nil:
		want = status.FailedStatus
	case ready["status"] == "True":
		want = status.CurrentStatus
	}
	if result.Status != want {
		return []string{fmt.Sprintf("kstatus says %s (%s), and the conditions mean %s", result.Status, result.Message, want)}
	}
	return nil
}
