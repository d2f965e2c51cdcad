package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
)

func (a *app) drainCommand() *cobra.Command {
	var force bool
	var wait waiting
	command := &cobra.Command{
		Use: "drain NODE", Short: "move a node's pods to other nodes", Args: takes(1, 1), ValidArgsFunction: a.completeNodes,
		Long: "Move a node's pods to other nodes, one after another under the strategies of their workloads, and wait until it has none.\n" +
			"Jobs run to their end there. A pod whose data is on the node, or that no other node takes, stays: it is named at once, with\n" +
			"the cause, and the command ends with exit status 2 when no others are left. The node takes no new pods until `tend uncordon`.",
		Example: "  tend drain worker-1\n  tend drain worker-1 --no-wait",
		RunE: a.connected(func(ctx context.Context, c *client.Client, args []string) error {
			if err := wait.check(); err != nil {
				return err
			}
			result, err := c.SetAvailability(ctx, args[0], api.NodeDrained, force)
			if err != nil || wait.none {
				if err == nil {
					err = a.say(result, args[0], args[0]+" is drained; its pods move away")
				}
				return err
			}
			if err := a.awaitDrained(ctx, c, args[0], wait.timeout); err != nil {
				return err
			}
			text, err := drained(ctx, c, args[0])
			if err != nil {
				return err
			}
			return a.say(result, args[0], text)
		}),
	}
	command.Flags().BoolVar(&force, "force-conflicts", false, "also where the node's manifest says otherwise")
	wait.flags(command)
	return command
}

// awaitDrained waits until a node has no live pods, and says which it waits for.
func (a *app) awaitDrained(ctx context.Context, c *client.Client, node string, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	said, printed := "", map[string]bool{}
	for {
		pods, err := livePods(ctx, c, node)
		if err == nil && len(pods) == 0 {
			return nil
		}
		stuck := a.tellStaying(ctx, c, pods, printed)
		if err == nil && stuck == len(pods) {
			return &exitStatus{code: exitPaused, title: titleNotConverged,
				text: fmt.Sprintf("%s is drained, and %s (see above)\n  to end the drain: tend uncordon %s", node,
					stayingText(stuck), node)}
		}
		left := names(pods)
		if text := strings.Join(left, ", "); err == nil && text != said {
			said = text
			fmt.Fprintf(a.err, "waiting for %d of its pods: %s\n", len(left), printable(text, "\n"))
		}
		if pause(ctx, time.Second/2) != nil {
			return fmt.Errorf("%s still has %d pods after %s: %s\n  `tend describe` of what they belong to says why; jobs run to their end; `tend uncordon %s` ends the drain",
				node, len(left), timeout, said, node)
		}
	}
}

// stayingText returns the number of pods that stay on a drained node, in words.
func stayingText(n int) string {
	if n == 1 {
		return "1 of its pods stays: no other node takes it; it moves once one does"
	}
	return fmt.Sprintf("%d of its pods stay: no other node takes them; they move once one does", n)
}

// tellStaying prints which of the pods no other node takes, why, and what to do, each once; and returns how many they
// are.
func (a *app) tellStaying(ctx context.Context, c *client.Client, pods []api.Pod, printed map[string]bool) (count int) {
	staying := map[string]api.StayingPod{}
	asked := map[api.Ref]bool{}
	for _, pod := range pods {
		if owner := pod.Owner(); owner.Kind.HasSlots() && pod.Run == "" && !asked[owner] {
			asked[owner] = true
			for _, stays := range stayingOf(ctx, c, owner) {
				staying[stays.Pod] = stays
			}
		}
	}
	for _, pod := range pods {
		stays, is := staying[pod.Name]
		if !is {
			continue
		}
		count++
		if text := stays.Pod + " can't move: " +
			printable(stays.Message, "") + nextLine("  ", printable(stays.Next, "")); !printed[text] {
			printed[text] = true
			fmt.Fprintln(a.err, text)
		}
	}
	return count
}

// stayingOf returns the pods of an object that no other node takes; none if that can't be read now.
func stayingOf(ctx context.Context, c *client.Client, owner api.Ref) []api.StayingPod {
	object, err := c.Object(ctx, owner)
	if err != nil {
		return nil
	}
	status, err := api.DecodeStatus[api.WorkloadStatus](object)
	if err != nil {
		return nil
	}
	return status.Staying
}

// drained describes a node that is to have no pods.
func drained(ctx context.Context, c *client.Client, node string) (string, error) {
	nodes, err := c.Nodes(ctx)
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(nodes.Items, func(n api.NodeInfo) bool { return n.ID == node })
	if i < 0 {
		return node + " is drained: it has no pods", nil
	}
	pods, err := c.Pods(ctx, client.PodFilter{Node: node})
	return drainedText(nodes.Items[i], pods.Items), err
}

// drainedText says of a node that answers that it has no pods, and of one that doesn't what it ran when it did.
func drainedText(node api.NodeInfo, pods []api.Pod) string {
	if node.Alive {
		return node.ID + " is drained: it has no pods"
	}
	var may []string
	for _, pod := range pods {
		if !pod.State.Terminal() && !pod.StartedAt.IsZero() {
			may = append(may, pod.Name)
		}
	}
	slices.Sort(may)
	text := node.ID + " gets no pods, and does not answer: "
	if len(may) == 0 {
		return text + "it had none when it last reported"
	}
	return text + "what it ran when it last reported may run there still: " + printable(strings.Join(may, ", "), "")
}

func livePods(ctx context.Context, c *client.Client, node string) (left []api.Pod, err error) {
	pods, err := c.Pods(ctx, client.PodFilter{Node: node})
	for _, pod := range pods.Items {
		if pod.Live() {
			left = append(left, pod)
		}
	}
	return left, err
}

func names(pods []api.Pod) (out []string) {
	for _, pod := range pods {
		out = append(out, pod.Name)
	}
	slices.Sort(out)
	return out
}
