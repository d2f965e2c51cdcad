package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
)

// verb is a command that changes one object and waits until the change has taken effect.
type verb struct {
	use, short, long, example string
	// extra is the number of arguments that may follow the address.
	extra int
	// act does it and returns a sentence that says what was done.
	act func(ctx context.Context, c *client.Client, ref api.Ref, rest []string) (api.VerbResult, string, error)
	// counts: wait only for the number of pods, whatever happens to a release.
	counts bool
}

func (a *app) verb(v verb) *cobra.Command {
	var w waiting
	command := &cobra.Command{
		Use: v.use, Short: v.short, Long: v.long, Example: v.example, Args: takes(1, 2+v.extra),
		ValidArgsFunction: a.completeObjects,
	}
	act := a.onObject(func(ctx context.Context, c *client.Client, ref api.Ref, rest []string) error {
		if len(rest) > v.extra {
			return tooMuch(command.Name(), rest[v.extra:])
		}
		result, said, err := v.act(ctx, c, ref, rest)
		if err != nil {
			return err
		}
		for _, warning := range result.Warnings {
			fmt.Fprintf(a.err, "warning: %s: %s\n", ref, warning)
		}
		if err := a.say(result, ref.String(), said); err != nil || w.none || result.DryRun {
			return err
		}
		return a.await(ctx, c, []wait{{Awaited: api.Awaited{Ref: ref, Revision: result.Revision,
			Generation: result.Generation, Counts: v.counts}}}, w.timeout)
	})
	command.RunE = func(cmd *cobra.Command, args []string) error {
		if err := w.check(); err != nil {
			return err
		}
		err := act(cmd, args)
		var absent *missingError
		if _, bad := strconv.Atoi(args[0]); bad == nil && v.extra > 0 && errors.As(err, &absent) {
			absent.next = "the object comes first, as SCOPE/NAME, and a number behind it"
		}
		return err
	}
	w.flags(command)
	return command
}

const exitStatusOfVerbs = "\n\nExit status: 0 converged, 1 error, 2 rolled back or paused, 3 timed out (Tend goes on working at it),\n4 replaced by a newer change."

// forcing adds --force-conflicts to a verb's command.
func forcing(command *cobra.Command, force *bool) *cobra.Command {
	command.Flags().BoolVar(force, "force-conflicts", false, forceConflictsUsage)
	return command
}

func optionsOf(force bool) []client.Option {
	if force {
		return []client.Option{client.ForceConflicts}
	}
	return nil
}

func (a *app) scaleCommand() *cobra.Command {
	var force bool
	return forcing(a.verb(verb{
		use: "scale [KIND] SCOPE/NAME REPLICAS", short: "set how many replicas run", extra: 1, counts: true,
		long: "Set how many replicas run. The next apply of a manifest that names replicas sets them again." +
			exitStatusOfVerbs,
		example: "  tend scale prod/web 5\n  tend scale deployment prod/web 0",
		act: func(ctx context.Context, c *client.Client, ref api.Ref, rest []string) (api.VerbResult, string, error) {
			if len(rest) != 1 {
				return api.VerbResult{}, "", fmt.Errorf("give the number of replicas: tend scale %s/%s 3", ref.Scope, ref.Name)
			}
			replicas, err := strconv.Atoi(strings.TrimPrefix(rest[0], "="))
			if err != nil || replicas < 0 {
				return api.VerbResult{}, "", fmt.Errorf("%q is not a number of replicas: want 0 or more", rest[0])
			}
			result, err := c.Scale(ctx, client.TargetOf(ref), replicas, optionsOf(force)...)
			return result, scaleText(ref, result, replicas), err
		},
	}), &force)
}

func scaleText(ref api.Ref, result api.VerbResult, replicas int) string {
	switch {
	case result.Retried:
		return fmt.Sprintf("%s has %d replicas already; it was in trouble, and is tried again", ref, replicas)
	case !result.Changed:
		return fmt.Sprintf("%s has %d replicas already", ref, replicas)
	case result.PreviousReplicas != nil:
		return fmt.Sprintf("%s scaled from %d to %d", ref, *result.PreviousReplicas, replicas)
	}
	return fmt.Sprintf("%s scaled to %d", ref, replicas)
}

func (a *app) reconcileCommand() *cobra.Command {
	return a.verb(verb{
		use: "reconcile [KIND] SCOPE/NAME", short: "reconcile an application of a Kubernetes cluster now",
		long: "Send an application to its Kubernetes cluster again, unchanged, and have Flux reconcile it at once: the chart is fetched,\n" +
			"values are read again, and a release that has no retries left is tried again." + exitStatusOfVerbs,
		example: "  tend reconcile appinst prod/web",
		act: func(ctx context.Context, c *client.Client, ref api.Ref, _ []string) (api.VerbResult, string, error) {
			result, err := c.Reconcile(ctx, client.TargetOf(ref))
			return result, fmt.Sprintf("%s is sent to its cluster again", ref), err
		},
	})
}

func (a *app) restartCommand() *cobra.Command {
	return a.verb(verb{
		use:   "restart [KIND] SCOPE/NAME",
		short: "restart all pods, following the rollout strategy; also restarts stopped pods",
		long: "Restart all pods, following the rollout strategy. Pods that `tend stop` stopped run again.\n" +
			"If a command of a newer release failed, Tend retries that release; pods keep serving until the command succeeds." +
			exitStatusOfVerbs,
		example: "  tend restart prod/web",
		act: func(ctx context.Context, c *client.Client, ref api.Ref, _ []string) (api.VerbResult, string, error) {
			result, err := c.Restart(ctx, client.TargetOf(ref))
			if result.Retries != "" {
				return result, fmt.Sprintf("%s tries %s, whose command failed, again; its pods stay as they are until that passes",
					ref, result.Retries), err
			}
			return result, fmt.Sprintf("%s restarting", ref), err
		},
	})
}
