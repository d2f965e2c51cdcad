package cli

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
)

func (a *app) describeCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "describe [KIND] SCOPE/NAME",
		Short:   "show an object with its conditions, rollout, pods and releases",
		Aliases: []string{"desc"},
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.checkOutput(); err != nil {
				return err
			}
			wanted, _, err := parseAddress(args)
			if err != nil {
				return err
			}
			c, err := a.dial()
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			ref, err := a.resolve(ctx, c, wanted)
			if err != nil {
				return err
			}
			object, err := c.Object(ctx, ref)
			if err != nil {
				return err
			}
			pods, err := c.Pods(ctx, client.PodFilter{Kind: ref.Kind, Scope: ref.Scope, Name: ref.Name})
			if err != nil {
				return err
			}
			own := pods.Items
			if a.output == "json" || a.output == "yaml" {
				return listing{value: map[string]any{"object": object, "pods": own}}.write(a.streams, a.output)
			}
			return a.describe(object, own)
		},
	}
}

func (a *app) describe(object api.Object, pods []api.Pod) error {
	status, err := api.DecodeStatus[api.WorkloadStatus](object)
	if err != nil {
		return err
	}
	now := time.Now()
	w := a.out
	state, _ := stateOf(object, status)
	fmt.Fprintf(w, "%s  %s\n", object.Ref(), state)
	fmt.Fprintf(w, "  generation %d (observed %d), created %s ago\n", object.Metadata.Generation, status.ObservedGeneration, age(object.Metadata.CreatedAt, now))
	fmt.Fprintf(w, "  image %s\n", dash(status.Image))
	if status.ImageID != "" {
		fmt.Fprintf(w, "        %s\n", status.ImageID)
	}
	fmt.Fprintf(w, "  replicas %d wanted, %d running, %d ready, %d updated", status.Replicas, status.Running, status.Ready, status.Updated)
	if status.Frozen > 0 {
		fmt.Fprintf(w, ", %d frozen", status.Frozen)
	}
	fmt.Fprintln(w)
	describeRollout(w, status.Rollout, now)
	describeConditions(w, status.Conditions, now)
	fmt.Fprintln(w, "\nPods")
	for _, pod := range pods {
		fmt.Fprintf(w, "  %s  %s, release %s, node %s, %s old\n", pod.Name, podState(pod), pod.Release, dash(pod.Node), age(pod.CreatedAt, now))
		if pod.Message != "" && !pod.Ready {
			indent(w, "      ", pod.Message)
		}
		for _, line := range pod.LastLog {
			indent(w, "      | ", line)
		}
	}
	fmt.Fprintln(w, "\nSpec")
	var spec strings.Builder
	if err := writeYAML(&spec, object.Spec); err != nil {
		return err
	}
	indent(w, "  ", strings.TrimRight(spec.String(), "\n"))
	return nil
}

func describeRollout(w io.Writer, r *api.RolloutStatus, now time.Time) {
	if r == nil {
		return
	}
	fmt.Fprintf(w, "  rollout to %s %s", r.TargetRelease, r.Phase)
	switch {
	case !r.EndedAt.IsZero():
		fmt.Fprintf(w, ", took %s, ended %s ago", r.EndedAt.Sub(r.StartedAt).Round(time.Millisecond), age(r.EndedAt, now))
	case !r.StartedAt.IsZero():
		fmt.Fprintf(w, ", began %s ago", age(r.StartedAt, now))
	}
	if r.LastGoodRelease != "" && r.LastGoodRelease != r.TargetRelease {
		fmt.Fprintf(w, ", last good %s", r.LastGoodRelease)
	}
	fmt.Fprintln(w)
	if r.Message != "" {
		indent(w, "    ", r.Message)
	}
}

func describeConditions(w io.Writer, conditions []api.Condition, now time.Time) {
	fmt.Fprintln(w, "\nConditions")
	for _, c := range conditions {
		fmt.Fprintf(w, "  %-12s %-8s %s, for %s\n", c.Type, c.Status, c.Reason, age(c.LastTransitionTime, now))
		if c.Message != "" {
			indent(w, "      ", c.Message)
		}
	}
}

func indent(w io.Writer, prefix, text string) {
	for _, line := range strings.Split(text, "\n") {
		fmt.Fprintln(w, prefix+line)
	}
}
