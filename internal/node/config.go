package node

import "fmt"

// containerdConfig: restrict_oom_score_adj because without CAP_SYS_RESOURCE runc may not lower a score and dies; runc by
// its path because another default runtime may refuse the machine's cgroups.
func (n *machine) containerdConfig(t tools) string {
	return fmt.Sprintf(`
version = 2
root = "%[1]s/containerd"
state = "%[1]s/containerd-state"

[grpc]
  address = "%[2]s"

[plugins."io.containerd.internal.v1.opt"]
  path = "%[1]s/opt"

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "%[3]s"
  restrict_oom_score_adj = true
  stream_server_address = "127.0.0.1"
  stream_server_port = "0"

[plugins."io.containerd.grpc.v1.cri".cni]
  bin_dir = "%[4]s"
  conf_dir = "%[1]s/cni"

[plugins."io.containerd.grpc.v1.cri".containerd]
  default_runtime_name = "runc"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
  BinaryName = "%[5]s"
`, n.dir, n.socket(), pauseReference, t.plugins, t.runc)
}

// podNetwork gives each pod a pair of interfaces and an address of the node's range.
func (n *machine) podNetwork() string {
	return fmt.Sprintf(`{"cniVersion": "0.4.0", "name": %q, "plugins": [{"type": "ptp", "ipam": {
  "type": "host-local", "subnet": %q, "routes": [{"dst": "0.0.0.0/0"}], "dataDir": %q
}}]}
`, n.name, pods(n.number), n.dir+"/addresses")
}

// kubeletConfig leaves the machine's cgroups and swap as they are, and evicts nothing: the disk is not the cluster's.
func (n *machine) kubeletConfig(clientAuthority string) string {
	return fmt.Sprintf(`
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: %[2]s
healthzPort: 0
readOnlyPort: 0
authentication:
  anonymous: {enabled: false}
  webhook: {enabled: false}
  x509: {clientCAFile: %[3]s}
authorization: {mode: AlwaysAllow}
containerRuntimeEndpoint: unix://%[4]s
cgroupDriver: cgroupfs
cgroupsPerQOS: false
enforceNodeAllocatable: []
failCgroupV1: false
failSwapOn: false
localStorageCapacityIsolation: false
evictionHard: {memory.available: 1Ki, nodefs.available: "0%%", imagefs.available: "0%%", nodefs.inodesFree: "0%%"}
imageGCHighThresholdPercent: 100
maxPods: 40
podLogsDir: %[1]s/pod-logs
resolvConf: %[1]s/resolv.conf
staticPodPath: %[1]s/manifests
volumePluginDir: %[1]s/plugins
nodeStatusUpdateFrequency: 5s
`, n.dir, address(n.number), clientAuthority, n.socket())
}
