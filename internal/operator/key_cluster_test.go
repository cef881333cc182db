//go:build cluster

package operator_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/restmapping/operator/internal/charttest"
	"github.com/restmapping/operator/internal/lab"
	"github.com/restmapping/operator/pkg/engine/keys"
)

// TestTheKeyOfTheInstallation: the first start makes it with the chart's rights, the next one reads it; when it is gone
// none is made in its place, and nothing is sent until it is back.
func TestTheKeyOfTheInstallation(t *testing.T) {
	l := lab.New(t)
	p := newPart(l, upsertMapping, upsertThings)
	p.Create("one", "{size: 3}")
	p.Ready("one")
	client, err := kubernetes.NewForConfig(l.Admin)
	if err != nil {
		t.Fatal(err)
	}
	secrets := client.CoreV1().Secrets(charttest.Namespace)
	kept, err := secrets.Get(t.Context(), keys.SecretName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	l.Stop()
	if err := secrets.Delete(t.Context(), keys.SecretName, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	l.Start()
	p.Patch("one", `{"spec":{"size":4}}`)
	message := p.Stalled("one", "RecordUnverified")
	if !strings.Contains(message, charttest.Namespace+"/"+keys.SecretName) || !strings.Contains(message, "restore") {
		t.Errorf("the message names no remedy: %s", message)
	}
	if _, err := secrets.Get(t.Context(), keys.SecretName, metav1.GetOptions{}); err == nil {
		t.Error("a new key was made in the place of the lost one")
	}
	if live := p.server.Live("/things"); len(live) != 1 {
		t.Errorf("outside: %v", live)
	}
	l.Stop()
	kept.ObjectMeta = metav1.ObjectMeta{Name: kept.Name, Namespace: kept.Namespace}
	if _, err := secrets.Create(t.Context(), kept, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	l.Start()
	p.Ready("one")
	p.Delete("one")
	p.Gone("one")
	if strings.Contains(l.Log(), string(kept.Data["key"])) {
		t.Error("the log holds the key")
	}
}
