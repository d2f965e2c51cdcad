package cli

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"tend.dev/tend/internal/server/daemon"
)

// serverFlags are the flags of `tend server` and `tend dev`.
type serverFlags struct {
	options daemon.Options
	machine machineFlags
	backups backupFlags
}

func (f *serverFlags) add(command *cobra.Command) {
	o, flags := &f.options, command.Flags()
	f.machine.options = &o.Options
	f.machine.add(command)
	f.backups.options = &o.Backups
	f.backups.add(flags)
	f.addEtcd(flags)
	f.addLogs(flags)
	flags.StringVar(&o.Data, "data", "", "etcd data `FOLDER` (default ROOT/state)")
	flags.StringVar(&o.Plugins, "plugins", "", "plugin `FOLDER` (default ROOT/plugins)")
	flags.DurationVar(&o.PluginTimeout, "plugin-timeout", time.Minute, "`DURATION` that one call of a plugin may take")
	flags.StringVar(&o.Manifests, "manifests", "",
		"`FOLDER` of manifests to keep applied, and to prune what is taken out of it (default none)")
	flags.BoolVar(&o.Paused, "paused", false, "change nothing until tend resume: for a root that was restored as a whole")
	flags.BoolVar(&o.NoAgent, "no-agent", false,
		"run no containers on this machine: leave them to those that join (tend nodes add)")
	flags.StringVar(&o.NodeListen, "node-listen", "",
		"`ADDRESS` where agents of other machines connect, with TLS, as in :8688 (default none)")
	flags.StringVar(&o.HTTP, "http", "127.0.0.1:8686",
		"HTTP listener, a loopback `ADDRESS`, or off; the unix socket ROOT/tend.sock is always there")
	flags.StringVar(&o.Listen, "listen", "",
		"`ADDRESS` where people on other machines reach the API, with TLS and a token (tend tokens add), as in :8685 (default none)")
	flags.StringVar(&o.TLSCert, "tls-cert", "",
		"`FILE` with the certificate for --listen, in PEM (default one of the cluster's own authority, which tokens pin)")
	flags.StringVar(&o.TLSKey, "tls-key", "", "`FILE` with its key")
	flags.StringSliceVar(&o.HostMounts, "allow-host-mounts", nil,
		"`FOLDERS` of the host that people who are no admins may mount, with commas between (default none)")
	flags.StringVar(&o.EtcdClient, "etcd-client", "",
		"open etcd's client `URL` on TCP (default: a unix socket inside the data dir)")
	flags.StringVar(&o.EtcdPeer, "etcd-peer", "",
		"open etcd's peer `URL` on TCP (default: a unix socket inside the data dir)")
	flags.StringVar(&o.PeerListen, "peer-listen", "",
		"`ADDRESS` where the stores of other servers reach this one's, with TLS, as in 10.0.0.1:2380 (default none)")
	flags.StringVar(&o.PeerAddress, "peer-address", "",
		"`ADDRESS` of --peer-listen as the other servers see it, if it is another")
	flags.StringVar(&o.Join, "join", "",
		"`ADDRESS` of a running server's --node-listen, to become one of its cluster's servers")
	flags.StringVar(&o.Token, "token", "", "`TOKEN` of tend nodes add --server, to join with")
	flags.StringVar(&o.Name, "name", "",
		"`NAME` of the server, and of its etcd member (default the one that its root had, else that of --node)")
	flags.BoolVar(&o.QuietEtcd, "quiet-etcd", true, "keep etcd's own log to warnings")
	flags.DurationVar(&o.AutoscaleInterval, "autoscale-interval", 15*time.Second,
		"time between two evaluations of a deployment by the autoscaler")
}

// run runs the server until ctx ends. It reports wrong flags before it starts anything.
func (f *serverFlags) run(ctx context.Context) error {
	if err := f.check(); err != nil {
		return err
	}
	if err := errors.Join(f.machine.prepare(), failpoints(&f.options)); err != nil {
		return err
	}
	return f.machine.traced(ctx, "tend-server", func() error { return daemon.Run(ctx, f.options) })
}

func (a *app) serverCommand() *cobra.Command {
	var flags serverFlags
	command := &cobra.Command{
		Use:   "server",
		Short: "run the server: store, controllers, API, and the agent of this machine",
		Long: "Run the server: store, controllers, API, and the agent of this machine, until Ctrl-C or SIGTERM. What runs goes on\n" +
			"without it. If Docker is not running, Tend waits for it. Each flag has an environment variable that counts where the flag is\n" +
			"left out: TEND_LOG_FORMAT for --log-format; for --name it is TEND_MEMBER_NAME.",
		Example: "  tend server\n  tend server --peer-listen 10.0.0.1:2380 --node-listen :8688   # one that others can join\n  tend server --etcd-endpoints https://10.0.0.11:2379 --etcd-ca ca.pem --etcd-cert tend.pem --etcd-key tend.key\n  tend server --root ~/tend --http off\n  tend server --runtime process --root /srv/tend",
		Args:    takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := fromEnvironment(cmd.LocalFlags()); err != nil {
				return err
			}
			a.warnShared(flags.options.External.PasswordFile, flags.options.External.Key)
			return flags.run(cmd.Context())
		},
	}
	flags.add(command)
	return command
}
