package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
)

func (a *app) nodesCommand() *cobra.Command {
	return &cobra.Command{
		Use: "nodes", Short: "list nodes", Args: takes(0, 0), Example: "  tend nodes\n  tend nodes -o wide",
		RunE: a.connected(func(ctx context.Context, c *client.Client, _ []string) error { return a.getNodes(ctx, c) }),
	}
}

func (a *app) getNodes(ctx context.Context, c *client.Client) error {
	nodes, err := c.Nodes(ctx)
	if err != nil {
		return err
	}
	l := listing{
		value: nodes, empty: "no nodes",
		header: []string{"NODE", "STATE", "RUNTIME", "CPUS", "MEMORY", "PODS"}, wideHeader: []string{"MESSAGE"},
	}
	for _, node := range nodes.Items {
		l.names = append(l.names, node.ID)
		l.rows = append(l.rows, []string{
			node.ID, nodeState(node), node.Runtime + " " + node.RuntimeVersion, fmt.Sprint(node.CPUs), bytesText(node.MemoryBytes), fmt.Sprint(node.Pods),
		})
		l.wideRows = append(l.wideRows, []string{dash(node.Message)})
	}
	if err := l.write(a.streams, a.output); err != nil {
		return err
	}
	for _, node := range nodes.Items {
		if node.Alive && !node.Ready && a.output != "wide" {
			fmt.Fprintf(a.err, "warning: node %s: %s%s\n", node.ID, printable(node.Message, ""), nextLine("  ", nodeStep(node)))
		}
		if n := len(node.Quarantined); n > 0 {
			fmt.Fprintf(a.err, "warning: node %s leaves %d entries alone that it doesn't know (quarantined): %s\n", node.ID, n,
				printable(strings.Join(node.Quarantined, ", "), "\n"))
		}
	}
	return nil
}

func nodeState(node api.NodeInfo) string {
	switch {
	case !node.Alive:
		return "down"
	case !node.Ready:
		return dash(node.Reason)
	}
	return "ready"
}
