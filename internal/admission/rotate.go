package admission

import (
	"fmt"

	"github.com/open-policy-agent/cert-controller/pkg/rotator"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// Rotation says where the operator keeps a certificate that it makes and renews itself.
type Rotation struct {
	// Secret holds it; it exists, and is mounted at the server's CertDir.
	Secret types.NamespacedName
	// Configuration is the ValidatingWebhookConfiguration that is told the authority.
	Configuration string
	// DNSName is that of the Service.
	DNSName string
}

// Rotate has the manager make and renew the certificate. The channel is closed when it is in its place.
func Rotate(mgr manager.Manager, r Rotation, certDir string) (<-chan struct{}, error) {
	ready := make(chan struct{})
	err := rotator.AddRotator(mgr, &rotator.CertRotator{
		SecretKey: r.Secret, CertDir: certDir, DNSName: r.DNSName, IsReady: ready,
		CAName: "restmapping-operator", CAOrganization: "restmapping-operator", FieldOwner: "restmapping-operator",
		Webhooks: []rotator.WebhookInfo{{Name: r.Configuration, Type: rotator.Validating}},
	})
	if err != nil {
		return nil, fmt.Errorf("keep the certificate of the admission webhook in Secret %s: %w", r.Secret, err)
	}
	return ready, nil
}
