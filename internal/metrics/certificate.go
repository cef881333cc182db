package metrics

import (
	"crypto/x509"
	"encoding/pem"
	"os"

	"github.com/prometheus/client_golang/prometheus"
)

// certificateCollector reads the certificate of the webhook when it is scraped: whoever renews it tells nobody.
type certificateCollector struct{ file string }

func describeCertificate() *prometheus.Desc {
	return prometheus.NewDesc(prometheus.BuildFQName(namespace, "", "webhook_certificate_expiry_timestamp_seconds"),
		"When the certificate of the admission webhook ends.", nil, nil)
}

// WatchCertificate adds the end of the certificate in this file.
func (m *Meter) WatchCertificate(file string) { m.register(&certificateCollector{file: file}) }

// Describe implements prometheus.Collector.
func (c *certificateCollector) Describe(out chan<- *prometheus.Desc) { out <- describeCertificate() }

// Collect implements prometheus.Collector. There is no series while there is no certificate.
func (c *certificateCollector) Collect(out chan<- prometheus.Metric) {
	content, err := os.ReadFile(c.file)
	if err != nil {
		return
	}
	block, _ := pem.Decode(content)
	if block == nil {
		return
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return
	}
	out <- prometheus.MustNewConstMetric(describeCertificate(), prometheus.GaugeValue, float64(certificate.NotAfter.Unix()))
}
