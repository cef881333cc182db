package metrics_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/engine/secrets"
)

// conditions is a cache with one mapping that was not accepted and two endpoints.
func conditions(t *testing.T) client.Reader {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	is := func(kind string, status metav1.ConditionStatus) metav1.Condition {
		return metav1.Condition{Type: kind, Status: status, Reason: "X", LastTransitionTime: metav1.Now()}
	}
	m := &v1alpha1.RestMapping{}
	m.Name = "broken"
	m.Status.Conditions = []metav1.Condition{is("Ready", "False"), is("Accepted", "False"), is("Watching", "Unknown"), is("Stalled", "True")}
	named, shared := &v1alpha1.RestEndpoint{}, &v1alpha1.ClusterRestEndpoint{}
	named.Name, named.Namespace = "main", "team"
	named.Status.Conditions = []metav1.Condition{is("Ready", "True")}
	shared.Name = "all"
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(m, named, shared).Build()
}

// certificate is a file with a certificate that ends at a known time.
func certificate(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Unix(1900000000, 0)}
	made, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "tls.crt")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: made}), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestConditionsAreSeries(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.meter.WatchConditions(conditions(t))
	want := []string{
		"endpoint_condition{condition=Ready,endpoint=ClusterRestEndpoint all} 0", "endpoint_condition{condition=Ready,endpoint=RestEndpoint team/main} 1",
		"endpoint_condition{condition=Stalled,endpoint=ClusterRestEndpoint all} 0", "endpoint_condition{condition=Stalled,endpoint=RestEndpoint team/main} 0",
		"endpoint_condition{condition=Throttled,endpoint=ClusterRestEndpoint all} 0", "endpoint_condition{condition=Throttled,endpoint=RestEndpoint team/main} 0",
		"mapping_condition{condition=Accepted,mapping=broken} 0", "mapping_condition{condition=Ready,mapping=broken} 0",
		"mapping_condition{condition=Stalled,mapping=broken} 1", "mapping_condition{condition=TargetCompatible,mapping=broken} 0",
		"mapping_condition{condition=Watching,mapping=broken} 0",
	}
	if diff := cmp.Diff(want, b.series(t)); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
	}
}

func TestTheWebhooksCertificateHasAnEnd(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.meter.WatchCertificate(certificate(t))
	if got := b.series(t); !slices.Contains(got, "webhook_certificate_expiry_timestamp_seconds{} 1.9e+09") {
		t.Errorf("series %q", got)
	}
	none := newBench(t)
	none.meter.WatchCertificate(filepath.Join(t.TempDir(), "tls.crt"))
	if got := none.series(t); len(got) != 0 {
		t.Errorf("without a certificate: %q", got)
	}
}

func TestReadsOfSecretsAreCountedByResult(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, err := range []error{
		nil, nil, fmt.Errorf("x: %w", &secrets.NotFoundError{}), &secrets.NotAllowedError{}, &secrets.NamespaceNotWatchedError{}, errors.New("away"),
	} {
		b.meter.SecretRead(err)
	}
	var got []string
	for _, family := range b.families(t) {
		for _, metric := range family.GetMetric() {
			got = append(got, fmt.Sprint(strings.TrimPrefix(family.GetName(), "restmapping_"), " ", metric.GetLabel()[0].GetValue(), " ", valueOf(metric)))
		}
	}
	want := []string{"secret_reads_total Found 2", "secret_reads_total NotAllowed 2", "secret_reads_total NotFound 1", "secret_reads_total Unavailable 1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
	}
}
