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

func (a *app) nodesCommand() *cobra.Command {
	command := &cobra.Command{
		Use: "nodes", Short: "list nodes, add and remove them", Args: takes(0, 0),
		Example: "  tend nodes\n  tend nodes -o wide\n  tend nodes add",
		RunE:    a.connected(func(ctx context.Context, c *client.Client, _ []string) error { return a.getNodes(ctx, c) }),
	}
	command.AddCommand(a.addNodeCommand(), a.tokensCommand(), a.verb("nodes ingress"), a.nodeDownCommand(),
		a.removeNodeCommand())
	return command
}

// prefixFlag returns the flag of a prefix in an external etcd, if it has one of its own.
func prefixFlag(prefix string) string {
	if prefix == "" {
		return ""
	}
	return " --etcd-prefix " + prefix
}

func (a *app) getNodes(ctx context.Context, c *client.Client) error {
	nodes, err := c.Nodes(ctx)
	if err != nil {
		return err
	}
	l := nodeListing(nodes.Items)
	l.value = nodes
	if err := l.write(a.streams, a.output); err != nil {
		return err
	}
	if status, err := c.BackupStatus(ctx); err == nil && status.Failed() { // an older server has none
		fmt.Fprintf(a.err, "warning: the last scheduled backup failed: %s%s\n", printable(status.Last.Error, ""),
			nextLine("  ", "tend backup status"))
	}
	for _, node := range nodes.Items {
		if (node.Alive || node.Reason == api.ReasonNeverReported) && !node.Ready && a.output != "wide" {
			fmt.Fprintf(a.err, "warning: node %s: %s%s\n", node.ID, printable(node.Message, ""), nextLine("  ", nodeStep(node)))
		}
		if node.Unheard {
			fmt.Fprintf(a.err, "warning: node %s %s: it gets no new pods until it is heard again\n", node.ID, silence(node))
		}
		if disk := api.FindCondition(node.Conditions, api.ConditionDiskPressure); disk != nil &&
			disk.Status == api.ConditionTrue {
			fmt.Fprintf(a.err, "warning: node %s: %s%s\n", node.ID, printable(disk.Message, ""), nextLine("  ", disk.Next))
		}
		if n := len(node.Quarantined); n > 0 {
			fmt.Fprintf(a.err, "warning: node %s leaves alone what it doesn't know (%d quarantined): %s\n", node.ID, n,
				printable(strings.Join(node.Quarantined, ", "), ""))
		}
	}
	return nil
}

// noNodes is said where no node is known: the server's own registers a moment after its start.
const noNodes = "no node has registered yet: that of a server that has just started does so within seconds, so look again; " +
	"`tend nodes add` adds another machine"

func nodeListing(nodes []api.NodeInfo) listing {
	l := listing{
		header:     []string{"NODE", "STATE", "ROLE", "ADDRESS", "RUNTIME", "CPUS", "MEMORY", "PODS", "SINCE"},
		wideHeader: []string{"VERSION", "LABELS", "MESSAGE"},
		narrow: narrowing{drop: []string{"RUNTIME", "MEMORY", "CPUS", "PODS", "ROLE", "ADDRESS", "SINCE"},
			squeeze: []string{"STATE"}},
		empty: noNodes,
	}
	for _, node := range nodes {
		l.names = append(l.names, node.ID)
		l.rows = append(l.rows, []string{
			node.ID, nodeState(node), dash(node.Role), addressText(node),
			strings.TrimSpace(node.Runtime + " " + node.RuntimeVersion),
			fmt.Sprint(node.CPUs), bytesText(node.MemoryBytes), fmt.Sprint(node.Pods), sinceText(node),
		})
		l.wideRows = append(l.wideRows, []string{dash(node.Version), dash(labelsText(node)), dash(node.Message)})
	}
	return l
}

func addressText(node api.NodeInfo) string {
	if !node.Address.IsValid() {
		return "-"
	}
	return node.Address.String()
}

// sinceText returns for how long a node has answered, or has not.
func sinceText(node api.NodeInfo) string {
	if node.Since.IsZero() {
		return "-"
	}
	return age(node.Since, time.Now())
}

// silence says since when no server hears a node.
func silence(node api.NodeInfo) string {
	if node.LastHeard.IsZero() {
		return "is heard by no server"
	}
	return "was last heard " + age(node.LastHeard, time.Now()) + " ago"
}

func nodeState(node api.NodeInfo) string {
	switch {
	case node.Reason == api.ReasonNeverReported:
		return node.Reason
	case !node.Alive:
		return "down"
	case !node.Ready:
		return dash(node.Reason)
	case node.Unheard:
		return "silent"
	case node.Spec.Availability == api.NodeCordoned || node.Spec.Availability == api.NodeDrained:
		return node.Spec.Availability
	case node.Losses != nil && !node.Losses.Until.IsZero():
		return "flapping"
	}
	return "ready"
}

// labelsText returns the labels that constraints compare, as key=value.
func labelsText(node api.NodeInfo) string {
	var out []string
	for attribute, value := range api.NodeAttributes(node.NodeStatus, node.Spec.Labels) {
		if label, ok := strings.CutPrefix(attribute, api.NodeLabels); ok {
			out = append(out, label+"="+value)
		}
	}
	slices.Sort(out)
	return strings.Join(out, ",")
}
