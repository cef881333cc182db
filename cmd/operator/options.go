package main

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// options are the flags. Each can also be set in the environment: --kube-api-qps is RESTMAPPING_KUBE_API_QPS.
type options struct {
	metricsAddress, healthAddress string
	consoleAddress, consoleCerts  string
	leaderElect                   bool
	leaseDuration, renewDeadline  time.Duration
	retryPeriod                   time.Duration
	namespace                     string
	watchNamespaces               []string
	allowCIDRs, refuseCIDRs       []string
	credentialsDirectory          string
	concurrency                   int
	minInterval, drainTimeout     time.Duration
	qps                           float32
	burst                         int
	logLevel, logFormat           string
	kubeconfig                    string
	version, help                 bool
	webhookPort                   int
	webhookCertDir                string
	webhookSecret                 string
	webhookConfiguration          string
	webhookDNSName                string
}

func parse(args []string, env func(string) (string, bool), out io.Writer) (options, error) {
	var o options
	flags := pflag.NewFlagSet("operator", pflag.ContinueOnError)
	flags.SetOutput(out)
	o.register(flags)
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, pflag.ErrHelp) {
			o.help = true
			return o, nil
		}
		return o, err
	}
	if err := fromEnvironment(flags, env); err != nil {
		return o, err
	}
	return o, o.validate()
}

func (o *options) register(f *pflag.FlagSet) {
	f.StringVar(&o.metricsAddress, "metrics-bind-address", ":8080", "address of /metrics; 0 turns it off")
	f.StringVar(&o.healthAddress, "health-probe-bind-address", ":8081", "address of /healthz and /readyz; 0 turns it off")
	f.StringVar(&o.consoleAddress, "console-bind-address", "0", "address of /status, /reconcile and /debug, over TLS and for whom the API server lets; 0 turns it off")
	f.StringVar(&o.consoleCerts, "console-cert-dir", "/var/run/console", "folder with tls.crt and tls.key for that address; without them a certificate is made that nobody has signed")
	f.BoolVar(&o.leaderElect, "leader-elect", false, "act only while holding the lease; needed with more than one replica")
	f.DurationVar(&o.leaseDuration, "leader-elect-lease-duration", 15*time.Second, "how long a lease is good without being renewed")
	f.DurationVar(&o.renewDeadline, "leader-elect-renew-deadline", 10*time.Second, "how long the leader tries to renew before it gives up")
	f.DurationVar(&o.retryPeriod, "leader-elect-retry-period", 2*time.Second, "how long to wait between tries")
	f.StringVar(&o.namespace, "namespace", "", "the operator's own namespace: the lease, and the Secrets of ClusterRestEndpoints; POD_NAMESPACE by default")
	f.StringSliceVar(&o.watchNamespaces, "watch-namespaces", nil, "serve custom resources of these namespaces only; all by default")
	f.StringSliceVar(&o.allowCIDRs, "allow-cidrs", nil, "ranges that endpoints may connect to although they are refused otherwise (loopback, link-local, metadata services, the API server); give as few as possible")
	f.StringSliceVar(&o.refuseCIDRs, "refuse-cidrs", nil, "further ranges that endpoints may not connect to, such as those of the nodes; --allow-cidrs wins")
	f.StringVar(&o.credentialsDirectory, "credentials-directory", "", "the directory below which ClusterRestEndpoints may read credentials from files; none by default")
	f.IntVar(&o.concurrency, "concurrency", 4, "how many custom resources of one mapping are worked on at once")
	f.DurationVar(&o.minInterval, "min-sync-interval", 30*time.Second, "the shortest interval that a mapping can ask for")
	f.DurationVar(&o.drainTimeout, "drain-timeout", 45*time.Second, "how long passes under way may take to end when the operator stops")
	f.Float32Var(&o.qps, "kube-api-qps", 100, "requests a second to the API server")
	f.IntVar(&o.burst, "kube-api-burst", 200, "requests to the API server at once after a pause")
	f.StringVar(&o.logLevel, "log-level", "info", "debug, info, warn or error")
	f.StringVar(&o.logFormat, "log-format", "json", "json or console")
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "path of a kubeconfig; in a cluster the ServiceAccount is used")
	f.IntVar(&o.webhookPort, "webhook-port", 0, "port on which the API server is answered what may be written; 0 turns it off")
	f.StringVar(&o.webhookCertDir, "webhook-cert-dir", "/var/run/webhook", "folder with tls.crt and tls.key for that port")
	f.StringVar(&o.webhookSecret, "webhook-secret", "", "Secret, mounted at that folder, in which the operator keeps a certificate that it makes and renews; empty when somebody else does")
	f.StringVar(&o.webhookConfiguration, "webhook-configuration", "", "ValidatingWebhookConfiguration that is told the authority of that certificate")
	f.StringVar(&o.webhookDNSName, "webhook-dns-name", "", "DNS name for that certificate")
	f.BoolVar(&o.version, "version", false, "print the version and exit")
}

// fromEnvironment sets the flags that were not given.
func fromEnvironment(flags *pflag.FlagSet, env func(string) (string, bool)) error {
	var problems []error
	flags.VisitAll(func(f *pflag.Flag) {
		name := "RESTMAPPING_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		value, ok := env(name)
		if !ok && f.Name == "namespace" {
			name = "POD_NAMESPACE"
			value, ok = env(name)
		}
		if !ok || f.Changed {
			return
		}
		if err := flags.Set(f.Name, value); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", name, err))
		}
	})
	return errors.Join(problems...)
}

func (o *options) validate() error {
	var problems []error
	check := func(ok bool, message string) {
		if !ok {
			problems = append(problems, errors.New(message))
		}
	}
	if o.version {
		return nil
	}
	check(o.namespace != "", "--namespace: the operator's own namespace is not known; set it, or POD_NAMESPACE")
	_, err := ranges(o.allowCIDRs)
	check(err == nil, fmt.Sprint("--allow-cidrs: ", err))
	_, err = ranges(o.refuseCIDRs)
	check(err == nil, fmt.Sprint("--refuse-cidrs: ", err))
	check(o.concurrency > 0 && o.concurrency <= 256, "--concurrency: give a number from 1 to 256")
	check(o.credentialsDirectory == "" || filepath.IsAbs(o.credentialsDirectory), "--credentials-directory: give an absolute path")
	check(o.minInterval >= time.Second, "--min-sync-interval: give at least 1s")
	check(o.drainTimeout > 0, "--drain-timeout: give a positive time")
	check(o.logFormat == "json" || o.logFormat == "console", "--log-format: give json or console")
	check(o.leaseDuration > o.renewDeadline && o.renewDeadline > o.retryPeriod, "--leader-elect-*: lease duration must be above renew deadline, and that above retry period")
	check(o.webhookPort >= 0 && o.webhookPort <= 65535, "--webhook-port: give a port, or 0")
	check(o.webhookSecret == "" || o.webhookConfiguration != "" && o.webhookDNSName != "", "--webhook-secret: it needs --webhook-configuration and --webhook-dns-name")
	return errors.Join(problems...)
}

// ranges reads ranges of addresses.
func ranges(texts []string) ([]netip.Prefix, error) {
	list := make([]netip.Prefix, 0, len(texts))
	for _, text := range texts {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("%q is not a range such as 10.1.0.0/16 or fd00:1::/64", text)
		}
		list = append(list, prefix.Masked())
	}
	return list, nil
}
