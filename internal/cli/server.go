package cli

import (
	"context"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"

	"tend.dev/tend/internal/daemon"
	"tend.dev/tend/internal/fault"
)

// serverFlags are the flags of `tend server` and `tend dev`.
type serverFlags struct {
	options  daemon.Options
	logLevel string
	// logFormat is text or json.
	logFormat string
}

func (f *serverFlags) add(command *cobra.Command) {
	o, flags := &f.options, command.Flags()
	flags.StringVar(&o.Root, "root", daemon.DefaultRoot(), "`FOLDER` of all of Tend's files (TEND_ROOT)")
	flags.StringVar(&o.Data, "data", "", "etcd data `FOLDER` (default ROOT/state)")
	flags.StringVar(&o.Plugins, "plugins", "", "plugin `FOLDER` (default ROOT/plugins)")
	flags.DurationVar(&o.PluginTimeout, "plugin-timeout", time.Minute, "`DURATION` that one call of a plugin may take")
	flags.IntVar(&o.CallbackPort, "callback-port", 8687, "`PORT` on the platform network's gateway where containers of statefulsets and plugins call back; 0 is none")
	flags.BoolVar(&o.Paused, "paused", false, "change nothing until tend resume: for a root that was restored as a whole")
	flags.StringVar(&o.HTTP, "http", "127.0.0.1:8686", "HTTP listener, a loopback `ADDRESS`, or off; the unix socket ROOT/tend.sock is always there")
	flags.StringVar(&o.EtcdClient, "etcd-client", "", "open etcd's client `URL` on TCP (default: a unix socket inside the data dir)")
	flags.StringVar(&o.EtcdPeer, "etcd-peer", "", "open etcd's peer `URL` on TCP (default: a unix socket inside the data dir)")
	flags.StringVar(&o.Name, "name", "tend-0", "etcd member `NAME`")
	flags.StringVar(&o.Node, "node", "", "this machine's `NAME` as a node (default: its host name when the root was first used)")
	flags.BoolVar(&o.QuietEtcd, "quiet-etcd", true, "keep etcd's own log to warnings")
	flags.StringVar(&o.Runtime, "runtime", "", "what runs containers, a `RUNTIME`: docker or process (default: what the root was first used with, else docker)")
	flags.StringVar(&o.Network, "network", "", "`NAME` of the platform network (default tend0)")
	flags.StringVar(&o.DockerHost, "docker-host", "", "the engine's `ADDRESS` (default DOCKER_HOST, else the local socket)")
	flags.IntVar(&o.Starts, "starts", 8, "`NUMBER` of containers started at a time")
	flags.DurationVar(&o.Resync, "resync", 10*time.Second, "time between two looks at every plan")
	flags.DurationVar(&o.Heartbeat, "heartbeat", 5*time.Second, "how often the agent renews its lease")
	flags.DurationVar(&o.NodeTimeout, "node-timeout", 30*time.Second, "how long a node may be silent before it counts as down")
	flags.DurationVar(&o.AutoscaleInterval, "autoscale-interval", 15*time.Second, "time between two looks of the autoscaler at a deployment")
	flags.Int64Var(&o.MinFree, "min-free-disk", 256<<20, "free `BYTES` below which the server turns read-only; negative is never")
	f.buildFlags(flags)
	plain, secure := ingressDoors()
	flags.StringVar(&o.Ingress.HTTP, "ingress-http", plain, "`ADDRESS` the ingress listens at once an ingress needs it, or off")
	flags.StringVar(&o.Ingress.HTTPS, "ingress-https", secure, "the same with TLS, an `ADDRESS` or off")
	flags.StringSliceVar(&o.Ingress.Balancers, "ingress-proxy-protocol", nil, "`NETWORKS` of load balancers that speak the PROXY protocol to the ingress")
	flags.StringVar(&o.Ingress.AccessLog, "ingress-access-log", "", "`FILE` that gets a JSON line for each request, - for standard error (default none)")
	flags.StringVar(&o.Ingress.Directory, "acme-directory", "", "`URL` of the ACME directory (default Let's Encrypt's)")
	flags.StringVar(&o.Ingress.Roots, "acme-roots", "", "PEM `FILE` of who the ACME directory's own certificate is checked against")
	flags.StringVar(&f.logLevel, "log-level", "info", "`LEVEL`: debug, info, warn or error")
	flags.StringVar(&f.logFormat, "log-format", "text", "`FORMAT` of the log on standard error: text (logfmt) or json, one object a line")
	_ = command.RegisterFlagCompletionFunc("log-format", cobra.FixedCompletions([]string{"text", "json"}, cobra.ShellCompDirectiveNoFileComp))
	_ = command.RegisterFlagCompletionFunc("runtime", cobra.FixedCompletions([]string{"docker", "process"}, cobra.ShellCompDirectiveNoFileComp))
}

// ingressDoors returns where the ingress listens unless flags say otherwise: who isn't root may not open the usual
// ports.
func ingressDoors() (plain, secure string) {
	if os.Geteuid() == 0 {
		return ":80", ":443"
	}
	return ":8080", ":8443"
}

func logHandler(format string, level slog.Level) slog.Handler {
	options := &slog.HandlerOptions{Level: level}
	if format == "json" {
		return slog.NewJSONHandler(os.Stderr, options)
	}
	return slog.NewTextHandler(os.Stderr, options)
}

// run runs the server until ctx ends. It reports wrong flags before it starts anything.
func (f *serverFlags) run(ctx context.Context) error {
	if err := f.check(); err != nil {
		return err
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(f.logLevel)); err != nil {
		return err
	}
	logger := slog.New(logHandler(f.logFormat, level))
	slog.SetDefault(logger)
	f.options.Logger = logger
	var err error
	if f.options.Faults, err = fault.FromEnv(); err != nil {
		return err
	}
	return daemon.Run(ctx, f.options)
}

func (a *app) serverCommand() *cobra.Command {
	var flags serverFlags
	command := &cobra.Command{
		Use:   "server",
		Short: "run the server: store, controllers, API, and the agent of this machine",
		Long: "Run the server: store, controllers, API, and the agent of this machine, until Ctrl-C or SIGTERM. What runs goes on\n" +
			"without it. An engine that is away is waited for. Each flag has an environment variable that counts where the flag is\n" +
			"left out: TEND_LOG_FORMAT for --log-format; for --name it is TEND_MEMBER_NAME.",
		Example: "  tend server\n  tend server --root ~/tend --http off\n  tend server --runtime process --root /srv/tend",
		Args:    takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := fromEnvironment(cmd.LocalFlags()); err != nil {
				return err
			}
			return flags.run(cmd.Context())
		},
	}
	flags.add(command)
	return command
}
