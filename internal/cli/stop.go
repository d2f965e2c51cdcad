package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
)

func (a *app) stopCommand() *cobra.Command {
	var noFreeze bool
	command := &cobra.Command{
		Use:   "stop POD | [KIND] SCOPE/NAME",
		Short: "stop a pod, or all of an object, until `tend start`",
		Long: "Stop a pod, or all pods of an object. They stay stopped, even after another apply, until\n" +
			"`tend start` or `tend restart`. With --no-freeze Tend starts them again.\n\n" +
			"Of a job the runs that are on, or wait, end for good; with --no-freeze their attempts do, and retries follow.",
		Example:           "  tend stop prod/web\n  tend stop prod-web.1a2b3c4d\n  tend stop job prod/import",
		Args:              takes(1, 2),
		ValidArgsFunction: a.completePods,
	}
	command.RunE = a.onPods(freezing{
		pod: func(ctx context.Context, c *client.Client, pod string) (api.StopResult, error) {
			return c.StopPod(ctx, pod, !noFreeze)
		},
		object: func(ctx context.Context, c *client.Client, t client.Target) (api.StopResult, error) {
			return c.Stop(ctx, t, !noFreeze)
		},
		did: "%s stopped", none: "%s: nothing runs",
	})
	command.Flags().BoolVar(&noFreeze, "no-freeze", false, "stop it once: Tend starts it again")
	return command
}

func (a *app) startCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "start POD | [KIND] SCOPE/NAME",
		Short:             "start a stopped pod, or all stopped pods of an object",
		Long:              "Start what `tend stop` stopped: a pod, or all pods of an object. New pods take their places.",
		Example:           "  tend start prod/web\n  tend start prod-web.1a2b3c4d",
		Args:              takes(1, 2),
		ValidArgsFunction: a.completePods,
		RunE: a.onPods(freezing{
			pod: func(ctx context.Context, c *client.Client, pod string) (api.StopResult, error) {
				return c.StartPod(ctx, pod)
			},
			object: func(ctx context.Context, c *client.Client, t client.Target) (api.StopResult, error) {
				return c.Start(ctx, t)
			},
			did: "%s may run again", none: "%s: nothing is stopped",
		}),
	}
}

// freezing holds what stop and start share: the call for a pod, the call for all pods of an object, and the words that
// report the result.
type freezing struct {
	pod       func(ctx context.Context, c *client.Client, pod string) (api.StopResult, error)
	object    func(ctx context.Context, c *client.Client, target client.Target) (api.StopResult, error)
	did, none string
}

func (a *app) onPods(f freezing) runner {
	return a.addressed(func(ctx context.Context, c *client.Client, wanted address, rest []string) error {
		if err := tooMuch("stop", rest); err != nil {
			return err
		}
		result, err := f.call(ctx, c, wanted)
		switch {
		case err != nil:
			return err
		case a.structured():
			return listing{value: result}.write(a.streams, a.output)
		case len(result.Runs) > 0:
			return a.sayRuns(result)
		case len(result.Pods) == 0 || !result.Changed:
			fmt.Fprintf(a.err, f.none+"\n", wanted)
			return nil
		}
		for _, pod := range result.Pods {
			if err := a.say(result, pod, fmt.Sprintf(f.did, pod)); err != nil {
				return err
			}
		}
		return nil
	})
}

// sayRuns prints the runs that were stopped.
func (a *app) sayRuns(result api.StopResult) error {
	for _, run := range result.Runs {
		if err := a.say(result, run, fmt.Sprintf("run %s of %s stopped", run, result.Object)); err != nil {
			return err
		}
	}
	return nil
}

func (f freezing) call(ctx context.Context, c *client.Client, wanted address) (api.StopResult, error) {
	if wanted.pod != "" {
		return f.pod(ctx, c, wanted.pod)
	}
	ref, err := resolve(ctx, c, wanted)
	if err != nil {
		return api.StopResult{}, err
	}
	return f.object(ctx, c, client.TargetOf(ref))
}
