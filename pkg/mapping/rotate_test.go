package mapping

import (
	"net/http"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/restmapping/operator/api/v1alpha1"
)

func rotation(o v1alpha1.RotateOperation) specChange {
	return func(s *v1alpha1.RestMappingSpec) {
		o.Path = "/owners/{owner}/widgets/{widget}/token"
		s.Operations.Rotate = &o
	}
}

func TestCompileRefusesRotations(t *testing.T) {
	t.Parallel()
	onRotate := []v1alpha1.FieldEvent{v1alpha1.OnCreate, v1alpha1.OnRotate}
	takes := output(v1alpha1.Output{Data: data("a", "response.body.a"), Operations: onRotate})
	none := v1alpha1.RotateOperation{}
	cases := map[string]struct {
		changes     []specChange
		field, says string
	}{
		"nothing takes the value": {[]specChange{rotation(none)}, "spec.operations.rotate", "operations: [Create, Rotate]"},
		"nothing gives it":        {[]specChange{takes}, "spec.outputs[0].operations", "no operations.rotate"},
		"no first value": {
			[]specChange{rotation(none), output(v1alpha1.Output{Data: data("a", "self.metadata.name"), Operations: onRotate[1:]})},
			"spec.outputs[0].operations", "together with Create",
		},
		"too often": {
			[]specChange{takes, rotation(v1alpha1.RotateOperation{Interval: metav1.Duration{Duration: time.Minute}})},
			"spec.operations.rotate.interval", "1h0m0s",
		},
		"another method": {[]specChange{takes, rotation(v1alpha1.RotateOperation{Method: "DELETE"})}, "spec.operations.rotate.method", "POST"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantOneError(t, compileErrors(t, widgetTarget(t), tc.changes...), tc.field, tc.says)
		})
	}
	p := compiled(t, takes, rotation(v1alpha1.RotateOperation{BodyExpression: "{'was': observed.name}", Interval: metav1.Duration{Duration: 24 * time.Hour}}))
	if p.RotateEvery() != 24*time.Hour || !p.Outputs()[0].OnRotate {
		t.Errorf("every %s, outputs %+v", p.RotateEvery(), p.Outputs())
	}
	pass := p.NewPass(Inputs{Self: self(t, widgetSelf)})
	pass.SetIdentifiers(map[string]string{"owner": "acme", "widget": "w1"})
	req, err := pass.RotateRequest(t.Context(), object(t, `{"name":"w"}`))
	if err != nil || req.Method != http.MethodPost || req.Path != "/owners/acme/widgets/w1/token" || string(req.Body) != `{"was":"w"}` || !req.Operation.Mutating() {
		t.Errorf("the request is %+v, %v", req, err)
	}
}
