#!/usr/bin/env bash
# Builds the servers that tests and the demo run against into bin/, from Go modules alone.
#
#   hack/build.sh controlplane   etcd, kube-apiserver, kube-controller-manager, kubectl, helm
#   hack/build.sh node           kubelet, kube-scheduler, kube-proxy; Debian's containerd, runc and CNI plugins, where apt-get is there
#   hack/build.sh gitea          Gitea with SQLite, and its templates
#   hack/build.sh others         PocketBase, Toxiproxy
#   hack/build.sh packages       Debian's RabbitMQ, LXD, Alertmanager and PowerDNS, where apt-get and the rights are there
#
# What is there in the right version is left alone: bin/.stamps/NAME holds a fingerprint of the module and the flags.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
bin=$root/bin
stamps=$bin/.stamps

# fingerprint MODULE-DIR FLAGS... identifies what a build depends on.
fingerprint() {
  local dir=$1
  shift
  { cat "$dir/go.mod" "$dir/go.sum"; go env GOVERSION GOOS GOARCH; printf '%s\n' "$@"; } | cksum
}

# progress NAME counts the packages that `go build -v` names, and says every 15 seconds how far it is. Everything else
# that the compiler prints is passed on.
progress() {
  local name=$1 count=0 last=$SECONDS line
  while IFS= read -r line; do
    if [[ $line =~ ^[[:alnum:]._~/+-]+$ ]]; then
      count=$((count + 1))
      if ((SECONDS - last >= 15)); then
        echo "      $name: $count packages compiled so far, the last one was $line"
        last=$SECONDS
      fi
    else
      printf '%s\n' "$line"
    fi
  done
}

# build POSITION NAME MODULE-DIR PACKAGE FLAGS... builds one program unless it is there already.
build() {
  local position=$1 name=$2 dir=$3 package=$4 began=$SECONDS want
  shift 4
  want=$(fingerprint "$dir" "$package" "CGO_ENABLED=$CGO_ENABLED" "$@")
  if [[ -x $bin/$name && -f $stamps/$name && $(<"$stamps/$name") == "$want" ]]; then
    echo "[$position] $name is up to date"
    return
  fi
  echo "[$position] $name: building (the first time takes minutes) ..."
  (cd "$dir" && go build -v -trimpath "$@" -o "$bin/$name" "$package") 2>&1 | progress "$name"
  printf '%s\n' "$want" >"$stamps/$name"
  echo "[$position] $name: done in $((SECONDS - began)) s"
}

# kubernetes_flags prints the linker's flags. Without a version the server calls itself v0.0.0, which clients cannot work with.
kubernetes_flags() {
  local version
  version=$(cd "$root/e2e/controlplane" && go list -m -f '{{.Version}}' k8s.io/kubernetes)
  echo "-s -w -X k8s.io/component-base/version.gitVersion=$version -X k8s.io/client-go/pkg/version.gitVersion=$version"
}

controlplane() {
  local dir=$root/e2e/controlplane flags
  export CGO_ENABLED=0
  mkdir -p "$stamps"
  flags=$(kubernetes_flags)
  build 1/5 etcd "$dir" go.etcd.io/etcd/server/v3 -ldflags "$flags"
  build 2/5 kube-apiserver "$dir" k8s.io/kubernetes/cmd/kube-apiserver -ldflags "$flags"
  build 3/5 kubectl "$dir" k8s.io/kubernetes/cmd/kubectl -ldflags "$flags"
  build 4/5 kube-controller-manager "$dir" k8s.io/kubernetes/cmd/kube-controller-manager -ldflags "$flags"
  build 5/5 helm "$dir" helm.sh/helm/v4/cmd/helm -ldflags "$flags"
}

# node builds what a node needs beside the control plane, and installs what Debian has of it.
node() {
  local dir=$root/e2e/controlplane flags
  export CGO_ENABLED=0
  mkdir -p "$stamps"
  flags=$(kubernetes_flags)
  build 1/4 kube-scheduler "$dir" k8s.io/kubernetes/cmd/kube-scheduler -ldflags "$flags"
  build 2/4 kubelet "$dir" k8s.io/kubernetes/cmd/kubelet -ldflags "$flags"
  build 3/4 kube-proxy "$dir" k8s.io/kubernetes/cmd/kube-proxy -ldflags "$flags"
  node_packages
}

# node_packages installs Debian's packages for a node that are missing. Where they cannot be installed the tests say so.
node_packages() {
  local missing=()
  command -v containerd >/dev/null || missing+=(containerd)
  command -v runc >/dev/null || missing+=(runc)
  [[ -x /usr/lib/cni/ptp || -x /opt/cni/bin/ptp ]] || missing+=(containernetworking-plugins)
  command -v iptables >/dev/null || missing+=(iptables)
  command -v conntrack >/dev/null || missing+=(conntrack)
  if ((${#missing[@]} == 0)); then
    echo "[4/4] containerd, runc, the CNI plugins, iptables and conntrack are installed"
  elif ((EUID != 0)) || ! command -v apt-get >/dev/null; then
    echo "[4/4] not installed: ${missing[*]}"
  else
    echo "[4/4] ${missing[*]}: installing with apt-get ..."
    install_quietly "${missing[@]}"
  fi
}

gitea() {
  local dir=$root/e2e/gitea version source
  local tags="sqlite sqlite_unlock_notify"
  export CGO_ENABLED=1
  mkdir -p "$stamps"
  if ! command -v "$(go env CC)" >/dev/null; then
    echo "Gitea needs a C compiler for SQLite. Install one, for example: sudo apt-get install gcc libc6-dev" >&2
    exit 1
  fi
  version=$(cd "$dir" && go list -m -f '{{.Version}}' code.gitea.io/gitea)
  build 1/2 gitea "$dir" code.gitea.io/gitea -tags "$tags" -ldflags "-s -w -X main.Version=${version#v} -X 'main.Tags=$tags'"
  if [[ -f $stamps/gitea-static && $(<"$stamps/gitea-static") == "$version" && -d $bin/gitea-static/templates ]]; then
    echo "[2/2] gitea-static is up to date"
    return
  fi
  source=$(cd "$dir" && go list -m -f '{{.Dir}}' code.gitea.io/gitea)
  rm -rf "$bin/gitea-static"
  mkdir "$bin/gitea-static"
  cp -R "$source/templates" "$source/options" "$source/public" "$bin/gitea-static/"
  # The module cache is read-only, and Gitea runs as another user.
  chmod -R u+w,a+rX "$bin/gitea-static"
  echo "$version" >"$stamps/gitea-static"
  echo "[2/2] gitea-static: done"
}

# others builds the smaller servers.
others() {
  local dir=$root/e2e/servers
  export CGO_ENABLED=0
  mkdir -p "$stamps"
  build 1/2 pocketbase "$dir" github.com/pocketbase/pocketbase/examples/base -ldflags "-s -w"
  build 2/2 toxiproxy "$dir" github.com/Shopify/toxiproxy/v2/cmd/server -ldflags "-s -w"
}

# packages installs Debian's servers that are missing: RabbitMQ, LXD, Alertmanager and PowerDNS.
packages() {
  local missing=()
  [[ -x /usr/lib/rabbitmq/bin/rabbitmq-server ]] || missing+=(rabbitmq-server)
  command -v lxd >/dev/null || missing+=(lxd)
  command -v prometheus-alertmanager >/dev/null || missing+=(prometheus-alertmanager)
  [[ -x /usr/sbin/pdns_server ]] || missing+=(pdns-server)
  compgen -G '/usr/lib/*/pdns/liblmdbbackend.so' >/dev/null || missing+=(pdns-backend-lmdb)
  if ((${#missing[@]} == 0)); then
    echo "[1/1] rabbitmq-server, lxd, prometheus-alertmanager and pdns-server are installed"
    return
  fi
  if ((EUID != 0)) || ! command -v apt-get >/dev/null; then
    echo "Not installed: ${missing[*]}. Install it, for example: sudo apt-get install --no-install-recommends ${missing[*]}" >&2
    exit 1
  fi
  echo "[1/1] ${missing[*]}: installing with apt-get ..."
  install_quietly "${missing[@]}"
}

# install_quietly PACKAGE... installs without starting the packages' services: tests start servers of their own.
install_quietly() {
  local policy=/usr/sbin/policy-rc.d ours=false code=0 name
  if [[ ! -e $policy ]]; then
    ours=true
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod 755 "$policy"
  fi
  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@"; } || code=$?
  if $ours; then rm -f "$policy"; fi
  if ((code == 0)) && [[ -d /run/systemd/system ]]; then
    for name in "$@"; do systemctl disable "$name" || true; done
  fi
  return "$code"
}

case ${1:-} in
controlplane | node | gitea | others | packages) "$1" ;;
*)
  sed -n '2,10s/^# \{0,1\}//p' "$0" >&2
  exit 2
  ;;
esac
