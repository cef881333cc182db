package admission

import (
	"context"
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/mapping"
)

// previewer gives fixed answers and counts the questions.
type previewer struct {
	warnings []string
	err      error
	asked    int
}

// Preview implements Previewer.
func (p *previewer) Preview(context.Context, *v1alpha1.RestMapping) ([]string, error) {
	p.asked++
	return p.warnings, p.err
}

func widget(change func(*v1alpha1.RestMapping)) *v1alpha1.RestMapping {
	m := &v1alpha1.RestMapping{ObjectMeta: metav1.ObjectMeta{Name: "widgets"}}
	m.Spec.Target = v1alpha1.Target{Group: "example.com", Version: "v1", Kind: "Widget"}
	if change != nil {
		change(m)
	}
	return m
}

func TestAMappingIsRefusedWithAllItsErrors(t *testing.T) {
	t.Parallel()
	p := &previewer{warnings: []string{"slow"}, err: &mapping.InvalidError{Errors: []v1alpha1.ExpressionError{
		{Field: "spec.fields[0].value", Line: 1, Column: 6, Message: "undefined field 'siz'"},
		{Field: "spec.target", Message: "no"},
	}}}
	warnings, err := Mappings{p}.ValidateCreate(t.Context(), widget(nil))
	if !apierrors.IsInvalid(err) || len(warnings) != 1 {
		t.Fatalf("got %v, warnings %v", err, warnings)
	}
	for _, says := range []string{"spec.fields[0].value", "line 1, column 6: undefined field 'siz'", "spec.target", "widgets"} {
		if !strings.Contains(err.Error(), says) {
			t.Errorf("%v does not say %q", err, says)
		}
	}
}

func TestWhatMayStillComeIsAWarning(t *testing.T) {
	t.Parallel()
	warnings, err := Mappings{&previewer{warnings: []string{"no CRD"}}}.ValidateCreate(t.Context(), widget(nil))
	if err != nil || len(warnings) != 1 {
		t.Errorf("got %v, %v", warnings, err)
	}
}

func TestAFailedQuestionRefusesNothingForGood(t *testing.T) {
	t.Parallel()
	_, err := Mappings{&previewer{err: errors.New("no answer")}}.ValidateCreate(t.Context(), widget(nil))
	if !apierrors.IsInternalError(err) {
		t.Errorf("got %v", err)
	}
}

// A stored mapping that no longer compiles must be able to change in everything else, and above all to go.
func TestOnlyAChangeOfTheSpecIsJudged(t *testing.T) {
	t.Parallel()
	refuses := func() *previewer { return &previewer{err: &mapping.InvalidError{}} }
	cases := map[string]struct {
		change func(*v1alpha1.RestMapping)
		judged bool
	}{
		"a label":            {func(m *v1alpha1.RestMapping) { m.Labels = map[string]string{"a": "b"} }, false},
		"its finalizer":      {func(m *v1alpha1.RestMapping) { m.Finalizers = []string{"x"} }, false},
		"while it goes":      {func(m *v1alpha1.RestMapping) { m.DeletionTimestamp = &metav1.Time{}; m.Spec.Target.Version = "v2" }, false},
		"a change of target": {func(m *v1alpha1.RestMapping) { m.Spec.Target.Version = "v2" }, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := refuses()
			_, err := Mappings{p}.ValidateUpdate(t.Context(), widget(nil), widget(tc.change))
			if (p.asked > 0) != tc.judged || (err != nil) != tc.judged {
				t.Errorf("asked %d times, got %v", p.asked, err)
			}
		})
	}
}

func TestDeletingAMappingInUseIsToldAndNotRefused(t *testing.T) {
	t.Parallel()
	used := widget(func(m *v1alpha1.RestMapping) { m.Status.Objects = &v1alpha1.ObjectCounts{Total: 3} })
	warnings, err := Mappings{}.ValidateDelete(t.Context(), used)
	if err != nil || len(warnings) != 1 || !strings.Contains(warnings[0], "3 custom resources of kind Widget") {
		t.Errorf("in use: %v, %v", warnings, err)
	}
	if warnings, err := (Mappings{}).ValidateDelete(t.Context(), widget(nil)); err != nil || len(warnings) != 0 {
		t.Errorf("not in use: %v, %v", warnings, err)
	}
}

func TestEndpoints(t *testing.T) {
	t.Parallel()
	fine := v1alpha1.EndpointSpec{BaseURL: "https://api.example.com/v1"}
	cases := map[string]struct {
		change func(*v1alpha1.EndpointSpec)
		field  string
	}{
		"it is fine":                     {func(*v1alpha1.EndpointSpec) {}, ""},
		"no host":                        {func(s *v1alpha1.EndpointSpec) { s.BaseURL = "https://" }, "spec.baseURL"},
		"a query":                        {func(s *v1alpha1.EndpointSpec) { s.BaseURL += "?a=b" }, "spec.baseURL"},
		"an address that may be allowed": {func(s *v1alpha1.EndpointSpec) { s.BaseURL = "http://127.0.0.1:8080" }, ""},
		"no certificates":                {func(s *v1alpha1.EndpointSpec) { s.TLS = &v1alpha1.TLS{CABundle: "nonsense"} }, "spec.tls"},
		"a header that is the client's own": {
			func(s *v1alpha1.EndpointSpec) { s.Headers = []v1alpha1.NamedValue{{Name: "Host", Value: "x"}} }, "spec.headers",
		},
		"a secret that is not there": {func(s *v1alpha1.EndpointSpec) {
			s.Auth = &v1alpha1.Auth{Bearer: &v1alpha1.BearerAuth{}}
		}, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := fine
			tc.change(&spec)
			one := &v1alpha1.RestEndpoint{ObjectMeta: metav1.ObjectMeta{Name: "one", Namespace: "team"}, Spec: spec}
			_, err := RestEndpoints().ValidateCreate(t.Context(), one)
			wantField(t, err, tc.field)
			all := &v1alpha1.ClusterRestEndpoint{ObjectMeta: metav1.ObjectMeta{Name: "one"}}
			all.Spec.EndpointSpec = spec
			_, err = ClusterRestEndpoints().ValidateCreate(t.Context(), all)
			wantField(t, err, tc.field)
			before := one.DeepCopy()
			if _, err := RestEndpoints().ValidateUpdate(t.Context(), before, one); err != nil {
				t.Errorf("an update that changes nothing is refused: %v", err)
			}
			before.Spec.BaseURL = "https://other.example.com"
			_, err = RestEndpoints().ValidateUpdate(t.Context(), before, one)
			wantField(t, err, tc.field)
			if _, err := RestEndpoints().ValidateDelete(t.Context(), one); err != nil {
				t.Errorf("a deletion is refused: %v", err)
			}
		})
	}
}

func wantField(t *testing.T, err error, field string) {
	t.Helper()
	switch {
	case field == "" && err != nil:
		t.Errorf("refused: %v", err)
	case field != "" && (!apierrors.IsInvalid(err) || !strings.Contains(err.Error(), field)):
		t.Errorf("got %v, want a refusal of %s", err, field)
	}
}
