package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"tend.dev/tend/internal/node/member"
)

// agentFlags are the flags of `tend agent`.
type agentFlags struct {
	options member.Options
	machine machineFlags
	join    string
}

func (a *app) agentCommand() *cobra.Command {
	var flags agentFlags
	command := &cobra.Command{
		Use:   "agent",
		Short: "run this machine as a node of a server elsewhere",
		Long: "Run this machine as a node of a server elsewhere, until Ctrl-C or SIGTERM. `tend nodes add` prints the command that\n" +
			"joins; from then on the machine knows its server, and `tend agent` is enough. What runs goes on without it, and\n" +
			"without the server; what ends meanwhile is healed once the server answers again.",
		Example: "  tend agent --join 10.0.0.1:8688 --token tend1.…   # once, as tend nodes add printed it\n" +
			"  tend agent                                        # from then on",
		Args: takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := fromEnvironment(cmd.LocalFlags()); err != nil {
				return err
			}
			return flags.run(cmd.Context())
		},
	}
	flags.machine.options = &flags.options.Options
	flags.machine.add(command)
	own := command.Flags()
	own.StringVar(&flags.join, "join", "", "`ADDRESS` of the server's listener for nodes, to join it")
	own.StringVar(&flags.options.Token, "token", "", "`TOKEN` of tend nodes add, to join with")
	own.StringVar(&flags.options.Server, "server", "",
		"`ADDRESS` of the server's listener for nodes, if it has moved since (default the one that was joined)")
	own.StringVar(&flags.options.MetricsListen, "metrics-listen", "",
		"`ADDRESS` of /metrics and /healthz, plain HTTP without a token, as in 127.0.0.1:8689 (default none)")
	return command
}

// run runs the agent until ctx ends. It reports wrong flags before it starts anything.
func (f *agentFlags) run(ctx context.Context) error {
	if err := errors.Join(f.machine.check(), checkListen("metrics-listen", f.options.MetricsListen)); err != nil {
		return err
	}
	if f.join != "" && f.options.Server != "" && f.join != f.options.Server {
		return fmt.Errorf("--join %s and --server %s: give one of them", f.join, f.options.Server)
	}
	f.options.Server = cmp.Or(f.join, f.options.Server)
	if err := f.machine.prepare(); err != nil {
		return err
	}
	return f.machine.traced(ctx, "tend-agent", func() error { return member.Run(ctx, f.options) })
}
