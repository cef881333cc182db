package admission

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// ruleJudge gives fixed answers and counts the questions.
type ruleJudge struct {
	broken, warnings []string
	err              error
	asked            int
}

// Violations implements RuleJudge.
func (j *ruleJudge) Violations(context.Context, *unstructured.Unstructured) (broken, warnings []string, err error) {
	j.asked++
	return j.broken, j.warnings, j.err
}

func raw(t *testing.T, content map[string]any) runtime.RawExtension {
	t.Helper()
	object := map[string]any{"apiVersion": "example.com/v1", "kind": "Widget", "metadata": map[string]any{"name": "one"}, "spec": map[string]any{"size": 3}}
	maps.Copy(object, content)
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return runtime.RawExtension{Raw: text}
}

func TestACustomResourceThatBreaksARuleIsRefused(t *testing.T) {
	t.Parallel()
	j := &ruleJudge{broken: []string{"too large", "no owner"}, warnings: []string{"one was not judged"}}
	for _, operation := range []admissionv1.Operation{admissionv1.Create, admissionv1.Update} {
		req := admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{Operation: operation, Object: raw(t, nil), OldObject: raw(t, map[string]any{"spec": nil})}}
		got := CustomResources{j}.Handle(t.Context(), req)
		if got.Allowed || !strings.Contains(got.Result.Message, "too large; no owner") || len(got.Warnings) != 1 {
			t.Errorf("%s: %+v", operation, got)
		}
	}
}

// The operator's own writes and deletions must never be refused, whatever the rules say.
func TestWhatRulesAreNotAskedAbout(t *testing.T) {
	t.Parallel()
	going := map[string]any{"metadata": map[string]any{"name": "one", "deletionTimestamp": "2026-01-02T03:04:05Z"}, "spec": map[string]any{"size": 4}}
	noted := map[string]any{"metadata": map[string]any{"name": "one", "annotations": map[string]any{"restmapping.dev/record": "x"}, "finalizers": []any{"restmapping.dev/external-object"}}}
	for name, req := range map[string]admissionv1.AdmissionRequest{
		"a deletion":          {Operation: admissionv1.Delete, OldObject: raw(t, nil)},
		"a status":            {Operation: admissionv1.Update, SubResource: "status", Object: raw(t, nil), OldObject: raw(t, nil)},
		"what is going":       {Operation: admissionv1.Update, Object: raw(t, going), OldObject: raw(t, nil)},
		"annotations":         {Operation: admissionv1.Update, Object: raw(t, noted), OldObject: raw(t, nil)},
		"another operation":   {Operation: admissionv1.Connect},
		"a change of nothing": {Operation: admissionv1.Update, Object: raw(t, nil), OldObject: raw(t, nil)},
	} {
		j := &ruleJudge{broken: []string{"never"}}
		if got := (CustomResources{j}).Handle(t.Context(), admission.Request{AdmissionRequest: req}); !got.Allowed || j.asked > 0 {
			t.Errorf("%s: asked %d times, %+v", name, j.asked, got)
		}
	}
	labelled := map[string]any{"metadata": map[string]any{"name": "one", "labels": map[string]any{"a": "b"}}}
	j := &ruleJudge{broken: []string{"never"}}
	req := admissionv1.AdmissionRequest{Operation: admissionv1.Update, Object: raw(t, labelled), OldObject: raw(t, nil)}
	if got := (CustomResources{j}).Handle(t.Context(), admission.Request{AdmissionRequest: req}); got.Allowed {
		t.Error("a change of labels is not judged")
	}
}

func TestRulesThatCannotBeJudgedLetThrough(t *testing.T) {
	t.Parallel()
	req := admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{Operation: admissionv1.Create, Object: raw(t, nil)}}
	got := CustomResources{&ruleJudge{err: errors.New("no answer")}}.Handle(t.Context(), req)
	if !got.Allowed || len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], "not checked: no answer") {
		t.Errorf("%+v", got)
	}
	req.Object = runtime.RawExtension{Raw: []byte("{")}
	if got := (CustomResources{&ruleJudge{}}).Handle(t.Context(), req); got.Allowed || got.Result.Code != 400 {
		t.Errorf("nonsense: %+v", got)
	}
}
