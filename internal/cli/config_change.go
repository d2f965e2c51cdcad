package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
)

const configWaits = "\n\nApps whose environment changes are rolled, and waited for. With --no-restart what runs is left alone: the values reach\n" +
	"containers with the app's next release or `tend restart`." + exitStatusOfVerbs

// readChange reads the change a command is to make, from files and arguments.
type readChange func(ctx context.Context, files, rest []string) (api.ConfigRequest, error)

// configChange adds the flags and the action of a command that changes a bucket, and waits for what rolls out because
// of it. files receives the flag -f; if it is nil, the command has none.
func (a *app) configChange(command *cobra.Command, files *[]string, read readChange) *cobra.Command {
	var w waiting
	var quiet bool
	command.RunE = func(cmd *cobra.Command, args []string) error {
		if err := w.check(); err != nil {
			return err
		}
		return a.onBucket(func(ctx context.Context, c *client.Client, b bucket, rest []string) error {
			var from []string
			if files != nil {
				from = *files
			}
			change, err := read(ctx, from, rest)
			if err != nil {
				return err
			}
			return a.changeBucket(ctx, c, b, change, quiet, w)
		})(cmd, args)
	}
	w.flags(command)
	command.Flags().BoolVar(&quiet, "no-restart", false,
		"leave what runs alone: the next release or restart brings the values in")
	if files != nil {
		command.Flags().StringArrayVarP(files, "file", "f", nil,
			"a `FILE` of KEY=VALUE lines as import reads them, or - for stdin (repeatable)")
	}
	return command
}

func (a *app) changeBucket(
	ctx context.Context, c *client.Client, b bucket, change api.ConfigRequest, quiet bool, w waiting,
) error {
	var options []client.Option
	if quiet {
		options = append(options, client.NoRestart)
	}
	result, err := c.SetConfig(ctx, b.scope, b.name, change, options...)
	if err != nil {
		return err
	}
	for _, warning := range result.Warnings {
		fmt.Fprintf(a.err, "warning: %s\n", warning)
	}
	for _, note := range result.Notes {
		fmt.Fprintf(a.err, "note: %s\n", printable(note, ""))
	}
	if err := a.say(result, b.String(), changedText(b, result, quiet)); err != nil || w.none {
		return err
	}
	waits := make([]wait, len(result.Affected))
	for i, ref := range result.Affected {
		waits[i] = wait{Awaited: api.Awaited{Ref: ref, Revision: result.Revision}}
	}
	return a.await(ctx, c, waits, w.timeout)
}

// changedText lists what happened to each key.
func changedText(b bucket, result api.ConfigResult, quiet bool) string {
	text := ""
	for _, group := range []struct {
		keys []string
		did  string
	}{{result.Created, "created"}, {result.Changed, "changed"}, {result.Unchanged, "unchanged"},
		{result.Removed, "removed"}} {
		for _, key := range group.keys {
			text += fmt.Sprintf("%s %s\n", key, group.did)
		}
	}
	text += fmt.Sprintf("%s: %d set, %d removed, %s now", b, len(result.Created)+len(result.Changed), len(result.Removed),
		countOf(len(result.Keys), "key"))
	if quiet && len(result.Affected) > 0 {
		text += "; what runs keeps its environment until its next release or restart"
	}
	return text
}
