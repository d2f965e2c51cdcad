package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
)

// waiting are the flags of verbs that wait for what they asked.
type waiting struct {
	noWait  bool
	timeout time.Duration
}

func (w *waiting) flags(command *cobra.Command) {
	command.Flags().BoolVar(&w.noWait, "no-wait", false, "return once the change is stored")
	command.Flags().DurationVar(&w.timeout, "timeout", 10*time.Minute, "how long to wait")
}

// verb is a command about one object: it resolves the address, acts, and waits.
func (a *app) verb(use, short string, extra int, act func(ctx context.Context, c *client.Client, ref api.Ref, rest []string) (api.VerbResult, string, error)) *cobra.Command {
	var w waiting
	command := &cobra.Command{
		Use: use, Short: short, Args: cobra.RangeArgs(1, 2+extra),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.checkOutput(); err != nil {
				return err
			}
			wanted, rest, err := parseAddress(args)
			if err != nil {
				return err
			}
			c, err := a.dial()
			if err != nil {
				return err
			}
			ref, err := a.resolve(cmd.Context(), c, wanted)
			if err != nil {
				return err
			}
			result, said, err := act(cmd.Context(), c, ref, rest)
			if err != nil {
				return err
			}
			structured := a.output == "json" || a.output == "yaml"
			if structured {
				err = listing{value: result}.write(a.streams, a.output)
			} else {
				fmt.Fprintln(a.out, said)
			}
			if err != nil || w.noWait {
				return err
			}
			return a.await(cmd.Context(), c, []wait{{ref: ref, revision: result.Revision}}, w.timeout, structured)
		},
	}
	w.flags(command)
	return command
}

func (a *app) scaleCommand() *cobra.Command {
	return a.verb("scale [KIND] SCOPE/NAME REPLICAS", "set how many replicas run", 1,
		func(ctx context.Context, c *client.Client, ref api.Ref, rest []string) (api.VerbResult, string, error) {
			if len(rest) != 1 {
				return api.VerbResult{}, "", fmt.Errorf("say how many replicas: tend scale %s/%s 3", ref.Scope, ref.Name)
			}
			replicas, err := strconv.Atoi(strings.TrimPrefix(rest[0], "="))
			if err != nil || replicas < 0 {
				return api.VerbResult{}, "", fmt.Errorf("%q is not a number of replicas: want 0 or more", rest[0])
			}
			result, err := c.Scale(ctx, client.TargetOf(ref), replicas)
			return result, fmt.Sprintf("%s scaled to %d", ref, replicas), err
		})
}

func (a *app) restartCommand() *cobra.Command {
	return a.verb("restart [KIND] SCOPE/NAME", "replace every slot by the strategy, without a change; thaws frozen slots", 0,
		func(ctx context.Context, c *client.Client, ref api.Ref, _ []string) (api.VerbResult, string, error) {
			result, err := c.Restart(ctx, client.TargetOf(ref))
			return result, fmt.Sprintf("%s restarting", ref), err
		})
}

func (a *app) rollbackCommand() *cobra.Command {
	return a.verb("rollback [KIND] SCOPE/NAME [RELEASE]", "return to an earlier release: spec, image and environment; not replicas", 1,
		func(ctx context.Context, c *client.Client, ref api.Ref, rest []string) (api.VerbResult, string, error) {
			release := ""
			if len(rest) > 0 {
				release = rest[0]
			}
			result, err := c.Rollback(ctx, client.TargetOf(ref), release)
			return result, fmt.Sprintf("%s rolling back to %s", ref, result.Release), err
		})
}

func (a *app) stopCommand() *cobra.Command {
	var noFreeze bool
	command := &cobra.Command{
		Use:   "stop POD | [KIND] SCOPE/NAME",
		Short: "stop a pod, or all of an object, until `tend start`",
		Args:  cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.eachPod(cmd.Context(), args, func(c *client.Client, pod api.Pod) error {
				if !pod.Live() {
					return nil
				}
				_, err := c.StopPod(cmd.Context(), pod.Name, !noFreeze)
				if err == nil {
					fmt.Fprintf(a.out, "%s stopped\n", pod.Name)
				}
				return err
			})
		},
	}
	command.Flags().BoolVar(&noFreeze, "no-freeze", false, "stop it just now: Tend starts it again")
	return command
}

func (a *app) startCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "start POD | [KIND] SCOPE/NAME",
		Short: "let a stopped pod, or all of an object, run again",
		Args:  cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.eachPod(cmd.Context(), args, func(c *client.Client, pod api.Pod) error {
				if !pod.Frozen {
					return nil
				}
				_, err := c.StartPod(cmd.Context(), pod.Name)
				if err == nil {
					fmt.Fprintf(a.out, "%s may run again\n", pod.Name)
				}
				return err
			})
		},
	}
}

// eachPod acts on every pod an address names; one that names none is an error.
func (a *app) eachPod(ctx context.Context, args []string, act func(*client.Client, api.Pod) error) error {
	wanted, _, err := parseAddress(args)
	if err != nil {
		return err
	}
	c, err := a.dial()
	if err != nil {
		return err
	}
	pods, err := a.podsOf(ctx, c, wanted)
	if err != nil {
		return err
	}
	for _, pod := range pods {
		if err := act(c, pod); err != nil {
			return err
		}
	}
	return nil
}

// podsOf are the pods an address names, at least one.
func (a *app) podsOf(ctx context.Context, c *client.Client, wanted address) ([]api.Pod, error) {
	list, err := c.Pods(ctx, client.PodFilter{Scope: wanted.scope})
	if err != nil {
		return nil, err
	}
	var pods []api.Pod
	for _, pod := range list.Items {
		if wanted.owns(pod) {
			pods = append(pods, pod)
		}
	}
	if len(pods) == 0 {
		return nil, fmt.Errorf("there is no pod of %s: `tend get pods` lists what there is", wanted)
	}
	return pods, nil
}

func (a *app) deleteCommand() *cobra.Command {
	var (
		w    waiting
		from sources
	)
	command := &cobra.Command{
		Use:   "delete [KIND] SCOPE/NAME | -f FILE...",
		Short: "stop and remove objects; volumes stay",
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			c, err := a.dial()
			if err != nil {
				return err
			}
			var refs []api.Ref
			switch {
			case len(from.files) > 0:
				loaded, err := from.load(a, args)
				if err != nil {
					return err
				}
				for _, object := range loaded.Objects {
					refs = append(refs, object.Ref())
				}
			default:
				wanted, rest, err := parseAddress(args)
				if err != nil {
					return err
				}
				if len(rest) > 0 {
					return fmt.Errorf("delete takes one object: %q is too much", strings.Join(rest, " "))
				}
				ref, err := a.resolve(ctx, c, wanted)
				if err != nil {
					return err
				}
				refs = append(refs, ref)
			}
			var waits []wait
			for _, ref := range refs {
				if _, err := c.Delete(ctx, ref); err != nil {
					return err
				}
				fmt.Fprintf(a.out, "%s deleting\n", ref)
				waits = append(waits, wait{ref: ref, gone: true})
			}
			if w.noWait {
				return nil
			}
			return a.await(ctx, c, waits, w.timeout, false)
		},
	}
	from.flags(command)
	w.flags(command)
	return command
}
