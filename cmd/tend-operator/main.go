// Command tend-operator runs applications and operations in a Kubernetes cluster, as its ApplicationInstance and
// Operation objects declare them.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	"tend.dev/tend/internal/operator"
	"tend.dev/tend/internal/platform/version"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// boundMemory makes the garbage collector run more often than by Go's default, and even more near 80 MiB: most of what
// the operator allocates are answers of the API server, which are garbage at once. The variables GOGC and GOMEMLIMIT
// override it.
func boundMemory() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(50)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(80 << 20)
	}
}

func run() error {
	opts := operator.Options{Logger: slog.New(slog.NewJSONHandler(os.Stderr, nil))}
	flag.StringVar(&opts.Namespace, "namespace", cmp.Or(os.Getenv("POD_NAMESPACE"), "vworkspace-system"),
		"the operator's own namespace (POD_NAMESPACE)")
	flag.StringVar(&opts.ClusterID, "cluster-id", os.Getenv("VWORKSPACE_CLUSTER_ID"),
		"the cluster's identity, instead of the Cluster object's (VWORKSPACE_CLUSTER_ID)")
	gated := flag.Bool("namespace-gate", true, "work in no namespaces but those with the label managed-by=vworkspace")
	flag.BoolVar(&opts.Policy.RequireManagedBy, "require-managed-by", false,
		"work on no objects but those with the label app.vworkspace.io/managed-by=control-plane")
	flag.Func("chart-allow",
		"an address below which charts may be, as oci://ghcr.io/team or https://charts.example.com; repeat it, or use commas, for more (default any)", opts.Policy.AddCharts)
	webhooks := flag.Bool("webhooks-enabled", false, "serve the admission webhooks, and handle their certificate")
	port := flag.Int("webhook-port", 9443, "where the admission webhooks are served, on every address")
	flag.StringVar(&opts.VeleroNamespace, "velero-namespace", "",
		"where Velero works; found by its BackupStorageLocations if empty")
	approval := flag.String("approval-claim-secret", os.Getenv("VWORKSPACE_APPROVAL_CLAIM_SECRET"),
		"what claims of approvals are checked with (VWORKSPACE_APPROVAL_CLAIM_SECRET)")
	flag.BoolVar(&opts.LeaderElect, "leader-elect", false, "have one operator at a time work, where several run")
	flag.StringVar(&opts.MetricsAddress, "metrics-bind-address", "0", "where metrics are served; 0 is nowhere")
	flag.StringVar(&opts.HealthAddress, "health-probe-bind-address", ":8081",
		"where /healthz and /readyz are served; 0 is nowhere")
	polls := flag.Bool("agent-enabled", true, "ask the control plane for jobs, if the Cluster's mode is pull")
	flag.DurationVar(&opts.PollWait, "agent-poll-interval", 30*time.Second,
		"how long one request for jobs waits for one, at most 5m")
	flag.StringVar(&opts.CredentialsSecret, "agent-credentials-secret", "",
		"the Secret with the control plane's credentials; vworkspace-agent-credentials if empty")
	show := flag.Bool("version", false, "print the version and exit")
	flag.Usage = usage
	if len(os.Args) > 1 && os.Args[1] == "detach" {
		return runDetach(os.Args[2:])
	}
	flag.Parse()
	if *show {
		fmt.Println(version.Version)
		return nil
	}
	if flag.NArg() > 0 {
		return fmt.Errorf("%q is not a command: the only one is detach; tend-operator --help lists the flags", flag.Arg(0))
	}
	boundMemory()
	opts.Policy.AnyNamespace = !*gated
	if *webhooks {
		opts.Webhooks = &operator.Webhooks{Port: *port}
	}
	opts.NoAgent, opts.Version = !*polls, version.Version
	opts.ApprovalSecret = []byte(*approval)
	ctrl.SetLogger(logr.FromSlogHandler(opts.Logger.Handler()))
	config, err := connection()
	if err != nil {
		return err
	}
	return operator.Run(ctrl.SetupSignalHandler(), config, opts)
}

func connection() (*rest.Config, error) {
	config, err := ctrl.GetConfig()
	if err != nil {
		return nil, fmt.Errorf("find the Kubernetes API: %w: run it in a pod, or set KUBECONFIG", err)
	}
	return config, nil
}
