//go:build install

package install_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/restmapping/operator/e2e/install/images"
)

// release is an installation of the chart.
type release struct{ name, namespace, values string }

// deployment is the name of the release's Deployment.
func (r release) deployment() string { return r.name + "-restmapping-operator" }

// newRelease is a release of the old version in a namespace of its own; more are further values in YAML.
func newRelease(name, more string) release {
	values := fmt.Sprintf(`
image: {repository: %s, tag: %s, pullPolicy: IfNotPresent}
managedKinds: [{group: install.example.com, resources: [things]}]
%s
`, images.Operator, images.Old, more)
	return release{name: name, namespace: name + "-system", values: values}
}

// restricted makes a namespace that refuses every pod that is not as harmless as Kubernetes can say.
func (s *scene) restricted(namespace string) {
	s.t.Helper()
	s.apply(fmt.Sprintf(`
apiVersion: v1
kind: Namespace
metadata:
  name: %s
  labels: {pod-security.kubernetes.io/enforce: restricted, pod-security.kubernetes.io/enforce-version: latest}
`, namespace))
}

// running waits until the Deployment of a release has all its pods ready and no others.
func (s *scene) running(r release) []corev1.Pod {
	s.t.Helper()
	var pods []corev1.Pod
	s.eventually("pods of "+r.name, func() string {
		deployment, err := s.client.AppsV1().Deployments(r.namespace).Get(s.t.Context(), r.deployment(), metav1.GetOptions{})
		if err != nil {
			return err.Error()
		}
		want := *deployment.Spec.Replicas
		status := deployment.Status
		if status.ObservedGeneration < deployment.Generation || status.UpdatedReplicas != want || status.AvailableReplicas != want || status.Replicas != want {
			return fmt.Sprintf("%d replicas wanted, %+v%s", want, status, s.trouble(r.namespace))
		}
		pods = s.pods(r)
		if len(pods) != int(want) {
			return fmt.Sprintf("%d pods, %d wanted", len(pods), want)
		}
		return ""
	})
	return pods
}

// pods are those of a release, by name.
func (s *scene) pods(r release) []corev1.Pod {
	s.t.Helper()
	list, err := s.client.CoreV1().Pods(r.namespace).List(s.t.Context(), metav1.ListOptions{LabelSelector: "app.kubernetes.io/instance=" + r.name})
	if err != nil {
		s.t.Fatal(err)
	}
	slices.SortFunc(list.Items, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return list.Items
}

// trouble is what the events of a namespace warn of.
func (s *scene) trouble(namespace string) string {
	events, err := s.client.CoreV1().Events(namespace).List(s.t.Context(), metav1.ListOptions{FieldSelector: "type=Warning"})
	if err != nil {
		return ""
	}
	texts := map[string]bool{}
	for _, event := range events.Items {
		texts["\n  "+event.InvolvedObject.Name+": "+event.Message] = true
	}
	return strings.Join(slices.Sorted(maps.Keys(texts)), "")
}

// leader waits for a holder of the lease that is not the one named, and gives it and the name of its pod.
func (s *scene) leader(r release, other string) (holder, pod string) {
	s.t.Helper()
	s.eventually("leader of "+r.name, func() string {
		leases, err := s.client.CoordinationV1().Leases(r.namespace).List(s.t.Context(), metav1.ListOptions{})
		if err != nil {
			return err.Error()
		}
		for _, lease := range leases.Items {
			if id := lease.Spec.HolderIdentity; id != nil && *id != "" && *id != other {
				holder = *id
				pod, _, _ = strings.Cut(holder, "_")
				return ""
			}
		}
		return fmt.Sprintf("%d leases, none with a new holder", len(leases.Items))
	})
	return holder, pod
}

// kill ends a pod's container like a crash where the nodes are ours; elsewhere the pod is deleted without a grace period.
func (s *scene) kill(r release, name string) time.Time {
	s.t.Helper()
	pod, err := s.client.CoreV1().Pods(r.namespace).Get(s.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	if s.nodes == nil {
		s.kubectl("delete", "pod", name, "--namespace", r.namespace, "--grace-period=0", "--force")
		return time.Now()
	}
	if err := s.nodes.Kill(s.t.Context(), pod.Spec.NodeName, pod.Status.ContainerStatuses[0].ContainerID); err != nil {
		s.t.Fatal(err)
	}
	return time.Now()
}
