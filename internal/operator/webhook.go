package operator

import (
	"errors"

	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/restmapping/operator/internal/admission"
)

// Webhook says where the API server is answered what may be written. The zero value turns it off, and the operator works
// the same: what the webhook would have refused is then said in conditions.
type Webhook struct {
	// Host and Port are what is listened on; port 0 turns it off.
	Host string
	Port int
	// CertDir holds tls.crt and tls.key; they are read again when they change.
	CertDir string
	// Rotation has the operator make and renew them itself; nil when somebody else does.
	Rotation *admission.Rotation
}

func addWebhook(mgr manager.Manager, judge admission.Judge, w Webhook) error {
	if w.Port == 0 {
		return nil
	}
	var ready <-chan struct{}
	if w.Rotation != nil {
		made, err := admission.Rotate(mgr, *w.Rotation, w.CertDir)
		if err != nil {
			return err
		}
		ready = made
	}
	server := admission.NewServer(webhook.Options{Host: w.Host, Port: w.Port, CertDir: w.CertDir}, mgr.GetScheme(), judge, ready)
	return errors.Join(mgr.Add(server), mgr.AddReadyzCheck("admission", server.StartedChecker()))
}
