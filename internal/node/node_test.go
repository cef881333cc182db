package node

import (
	"errors"
	"os"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

func TestEverythingThatIsMissingIsNamedAtOnce(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	err := Check(t.TempDir())
	if _, ok := errors.AsType[*UnsupportedError](err); !ok {
		t.Fatalf("want an UnsupportedError, got %v", err)
	}
	for _, want := range []string{"containerd", "runc", "iptables", "conntrack", "bin/kubelet", "bin/kube-scheduler", "bin/kube-proxy"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%s is not named in: %v", want, err)
		}
	}
	if rootless := strings.Contains(err.Error(), "not root"); rootless != (os.Geteuid() != 0) {
		t.Errorf("as user %d: %v", os.Geteuid(), err)
	}
}

func TestNodesNeedIsolation(t *testing.T) {
	t.Setenv("RESTMAPPING_NODE_FOLDER", "")
	if cluster, err := Start(t.Context(), Options{}); err == nil {
		_ = cluster.Stop()
		t.Fatal("nodes started in the network of the machine")
	}
}

func TestFindTask(t *testing.T) {
	t.Parallel()
	const table = "TASK    PID      STATUS\nabc     417      RUNNING\ndef     0        STOPPED\n"
	cases := map[string]struct {
		id   string
		want int
	}{
		"a task that runs":            {"abc", 417},
		"a task that has ended":       {"def", 0},
		"a task that is not there":    {"ab", 0},
		"the table's head is no task": {"TASK", 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, err := findTask(table, tc.id); got != tc.want || (err == nil) != (tc.want != 0) {
				t.Errorf("got %d, %v", got, err)
			}
		})
	}
}

// TestConfigurationsAreYAML: their programs refuse what they do not know, so that only the form is checked here.
func TestConfigurationsAreYAML(t *testing.T) {
	t.Parallel()
	n := &machine{name: "node-2", dir: "/somewhere/node-2", number: 2}
	for name, text := range map[string]string{
		"kubelet": n.kubeletConfig("/somewhere/ca.crt"), "kube-proxy": proxyConfig("/somewhere/kubeconfig", 1, 2), "network": n.podNetwork(),
	} {
		var content map[string]any
		if err := yaml.UnmarshalStrict([]byte(text), &content); err != nil {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
	}
	if !strings.Contains(n.podNetwork(), "10.97.2.0/24") || !strings.Contains(n.kubeletConfig(""), "172.30.99.2") {
		t.Error("two nodes share addresses")
	}
}
