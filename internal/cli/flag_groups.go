package cli

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// flagGroup are flags that belong together. Most commands have so few that they need no groups.
type flagGroup struct {
	title string
	flags []string
}

// machineGroups are the groups of the flags of a server and an agent, those first that one machine needs.
var machineGroups = []flagGroup{
	{"One server", []string{"root", "runtime", "docker-host", "network", "http", "ingress-http",
		"ingress-https", "manifests",
		"backup-to", "backup-schedule", "backup-recipient", "log-level", "log-format"}},
	{"Serving hosts", []string{"ingress-proxy-protocol", "ingress-trusted-proxies", "ingress-access-log", "acme-directory",
		"acme-roots", "acme-dns-server", "acme-dns-key"}},
	{"Backups", []string{"backup-command", "backup-keep", "backup-recipients-file", "backup-unencrypted"}},
	{"Builds and plugins", []string{"build-base", "build-timeout", "builds", "plugins",
		"plugin-timeout", "callback-port"}},
	{"People on other machines", []string{"listen", "tls-cert", "tls-key", "allow-host-mounts"}},
	{"Several machines", []string{"node", "label", "name", "join", "token", "no-agent", "node-listen",
		"peer-listen", "peer-address",
		"advertise", "relay-listen", "server", "heartbeat", "node-timeout"}},
	{"The store and its logs", []string{"data", "paused", "events-keep", "events-age", "events-bytes", "audit-keep",
		"audit-age", "audit-bytes",
		"quiet-etcd", "etcd-client", "etcd-peer", "etcd-endpoints", "etcd-ca", "etcd-cert", "etcd-key", "etcd-user",
		"etcd-password-file", "etcd-prefix"}},
	{"Tuning and tracing", []string{"starts", "resync", "autoscale-interval", "min-free-disk",
		"metrics-listen", "otlp-endpoint"}},
}

// groupedFlags marks a command's flags as grouped in its help.
const groupedFlags = "grouped flags"

// helpWidth holds the width of a command's help while it is put together: cobra writes it into memory.
const helpWidth = "help width"

func widthOf(command *cobra.Command) int {
	width, _ := strconv.Atoi(command.Annotations[helpWidth])
	return width
}

func annotate(command *cobra.Command, name, value string) {
	if command.Annotations == nil {
		command.Annotations = map[string]string{}
	}
	command.Annotations[name] = value
}

// group has the help of a command show its flags in groups.
func group(command *cobra.Command) *cobra.Command {
	annotate(command, groupedFlags, "true")
	return command
}

// helpOfFlags returns the flags of a command for its help: in groups if it has them, wrapped to its terminal.
func helpOfFlags(command *cobra.Command) string {
	width := widthOf(command)
	usages := func(set *pflag.FlagSet) string { return usagesIn(set, width) }
	if command.Annotations[groupedFlags] == "" {
		return "Flags:\n" + usages(command.LocalFlags())
	}
	var out []string
	shown := map[string]bool{}
	for _, g := range machineGroups {
		set := pflag.NewFlagSet(g.title, pflag.ContinueOnError)
		set.SortFlags = false
		for _, name := range g.flags {
			if flag := command.LocalFlags().Lookup(name); flag != nil {
				set.AddFlag(flag)
				shown[name] = true
			}
		}
		if set.HasAvailableFlags() {
			out = append(out, fmt.Sprintf("%s:\n%s", g.title, usages(set)))
		}
	}
	rest := pflag.NewFlagSet("other", pflag.ContinueOnError)
	command.LocalFlags().VisitAll(func(flag *pflag.Flag) {
		if !shown[flag.Name] {
			rest.AddFlag(flag)
		}
	})
	return strings.Join(append(out, "Other flags:\n"+usages(rest)), "\n\n")
}

// helpOfGlobalFlags returns the flags that a command shares with others.
func helpOfGlobalFlags(command *cobra.Command) string {
	return "Global Flags:\n" + usagesIn(command.InheritedFlags(), widthOf(command))
}

func usagesIn(set *pflag.FlagSet, width int) string {
	return strings.TrimRight(set.FlagUsagesWrapped(width), " \n")
}

// withHelp has all commands below a root show their flags by helpOfFlags, and break the lines of their help between
// words.
func withHelp(root *cobra.Command) {
	const (
		flags  = "Flags:\n{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}"
		global = "Global Flags:\n{{.InheritedFlags.FlagUsages | trimTrailingWhitespaces}}"
	)
	cobra.AddTemplateFunc("helpOfFlags", helpOfFlags)
	cobra.AddTemplateFunc("helpOfGlobalFlags", helpOfGlobalFlags)
	root.SetUsageTemplate(strings.NewReplacer(global, "{{helpOfGlobalFlags .}}", flags,
		"{{helpOfFlags .}}").Replace(root.UsageTemplate()))
	usual := root.HelpFunc()
	root.SetHelpFunc(func(command *cobra.Command, args []string) {
		out := command.OutOrStdout()
		width := columnsOf(out)
		annotate(command, helpWidth, strconv.Itoa(width))
		var page strings.Builder
		command.SetOut(&page)
		long := command.Long
		command.Long = filled(long, width)
		usual(command, args)
		command.Long = long
		command.SetOut(out)
		_, _ = io.WriteString(out, wrapped(page.String(), width))
	})
}
