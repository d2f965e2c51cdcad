package cli

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"tend.dev/tend/client"
	"tend.dev/tend/internal/version"
)

// app is what every command shares.
type app struct {
	streams
	server string
	token  string
	output string
}

func newRoot(s streams) *cobra.Command {
	a := &app{streams: s}
	root := &cobra.Command{
		Use:   "tend",
		Short: "Tend keeps what you declared running",
		Long: "Tend keeps what you declared running: write a manifest, `tend apply` it, and controllers do the smallest thing\n" +
			"that closes the difference between what should be and what is, for as long as it takes.",
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       version.Version,
	}
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.err)
	flags := root.PersistentFlags()
	flags.StringVar(&a.server, "server", "", "server to talk to: unix:///path or http://host:port (TEND_SERVER; default the socket of this machine)")
	flags.StringVar(&a.token, "token", "", "token for an http server (TEND_TOKEN; default the token file of the same user)")
	flags.StringVarP(&a.output, "output", "o", "", "output: "+strings.Join(formats, ", "))
	_ = root.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))

	root.AddGroup(
		&cobra.Group{ID: "declare", Title: "Declare:"},
		&cobra.Group{ID: "look", Title: "Look:"},
		&cobra.Group{ID: "act", Title: "Act:"},
		&cobra.Group{ID: "run", Title: "Run Tend:"},
	)
	add := func(group string, commands ...*cobra.Command) {
		for _, command := range commands {
			command.GroupID = group
			root.AddCommand(command)
		}
	}
	add("declare", a.applyCommand(), a.diffCommand(), a.deleteCommand(), a.configCommand())
	add("look", a.getCommand(), a.describeCommand(), a.logsCommand(), a.releasesCommand(), a.statsCommand())
	add("act", a.scaleCommand(), a.restartCommand(), a.stopCommand(), a.startCommand(), a.rollbackCommand(), a.execCommand())
	add("run", a.serverCommand(), a.devCommand(), a.nodesCommand(), a.versionCommand(), schemaCommand(s))
	root.SetHelpCommandGroupID("run")
	root.SetCompletionCommandGroupID("run")
	return root
}

// dial makes a client for the server the flags, the environment or the machine name.
func (a *app) dial() (*client.Client, error) {
	opts := client.Discover(os.Getenv)
	if a.server != "" {
		opts.Server = a.server
	}
	if a.token != "" {
		opts.Token = a.token
	}
	return client.New(opts)
}

// checkOutput refuses an -o that the command doesn't know before anything is done.
func (a *app) checkOutput() error {
	if a.output == "" {
		return nil
	}
	for _, format := range formats {
		if a.output == format {
			return nil
		}
	}
	return fmt.Errorf("unknown output %q: want one of %s", a.output, strings.Join(formats, ", "))
}
