package servers

import (
	"context"
	"path/filepath"
)

// alertmanagerProgram is where Debian and Ubuntu install it.
const alertmanagerProgram = "/usr/bin/prometheus-alertmanager"

// Alertmanager is a running Prometheus Alertmanager, without credentials. Its owner must call Stop.
type Alertmanager struct{ *single }

// StartAlertmanager starts an Alertmanager and returns when its API answers below BaseURL, which ends in /api/v2. The
// context bounds the start alone.
func StartAlertmanager(ctx context.Context, options Options) (*Alertmanager, error) {
	s, err := startSingle(ctx, options, singleConfig{
		name: "alertmanager", program: alertmanagerProgram, ready: "/api/v2/status",
		args: func(dir, address string) []string {
			return []string{
				"--web.listen-address=" + address, "--cluster.listen-address=",
				"--storage.path=" + filepath.Join(dir, "data"), "--config.file=/etc/prometheus/alertmanager.yml",
			}
		},
	})
	if err != nil {
		return nil, err
	}
	s.BaseURL += "/api/v2"
	return &Alertmanager{single: s}, nil
}
