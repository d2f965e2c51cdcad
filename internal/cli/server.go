package cli

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"tend.dev/tend/internal/daemon"
	"tend.dev/tend/internal/fault"
)

// serverFlags are the flags of `tend server` and `tend dev`.
type serverFlags struct {
	options  daemon.Options
	logLevel string
}

func (f *serverFlags) add(command *cobra.Command) {
	o, flags := &f.options, command.Flags()
	flags.StringVar(&o.Root, "root", daemon.DefaultRoot(), "folder of all of Tend's files (TEND_ROOT)")
	flags.StringVar(&o.Data, "data", "", "etcd data dir (default ROOT/state)")
	flags.StringVar(&o.Plugins, "plugins", "", "plugin folder (default ROOT/plugins)")
	flags.StringVar(&o.HTTP, "http", "127.0.0.1:8686", "HTTP listener on loopback, or off; the unix socket ROOT/tend.sock is always there")
	flags.StringVar(&o.EtcdClient, "etcd-client", "", "open etcd's client URL on TCP (default: a unix socket inside the data dir)")
	flags.StringVar(&o.EtcdPeer, "etcd-peer", "", "open etcd's peer URL on TCP (default: a unix socket inside the data dir)")
	flags.StringVar(&o.Name, "name", "tend-0", "etcd member name")
	flags.StringVar(&o.Node, "node", "", "this machine's name as a node (default: its host name when the root was first used)")
	flags.BoolVar(&o.QuietEtcd, "quiet-etcd", true, "keep etcd's own log to warnings")
	flags.StringVar(&o.Runtime, "runtime", "", "what runs containers: docker or process (default: what the root was first used with, else docker)")
	flags.StringVar(&o.Network, "network", "", "name of the platform network (default tend0)")
	flags.StringVar(&o.DockerHost, "docker-host", "", "the engine's address (default DOCKER_HOST, else the local socket)")
	flags.IntVar(&o.Starts, "starts", 8, "containers started at a time")
	flags.DurationVar(&o.Resync, "resync", 10*time.Second, "time between two looks at every plan")
	flags.DurationVar(&o.Heartbeat, "heartbeat", 5*time.Second, "how often the agent renews its lease")
	flags.DurationVar(&o.NodeTimeout, "node-timeout", 30*time.Second, "how long a node may be silent before it counts as down")
	flags.Int64Var(&o.MinFree, "min-free-disk", 256<<20, "free bytes below which the server turns read-only")
	flags.StringVar(&f.logLevel, "log-level", "info", "debug, info, warn or error")
}

func (f *serverFlags) logger() (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(f.logLevel)); err != nil {
		return nil, err
	}
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level})), nil
}

func (f *serverFlags) run(ctx context.Context) error {
	logger, err := f.logger()
	if err != nil {
		return err
	}
	slog.SetDefault(logger)
	f.options.Logger = logger
	if f.options.Faults, err = fault.FromEnv(); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	return daemon.Run(ctx, f.options)
}

func (a *app) serverCommand() *cobra.Command {
	var flags serverFlags
	command := &cobra.Command{
		Use:   "server",
		Short: "run the server: store, controllers, API, and the agent of this machine",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return flags.run(cmd.Context()) },
	}
	flags.add(command)
	return command
}

func (a *app) devCommand() *cobra.Command {
	var flags serverFlags
	command := &cobra.Command{
		Use:   "dev",
		Short: "run a private server and agent in one command, beside any other",
		Long: "Run a private server and agent: own state folder (./.tend unless --root says otherwise), own network, no TCP\n" +
			"listener. Where no container engine answers it runs plain processes.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o := &flags.options
			if !cmd.Flags().Changed("root") && os.Getenv("TEND_ROOT") == "" {
				o.Root = ".tend"
			}
			if !cmd.Flags().Changed("http") {
				o.HTTP = "off"
			}
			var err error
			if o.Root, err = filepath.Abs(o.Root); err != nil {
				return err
			}
			if err := daemon.Private(cmd.Context(), o); err != nil {
				return err
			}
			return flags.run(cmd.Context())
		},
	}
	flags.add(command)
	return command
}
