package cli

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tend.dev/tend/internal/core/suggest"
	"tend.dev/tend/internal/platform/version"
)

// app holds the state that all commands share.
type app struct {
	streams
	server string
	token  string
	output string
	// resumes: the command ends the pause that other commands warn of.
	resumes bool
}

// Command returns the tree of all commands, for what describes them.
func Command() *cobra.Command {
	return newRoot(streams{in: os.Stdin, out: os.Stdout, err: os.Stderr})
}

func newRoot(s streams) *cobra.Command {
	a := &app{streams: s}
	root := &cobra.Command{
		Use:   "tend",
		Short: "Tend keeps what you declared running",
		Long: "Tend keeps what you declared running: write a manifest, `tend apply` it, and controllers do the smallest thing\n" +
			"that closes the difference between what should be and what is, for as long as it takes.",
		Example: "  tend dev                      # a private server, in one terminal\n" +
			"  tend apply -f web.hcl         # in another: store manifests, wait until they run\n" +
			"  tend get                      # list objects\n" +
			"  tend logs prod/web -f         # its output\n" +
			"  tend describe prod/web        # why it is as it is",
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       version.Version,
		PersistentPreRunE: func(command *cobra.Command, args []string) error {
			if err := a.checkOutput(); err != nil {
				return err
			}
			return a.familiarKind(command, args)
		},
	}
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.err)
	root.SetFlagErrorFunc(func(command *cobra.Command, err error) error { return &flagsError{flagError(command, err)} })
	flags := root.PersistentFlags()
	flags.StringVar(&a.server, "server", "",
		"server to talk to, a `URL`: unix:///path, https://host:port, http://127.0.0.1:port or ssh://user@host (TEND_SERVER; default the socket of this machine)")
	flags.StringVar(&a.token, "token", "",
		"`TOKEN` for an http or https server (TEND_TOKEN)")
	flags.StringVarP(&a.output, "output", "o", "", "output `FORMAT`: "+strings.Join(formats, ", "))
	_ = root.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
	a.addCommands(root)
	root.InitDefaultCompletionCmd()
	for _, command := range root.Commands() {
		if command.Name() == "completion" {
			command.Args = nil // refuseUnknown says which shells there are
		}
	}
	refuseUnknown(root)
	withHelp(root)
	a.completions(root)
	return root
}

func (a *app) addCommands(root *cobra.Command) {
	add := func(id, title string, commands ...*cobra.Command) {
		root.AddGroup(&cobra.Group{ID: id, Title: title})
		for _, command := range commands {
			command.GroupID = id
			root.AddCommand(command)
		}
	}
	add("declare", "Declare:", a.applyCommand(), a.diffCommand(), a.deleteCommand(), a.initCommand(), a.importCommand(),
		a.adoptCommand(), a.fmtCommand(), a.configCommand(), a.syncCommand())
	add("inspect", "Inspect:", a.getCommand(), a.describeCommand(), a.logsCommand(), a.releasesCommand(), a.runsCommand(),
		a.eventsCommand(), a.historyCommand(), a.auditCommand(), a.blameCommand(), a.statsCommand(), a.systemCommand(),
		a.nodesCommand(), a.accessTokensCommand(), a.sinksCommand())
	add("act", "Act:", a.verb("scale"), a.verb("restart"), a.verb("reconcile"), a.stopCommand(), a.startCommand(),
		a.verb("rollback"), a.verb("rebootstrap"), a.resumeCommand(), a.ingressCommand(), a.execCommand(), a.runCommand())
	add("run", "Run Tend:", group(a.devCommand()), group(a.serverCommand()), group(a.agentCommand()), a.backupCommand(),
		a.restoreCommand(), a.pluginsCommand(), a.receivePackCommand(), a.dialStdioCommand(), a.sendMessageCommand(),
		a.versionCommand(), schemaCommand(a.streams))
	add("many", "Several machines, labs, Kubernetes:", a.serversCommand(), a.verb("cordon"), a.drainCommand(),
		a.verb("uncordon"), a.rebalanceCommand(), a.keysCommand(), a.labCommand(), a.clustersCommand(), a.approveCommand())
	a.addKinds(root)
	root.AddCommand(a.callPluginCommand(), a.remoteCommand(), a.psCommand())
	root.SetHelpCommandGroupID("run")
	root.SetCompletionCommandGroupID("run")
}

// checkOutput refuses an unknown -o before anything is done.
func (a *app) checkOutput() error {
	if a.output == "yml" {
		a.output = "yaml"
	}
	switch {
	case a.output == "" || slices.Contains(formats, a.output):
		return nil
	case strings.HasPrefix(a.output, "jsonpath") || strings.HasPrefix(a.output, "go-template"):
		return fmt.Errorf("unknown output %q: `-o json | jq FILTER` chooses fields", a.output)
	}
	return fmt.Errorf("unknown output %q: want one of %s%s", a.output, strings.Join(formats, ", "),
		suggest.Behind(suggest.Nearest(a.output, formats)))
}

// structured reports whether the output is for a program, so that stdout must have nothing else.
func (a *app) structured() bool { return a.output == "json" || a.output == "yaml" }

// say prints the result of a verb: the answer itself, the object's name, or a sentence.
func (a *app) say(value any, name, sentence string) error {
	switch {
	case a.structured():
		return listing{value: value}.write(a.streams, a.output)
	case a.output == "name":
		sentence = name
	}
	_, err := fmt.Fprintln(a.out, sentence)
	return err
}
