//go:build install

package install_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	toolswatch "k8s.io/client-go/tools/watch"

	"github.com/restmapping/operator/e2e/install/images"
)

// drain empties a node that both pods are on. The budget lets one go at a time, and never leaves none.
func (s *scene) drain(r release) {
	if s.nodes == nil {
		s.t.Skip("the nodes of a cluster that was given are not drained")
	}
	full, empty := s.nodes.Names()[0], s.nodes.Names()[1]
	s.kubectl("cordon", empty)
	for _, pod := range s.pods(r) {
		if pod.Spec.NodeName == empty {
			s.kubectl("delete", "pod", pod.Name, "--namespace", r.namespace)
		}
	}
	for _, pod := range s.running(r) {
		if pod.Spec.NodeName != full {
			s.t.Fatalf("pod %s is still on %s", pod.Name, pod.Spec.NodeName)
		}
	}
	s.kubectl("uncordon", empty)
	made := len(s.report().Changes)
	fewest := s.watchReady(r)
	began := time.Now()
	out := s.kubectl("drain", full, "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=180s")
	s.t.Logf("%s was drained in %.1f s", full, time.Since(began).Seconds())
	pods := s.running(r)
	if ready := fewest(); ready != 1 {
		s.t.Errorf("at the worst moment %d pods were ready, 1 wanted", ready)
	}
	if !strings.Contains(out, "disruption budget") {
		s.t.Errorf("the budget held no eviction back:\n%s", out)
	}
	for _, pod := range pods {
		if pod.Spec.NodeName != empty {
			s.t.Errorf("pod %s is on the drained %s", pod.Name, pod.Spec.NodeName)
		}
	}
	s.kubectl("uncordon", full)
	s.leader(r, "")
	if changes := s.report().Changes[made:]; len(changes) > 0 {
		s.t.Errorf("the drain sent changes: %+v", changes)
	}
}

// watchReady counts ready pods of a release from now on; the function that it gives ends that and says how few there were.
func (s *scene) watchReady(r release) func() int {
	s.t.Helper()
	pods := s.client.CoreV1().Pods(r.namespace)
	selector := "app.kubernetes.io/instance=" + r.name
	list, err := pods.List(s.t.Context(), metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		s.t.Fatal(err)
	}
	ready := map[string]bool{}
	for _, pod := range list.Items {
		ready[pod.Name] = isReady(&pod)
	}
	ctx, cancel := context.WithCancel(s.t.Context())
	watcher, err := toolswatch.NewRetryWatcherWithContext(ctx, list.ResourceVersion, &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.LabelSelector = selector
			return pods.Watch(ctx, options)
		},
	})
	if err != nil {
		cancel()
		s.t.Fatal(err)
	}
	fewest, done := count(ready), make(chan struct{})
	go func() {
		defer close(done)
		for event := range watcher.ResultChan() {
			if pod, ok := event.Object.(*corev1.Pod); ok {
				ready[pod.Name] = event.Type != watch.Deleted && isReady(pod)
				fewest = min(fewest, count(ready))
			}
		}
	}()
	return func() int {
		cancel()
		<-done
		return fewest
	}
}

func count(ready map[string]bool) int {
	n := 0
	for _, yes := range ready {
		if yes {
			n++
		}
	}
	return n
}

func isReady(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue && pod.DeletionTimestamp == nil
		}
	}
	return false
}

// beside narrows the first release to its namespace and installs an older one, which sees another namespace alone.
func (s *scene) beside(r release) {
	s.helm(r, "upgrade", "--set", "watchNamespaces={team-a},image.tag="+images.New)
	s.running(r)
	second := secondRelease()
	s.restricted(second.namespace)
	s.team("team-b")
	s.helm(second, "install")
	s.running(second)
	made := len(s.report().Changes)
	s.make("team-b", 1, 3)
	s.make("team-a", 47, 47)
	s.ready("team-b", 3)
	s.ready("team-a", 47)
	byAgent := map[string]int{}
	for _, change := range s.report().Changes[made:] {
		byAgent[change.Method+" by "+change.Agent]++
	}
	want := "map[POST by restmapping-operator/e2e-1:3 POST by restmapping-operator/e2e-2:1]"
	if got := fmt.Sprint(byAgent); got != want {
		s.t.Errorf("who made what: got %s, want %s", got, want)
	}
}

// secondRelease is the one that sees only team-b.
func secondRelease() release {
	return newRelease("second", "crds: {install: false}\nreplicas: 1\nwatchNamespaces: [team-b]")
}
