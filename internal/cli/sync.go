package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/core/source"
)

func (a *app) syncCommand() *cobra.Command {
	command := &cobra.Command{
		Use: "sync", Short: "keep the manifests of a repository, a URL or a folder applied", Args: takes(0, 0),
		Long:    "Keep the manifests of a repository, a URL or a folder of the server applied. Without a word behind it: the syncs there are.",
		Example: "  tend sync add shop --scope shop --git https://git.example.org/team/shop.git --path deploy --prune\n  tend sync list\n  tend sync now shop",
		RunE:    a.connected(a.listSyncs),
	}
	command.AddCommand(a.addSyncCommand(), a.listSyncsCommand(), a.syncNowCommand(), a.removeSyncCommand())
	return command
}

func syncRef(name string) api.Ref {
	return api.Ref{Kind: api.KindSync, Scope: api.Unscoped, Name: name}
}

func (a *app) listSyncsCommand() *cobra.Command {
	return &cobra.Command{
		Use: "list", Aliases: []string{"ls"},
		Short: "list the syncs, what they have applied, and what keeps them from more", Args: takes(0, 0),
		Example: "  tend sync list\n  tend sync list -o wide", RunE: a.connected(a.listSyncs),
	}
}

func (a *app) listSyncs(ctx context.Context, c *client.Client, _ []string) error {
	list, err := c.Objects(ctx, api.KindSync, client.ObjectFilter{})
	if err != nil {
		return err
	}
	l := objectListing(list.Items, time.Now())
	l.value, l.empty = list, "no syncs"
	if err := l.write(a.streams, a.output); err != nil || a.output == "wide" {
		return err
	}
	for _, object := range list.Items {
		if ready := readyOf(object); ready != nil && ready.Status == api.ConditionFalse {
			fmt.Fprintf(a.err, "warning: %s: %s\n", object.Name, printable(explained(ready), "\n"))
		}
	}
	return nil
}

// explained returns a condition's message with its next step, on lines of their own.
func explained(c *api.Condition) string {
	return strings.ReplaceAll(c.Message, "\n", "\n  ") + nextLine("  ", c.Next)
}

func readyOf(object api.Object) *api.Condition {
	status, _ := api.DecodeStatus[api.SyncStatus](object)
	return api.FindCondition(status.Conditions, api.ConditionReady)
}

// syncTable lists syncs.
var syncTable = table{
	header: []string{"SOURCE", "REVISION", "STATE", "AGE"},
	wide:   []string{"OBJECTS", "APPLIED", "MESSAGE"},
	narrow: narrowing{drop: []string{"AGE", "REVISION"}, cut: []string{"SOURCE"}},
	row: func(object api.Object, now time.Time) (cells, wide []string) {
		spec, _ := api.DecodeSpec[api.SyncSpec](object)
		status, _ := api.DecodeStatus[api.SyncStatus](object)
		state, message := stateOf(object, api.WorkloadStatus{Conditions: status.Conditions})
		applied := "-"
		if !status.AppliedAt.IsZero() {
			applied = age(status.AppliedAt, now)
		}
		message, _, _ = strings.Cut(message, "\n")
		return []string{spec.Source(), dash(source.Short(status.Revision)), state, age(object.Metadata.CreatedAt, now)},
			[]string{fmt.Sprint(status.Objects), applied, dash(message)}
	},
}

// describeSync writes what a sync has applied, and what its last apply changed.
func describeSync(w plain, object api.Object, now time.Time) {
	status, _ := api.DecodeStatus[api.SyncStatus](object)
	w.printf("  %s\n", dash(status.Source))
	if status.Revision != "" {
		w.printf("  revision %s, applied %s ago: %s\n", status.Revision, age(status.AppliedAt, now),
			countOf(status.Objects, "object"))
	}
	if status.Fetched != "" {
		w.printf("  not applied: %s\n", status.Fetched)
	}
	for _, change := range status.Changes {
		w.printf("    %-10s %s\n", change.Action, change.Object)
	}
	if status.More > 0 {
		w.printf("    and %d more\n", status.More)
	}
}

func (a *app) syncNowCommand() *cobra.Command {
	w := waiting{}
	command := &cobra.Command{
		Use: "now NAME", Short: "poll the source at once, and wait for what that comes to", Args: takes(1, 1),
		Example: "  tend sync now shop",
		Long:    "Poll the source at once, and apply what is new.\n\nExit status: 0 applied, 1 error or refused, 3 timed out.",
		RunE: a.connected(func(ctx context.Context, c *client.Client, args []string) error {
			if err := w.check(); err != nil {
				return err
			}
			result, err := c.SyncNow(ctx, args[0])
			switch {
			case err != nil:
				return unlessNoSync(args[0], err)
			case w.none && a.structured():
				return a.say(result, result.Object.String(), "")
			case w.none:
				return nil
			}
			return a.awaitSync(ctx, c, args[0], result.Revision, w.timeout)
		}),
	}
	w.flags(command)
	return command
}

// unlessNoSync returns an error as it is, unless it says that there is no sync of the name.
func unlessNoSync(name string, err error) error {
	if client.IsNotFound(err) {
		return &missingError{what: "sync " + name, next: "`tend sync` lists what there is"}
	}
	return err
}

func (a *app) removeSyncCommand() *cobra.Command {
	var prune bool
	command := &cobra.Command{
		Use: "remove NAME", Aliases: []string{"rm"}, Short: "end a sync; what it applied stays", Args: takes(1, 1),
		Long:    "End a sync. What it applied stays; with --prune the objects that it created are deleted.",
		Example: "  tend sync remove shop\n  tend sync remove shop --prune",
		RunE: a.connected(func(ctx context.Context, c *client.Client, args []string) error {
			result, err := c.DeleteWith(ctx, syncRef(args[0]), client.DeleteOptions{Prune: prune})
			if err != nil {
				return unlessNoSync(args[0], err)
			}
			said := fmt.Sprintf("%s removed; what it applied stays", args[0])
			if prune {
				said = fmt.Sprintf("%s removed, with %s that it created", args[0], countOf(len(result.Pruned), "object"))
			}
			return a.say(result, result.Object.String(), said)
		}),
	}
	command.Flags().BoolVar(&prune, "prune", false, "delete the objects that it created")
	return command
}

// awaitSync waits until a source was polled since a revision of its sync, and reports what that came to.
func (a *app) awaitSync(ctx context.Context, c *client.Client, name string, since int64, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	began := time.Now()
	for {
		object, err := c.Object(ctx, syncRef(name))
		switch {
		case ctx.Err() != nil:
			return &exitStatus{code: exitTimeout, title: titleTimeout,
				text: fmt.Sprintf("%s: no outcome within %s; Tend goes on (tend sync list)", name, timeout)}
		case err != nil && !transient(err):
			return err
		case err == nil:
			status, err := api.DecodeStatus[api.SyncStatus](object)
			if err != nil {
				return err
			}
			if status.ObservedRevision >= since {
				return a.syncOutcome(object, status)
			}
		}
		_ = pause(ctx, rhythm(time.Since(began))) // the next request says that ctx has ended
	}
}

func (a *app) syncOutcome(object api.Object, status api.SyncStatus) error {
	ready := api.FindCondition(status.Conditions, api.ConditionReady)
	if ready == nil || ready.Status != api.ConditionTrue {
		text := "it has no condition"
		if ready != nil {
			text = ready.Reason + ": " + explained(ready)
		}
		return &exitStatus{code: exitError, text: fmt.Sprintf("%s: %s", object.Name, printable(text, "\n"))}
	}
	return a.say(object, object.Ref().String(), object.Name+": "+ready.Message)
}
