package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/restmapping/operator/internal/chart"
	"github.com/restmapping/operator/internal/repository"
)

// environment makes a look-up of pairs.
func environment(pairs map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		value, ok := pairs[name]
		return value, ok
	}
}

// defaults are the options of an operator that was only told its namespace.
func defaults() options {
	return options{
		metricsAddress: ":8080", healthAddress: ":8081", leaseDuration: 15 * time.Second, renewDeadline: 10 * time.Second,
		retryPeriod: 2 * time.Second, namespace: "system", concurrency: 4, minInterval: 30 * time.Second,
		drainTimeout: 45 * time.Second, qps: 100, burst: 200, logLevel: "info", logFormat: "json",
		webhookCertDir: "/var/run/webhook", consoleAddress: "0", consoleCerts: "/var/run/console",
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	with := func(change func(*options)) options {
		o := defaults()
		change(&o)
		return o
	}
	cases := map[string]struct {
		args []string
		env  map[string]string
		want options
	}{
		"only the namespace":              {[]string{"--namespace=system"}, nil, defaults()},
		"the namespace of the pod":        {nil, map[string]string{"POD_NAMESPACE": "system"}, defaults()},
		"a flag is above the pod's":       {[]string{"--namespace=system"}, map[string]string{"POD_NAMESPACE": "other"}, defaults()},
		"our variable is above the pod's": {nil, map[string]string{"RESTMAPPING_NAMESPACE": "system", "POD_NAMESPACE": "other"}, defaults()},
		"a variable for a flag": {
			[]string{"--namespace=system"},
			map[string]string{"RESTMAPPING_KUBE_API_QPS": "7.5", "RESTMAPPING_WATCH_NAMESPACES": "a,b"},
			with(func(o *options) { o.qps, o.watchNamespaces = 7.5, []string{"a", "b"} }),
		},
		"a flag is above its variable": {
			[]string{"--namespace=system", "--concurrency=9"},
			map[string]string{"RESTMAPPING_CONCURRENCY": "3"},
			with(func(o *options) { o.concurrency = 9 }),
		},
		"every flag": {
			[]string{
				"--metrics-bind-address=0", "--console-bind-address=:8443", "--console-cert-dir=/t", "--health-probe-bind-address=:1", "--leader-elect", "--leader-elect-lease-duration=30s",
				"--leader-elect-renew-deadline=20s", "--leader-elect-retry-period=5s", "--namespace=ours", "--watch-namespaces=a,b", "--watch-namespaces=c",
				"--credentials-directory=/c", "--allow-cidrs=127.0.0.0/8,::1/128", "--refuse-cidrs=10.250.0.0/16",
				"--concurrency=1", "--min-sync-interval=1s", "--drain-timeout=1m", "--kube-api-qps=1", "--kube-api-burst=2", "--log-level=debug",
				"--log-format=console", "--kubeconfig=/k", "--webhook-port=9443", "--webhook-cert-dir=/c", "--webhook-secret=s",
				"--webhook-configuration=w", "--webhook-dns-name=d",
			},
			nil,
			options{
				metricsAddress: "0", healthAddress: ":1", leaderElect: true, leaseDuration: 30 * time.Second, renewDeadline: 20 * time.Second,
				retryPeriod: 5 * time.Second, namespace: "ours", watchNamespaces: []string{"a", "b", "c"}, credentialsDirectory: "/c", allowCIDRs: []string{"127.0.0.0/8", "::1/128"}, refuseCIDRs: []string{"10.250.0.0/16"}, concurrency: 1, minInterval: time.Second,
				drainTimeout: time.Minute, qps: 1, burst: 2, logLevel: "debug", logFormat: "console", kubeconfig: "/k",
				consoleAddress: ":8443", consoleCerts: "/t", webhookPort: 9443, webhookCertDir: "/c", webhookSecret: "s", webhookConfiguration: "w", webhookDNSName: "d",
			},
		},
		"the version needs nothing else": {[]string{"--version"}, nil, with(func(o *options) { o.version, o.namespace = true, "" })},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := parse(tc.args, environment(tc.env), io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(options{})); diff != "" {
				t.Errorf("options (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatCannotBeUsedIsRefused(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		args []string
		env  map[string]string
		says []string
	}{
		"no namespace":                   {nil, nil, []string{"--namespace", "POD_NAMESPACE"}},
		"a range that is none":           {[]string{"--namespace=x", "--allow-cidrs=10.0.0.1"}, nil, []string{"--allow-cidrs", "10.0.0.1", "10.1.0.0/16"}},
		"a refused range that is none":   {[]string{"--namespace=x", "--refuse-cidrs=nodes"}, nil, []string{"--refuse-cidrs", "nodes"}},
		"credentials somewhere":          {[]string{"--namespace=x", "--credentials-directory=here"}, nil, []string{"--credentials-directory", "absolute"}},
		"no workers":                     {[]string{"--namespace=x", "--concurrency=0"}, nil, []string{"--concurrency", "1 to 256"}},
		"too many workers":               {[]string{"--namespace=x", "--concurrency=257"}, nil, []string{"--concurrency"}},
		"an interval of a moment":        {[]string{"--namespace=x", "--min-sync-interval=999ms"}, nil, []string{"--min-sync-interval", "1s"}},
		"no time to drain":               {[]string{"--namespace=x", "--drain-timeout=0s"}, nil, []string{"--drain-timeout"}},
		"a format that nobody knows":     {[]string{"--namespace=x", "--log-format=xml"}, nil, []string{"--log-format", "json or console"}},
		"a lease shorter than its renew": {[]string{"--namespace=x", "--leader-elect-lease-duration=5s"}, nil, []string{"--leader-elect-", "lease duration"}},
		"a renew shorter than its retry": {[]string{"--namespace=x", "--leader-elect-retry-period=12s"}, nil, []string{"--leader-elect-"}},
		"a flag that nobody knows":       {[]string{"--colour=red"}, nil, []string{"--colour"}},
		"a value of another type":        {[]string{"--concurrency=many"}, nil, []string{"concurrency", "many"}},
		"a variable of another type":     {[]string{"--namespace=x"}, map[string]string{"RESTMAPPING_CONCURRENCY": "many"}, []string{"RESTMAPPING_CONCURRENCY", "many"}},
		"several at once":                {[]string{"--concurrency=0", "--drain-timeout=-1s"}, nil, []string{"--namespace", "--concurrency", "--drain-timeout"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var stdout, stderr bytes.Buffer
			if code := run(t.Context(), tc.args, environment(tc.env), &stdout, &stderr); code != 2 {
				t.Errorf("the exit code is %d, want 2", code)
			}
			for _, part := range tc.says {
				if !strings.Contains(stderr.String(), part) {
					t.Errorf("it does not say %q: %s", part, &stderr)
				}
			}
			if stdout.Len() > 0 {
				t.Errorf("stdout has %q", &stdout)
			}
		})
	}
}

func TestTheVersionIsPrinted(t *testing.T) {
	t.Parallel()
	var stdout, stderr bytes.Buffer
	if code := run(t.Context(), []string{"--version"}, environment(nil), &stdout, &stderr); code != 0 || stderr.Len() > 0 {
		t.Errorf("exit code %d, stderr %q", code, &stderr)
	}
	if got := stdout.String(); got != "restmapping-operator dev (unknown)\n" {
		t.Errorf("printed %q", got)
	}
}

func TestHelpNamesEveryFlag(t *testing.T) {
	t.Parallel()
	var stdout, stderr bytes.Buffer
	if code := run(t.Context(), []string{"--help"}, environment(nil), &stdout, &stderr); code != 0 {
		t.Errorf("the exit code is %d", code)
	}
	flags := pflag.NewFlagSet("operator", pflag.ContinueOnError)
	(&options{}).register(flags)
	flags.VisitAll(func(f *pflag.Flag) {
		if !strings.Contains(stderr.String(), "--"+f.Name) || f.Usage == "" {
			t.Errorf("--%s is not explained", f.Name)
		}
	})
}

// Every option can be set by a flag; otherwise it would always be zero.
func TestEveryOptionHasAFlag(t *testing.T) {
	t.Parallel()
	flags := pflag.NewFlagSet("operator", pflag.ContinueOnError)
	(&options{}).register(flags)
	count := 1 // help, which pflag has by itself
	flags.VisitAll(func(*pflag.Flag) { count++ })
	if fields := reflect.TypeFor[options]().NumField(); fields != count {
		t.Errorf("%d options, and %d flags", fields, count)
	}
}

func TestWithoutAnAPIServerItFails(t *testing.T) {
	t.Parallel()
	var stdout, stderr bytes.Buffer
	args := []string{"--namespace=x", "--kubeconfig=" + filepath.Join(t.TempDir(), "none")}
	if code := run(t.Context(), args, environment(nil), &stdout, &stderr); code != 1 {
		t.Errorf("the exit code is %d, want 1", code)
	}
	if !strings.Contains(stderr.String(), "--kubeconfig") {
		t.Errorf("no remedy in %q", &stderr)
	}
}

func TestRestConfig(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	content := `{apiVersion: v1, kind: Config, clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}], contexts: [{name: x, context: {cluster: c}}], current-context: x}`
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	o := defaults()
	o.kubeconfig = file
	got, err := restConfig(o)
	if err != nil {
		t.Fatal(err)
	}
	if got.Host != "https://127.0.0.1:1" || got.QPS != 100 || got.Burst != 200 || got.UserAgent != "restmapping-operator/dev" {
		t.Errorf("config %v", got)
	}
}

func TestNewLogger(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		level, format string
		ok            bool
	}{
		"json":            {"info", "json", true},
		"console, debug":  {"debug", "console", true},
		"a strange level": {"loud", "json", false},
		"a strange form":  {"info", "xml", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			logger, err := newLogger(options{logLevel: tc.level, logFormat: tc.format})
			if (err == nil) != tc.ok {
				t.Fatalf("gave %v", err)
			}
			if tc.ok && logger.Level().String() != tc.level {
				t.Errorf("level %s", logger.Level())
			}
		})
	}
}

// TestTheChartsArgumentsAreTaken gives the arguments of every rendered Deployment to the flags as they are.
func TestTheChartsArgumentsAreTaken(t *testing.T) {
	t.Parallel()
	root, err := repository.Root()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(root, "internal", "charttest", "testdata", "*.golden.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no rendered manifests: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			objects, err := chart.Decode(content)
			if err != nil {
				t.Fatal(err)
			}
			deployments := chart.OfKind(objects, "Deployment")
			if len(deployments) != 1 {
				t.Fatalf("%d Deployments", len(deployments))
			}
			args, env := command(t, deployments[0])
			got, err := parse(args, environment(env), io.Discard)
			if err != nil {
				t.Fatalf("%q: %v", args, err)
			}
			if got.namespace == "" || got.version || got.help {
				t.Errorf("options %+v", got)
			}
		})
	}
}

// command gives the arguments and the environment of a Deployment's container; what the kubelet fills in is named.
func command(t *testing.T, deployment *unstructured.Unstructured) ([]string, map[string]string) {
	t.Helper()
	containers, _, err := unstructured.NestedSlice(deployment.Object, "spec", "template", "spec", "containers")
	if err != nil || len(containers) != 1 {
		t.Fatalf("containers %v, %v", containers, err)
	}
	container, _ := containers[0].(map[string]any)
	args, _, err := unstructured.NestedStringSlice(container, "args")
	if err != nil || len(args) == 0 {
		t.Fatalf("args %v, %v", args, err)
	}
	env := map[string]string{}
	list, _, _ := unstructured.NestedSlice(container, "env")
	for _, item := range list {
		variable, _ := item.(map[string]any)
		name, _ := variable["name"].(string)
		if value, ok := variable["value"].(string); ok {
			env[name] = value
		} else {
			env[name] = "from-the-kubelet"
		}
	}
	return args, env
}
