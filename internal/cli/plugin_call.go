package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pattern"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/core/suggest"
)

// callPlugin is the hidden command that `tend <plugin> <command> …` becomes.
const callPlugin = "plugin-call"

// pluginWord is a first word that may be a plugin's, with or without the command behind a colon.
var pluginWord = pattern.Lazy(`^[a-z0-9][a-z0-9_-]*(:[A-Za-z0-9][A-Za-z0-9._:-]*)?$`)

// valued are the persistent flags that take a value of their own.
var valued = []string{"--server", "--token", "--output", "-o"}

// withPlugins turns a command line whose first word is not a command of Tend's into a call of a plugin: `redis:link a
// b` and `redis link a b` are the same. It searches only that word for a colon; arguments pass unchanged.
func withPlugins(root *cobra.Command, args []string) []string {
	at := 0
	for at < len(args) && strings.HasPrefix(args[at], "-") && args[at] != "-" && args[at] != "--" {
		if slices.Contains(valued, args[at]) {
			at++
		}
		at++
	}
	if at >= len(args) || !pluginWord().MatchString(args[at]) || strings.HasPrefix(args[at], "__") {
		return args
	}
	if isCommand(root, args[at]) {
		return args
	}
	if name, command, split := strings.Cut(args[at], ":"); split && isCommand(root, name) {
		// config:set, as others write it
		return slices.Concat(args[:at], []string{name}, strings.Split(command, ":"), args[at+1:])
	}
	out := append(slices.Clone(args[:at]), callPlugin, "--") // what follows is not a flag of Tend's
	if name, command, split := strings.Cut(args[at], ":"); split {
		return append(append(out, name, command), args[at+1:]...)
	}
	return append(out, args[at:]...)
}

// isCommand reports whether a word is a command of Tend's.
func isCommand(root *cobra.Command, word string) bool {
	found, _, err := root.Find([]string{word})
	return err == nil && found != root || word == "help" || word == "completion"
}

func (a *app) callPluginCommand() *cobra.Command {
	return &cobra.Command{
		Use: callPlugin + " PLUGIN COMMAND [ARG...]", Hidden: true, Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			args = a.ownFlags(args)
			unknown := unknownSubcommand(cmd.Root(), args[0])
			return a.connected(func(ctx context.Context, c *client.Client, _ []string) error {
				return a.callPlugin(ctx, c, args, unknown)
			})(cmd, nil)
		},
	}
}

// ownFlags removes -o json from a plugin's arguments: it is the one flag of Tend's that may stand among them.
func (a *app) ownFlags(args []string) []string {
	var out []string
	for i := 0; i < len(args); i++ {
		switch {
		case args[i] == "--":
			return append(out, args[i:]...)
		case args[i] == "-o=json" || args[i] == "--output=json" || args[i] == "-ojson":
			a.output = "json"
		case (args[i] == "-o" || args[i] == "--output") && i+1 < len(args) && args[i+1] == "json":
			a.output = "json"
			i++
		default:
			out = append(out, args[i])
		}
	}
	return out
}

// callPlugin runs a plugin's command, or says what the plugin offers if none is named. It returns unknown if there is
// no such plugin.
func (a *app) callPlugin(ctx context.Context, c *client.Client, args []string, unknown *unknownCommandError) error {
	listed, err := c.Plugins(ctx)
	var away *client.UnreachableError
	switch {
	case errors.As(err, &away) && (unknown.meant != "" || unknown.familiar): // most likely no plugin is meant
		return unknown
	case errors.As(err, &away):
		return errors.Join(unknown, err)
	}
	if client.StatusOf(err) == http.StatusForbidden { // who may not list plugins has none to call
		return unknown
	}
	if err != nil {
		return err
	}
	at := slices.IndexFunc(listed.Items, func(p api.Plugin) bool { return p.Name == args[0] })
	if at < 0 {
		at = slices.IndexFunc(listed.Items, func(p api.Plugin) bool { return slices.Contains(p.Aliases, args[0]) })
	}
	switch {
	case at < 0 && unknown.familiar:
		return unknown
	case at < 0:
		var names []string
		for _, p := range listed.Items {
			names = append(append(names, p.Name), p.Aliases...)
		}
		return fmt.Errorf("%w\n  nor is there a plugin of that name%s: `tend plugins` lists them", unknown,
			suggest.Behind(suggest.Nearest(args[0], names)))
	case len(args) == 1 || args[1] == "-h" || args[1] == "--help":
		return a.offered(listed.Items[at])
	}
	envelope, err := c.CallPlugin(ctx, args[0], args[1], args[2:])
	if err != nil {
		return err
	}
	return a.pluginAnswer(ctx, envelope, args)
}

func (a *app) offered(p api.Plugin) error {
	out := listing{value: p, names: []string{p.Name}, header: []string{"COMMAND", "WHAT IT DOES"}, empty: p.Name +
		" offers no command"}
	for _, command := range p.Commands {
		out.rows = append(out.rows, []string{p.Name + ":" + command.Name, dashed(command.Help)})
	}
	if p.Error != "" {
		return errors.New(p.Error)
	}
	return out.write(a.streams, a.output)
}

// pluginAnswer prints the result of a plugin's command and does what the plugin leaves to the client.
func (a *app) pluginAnswer(ctx context.Context, envelope api.Envelope, args []string) error {
	if a.structured() {
		write := compactJSON
		if a.output == "yaml" {
			write = writeYAML
		}
		if err := write(a.out, envelope); err != nil || envelope.Status == "ok" {
			return err
		}
		return &exitStatus{code: exitError}
	}
	if envelope.Status != "ok" {
		return errors.New(envelope.Error)
	}
	var result api.PluginResult
	if err := json.Unmarshal(envelope.Data, &result); err != nil {
		return fmt.Errorf("read the plugin's answer: %w", err)
	}
	for _, done := range result.Applied {
		fmt.Fprintln(a.out, printable(done, ""))
	}
	if text := strings.TrimRight(result.Message, "\n"); text != "" {
		fmt.Fprintln(a.out, printable(text, "\n\t"))
	}
	for _, file := range result.FetchFile {
		if err := a.fetch(file, args[2:]); err != nil {
			return err
		}
	}
	for _, local := range result.ExecLocal {
		if err := a.runLocally(ctx, local.Command); err != nil {
			return err
		}
	}
	return nil
}
