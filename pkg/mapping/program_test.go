package mapping

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/rest"
)

func TestProgramGetters(t *testing.T) {
	t.Parallel()
	p := compiled(t, func(s *v1alpha1.RestMappingSpec) {
		s.Policy.Drift, s.Sync.Interval.Duration = v1alpha1.DriftReport, time.Minute
		s.Operations.Delete = nil
		projection("remote.state")(s)
		field(v1alpha1.Field{To: "password", Value: "secrets.password", WriteOnly: true})(s)
	})
	if p.Name() != "widgets" || p.Generation() != 3 {
		t.Errorf("name %s, generation %d", p.Name(), p.Generation())
	}
	if p.Interval() != time.Minute || p.ConsistencyWindow() != 10*time.Second || p.ServerSlack() != 30*time.Second {
		t.Errorf("times %v %v %v", p.Interval(), p.ConsistencyWindow(), p.ServerSlack())
	}
	wantPolicy := v1alpha1.Policy{
		Adoption: v1alpha1.AdoptNever, Deletion: v1alpha1.DeletionDelete, OnMissing: v1alpha1.MissingRecreate,
		Drift: v1alpha1.DriftReport, Immutable: v1alpha1.ImmutableStall, Management: v1alpha1.ManagementFull,
	}
	if diff := cmp.Diff(wantPolicy, p.Policy()); diff != "" {
		t.Errorf("policy (-want +got):\n%s", diff)
	}
	if !p.Supports(rest.Read) || !p.Supports(rest.Update) || p.Supports(rest.Delete) || p.Supports(rest.List) {
		t.Error("supported operations are wrong")
	}
	if diff := cmp.Diff([]string{"owner", "widget"}, p.Needs(rest.Read)); diff != "" || p.Needs(rest.Delete) != nil {
		t.Errorf("needs (-want +got):\n%s", diff)
	}
	if p.HasAssignedIdentifiers() || !p.HasWriteOnly() || p.EndpointKind() != v1alpha1.KindRestEndpoint {
		t.Error("identifiers, writeOnly or endpoint are wrong")
	}
	if diff := cmp.Diff([]string{"password"}, p.SecretNames()); diff != "" {
		t.Errorf("secrets (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([][]string{{"remote", "state"}}, p.StatusPaths()); diff != "" {
		t.Errorf("status paths (-want +got):\n%s", diff)
	}
	if !p.StatusHas("identifiers") || p.StatusHas("lastError") {
		t.Error("the CRD has status.identifiers and no status.lastError")
	}
	if len(p.Warnings()) != 0 {
		t.Errorf("warnings %q", p.Warnings())
	}
}

func TestEndpointText(t *testing.T) {
	t.Parallel()
	if got := compiled(t).EndpointText(); got != "RestEndpoint/main" {
		t.Errorf("got %s", got)
	}
	p := compiled(t, func(s *v1alpha1.RestMappingSpec) {
		s.Endpoint.Name, s.Endpoint.NameExpression = "", "self.spec.endpointRef"
	})
	if got := p.EndpointText(); got != "RestEndpoint/(self.spec.endpointRef)" {
		t.Errorf("got %s", got)
	}
}
