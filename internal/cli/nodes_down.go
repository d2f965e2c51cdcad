package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
)

// downVerb is a verb about machines that are off.
type downVerb struct {
	// do carries it out for one node, or only says what it would do.
	do func(ctx context.Context, c *client.Client, node string, dryRun bool) (api.NodeDownResult, error)
	// warns says what is lost, asked before; data says what becomes of pods whose data is on the node.
	warns, data string
	did         string
}

func (a *app) nodeDownCommand() *cobra.Command {
	return a.downCommand(&cobra.Command{
		Use: "confirm-down NODE…", Short: "say that silent nodes are off: their pods are replaced at once",
		Long: "Say that silent nodes are off. Their pods count as ended, so that others take their places at once, ordinals of statefulsets\n" +
			"too. A pod whose data is on the node waits there for it: its data stays. A node that answers is refused.\n" +
			"BE SURE. If the machine runs after all, its pods run twice until it answers again, an ordinal too; then those of before\n" +
			"are stopped first. An engine that is switched on again may start them until its agent has reached a server. On a\n" +
			"terminal it asks first; elsewhere it wants --yes.",
		Example: "  tend nodes confirm-down worker-1\n  tend nodes confirm-down worker-1 worker-2 --yes",
	}, &downVerb{
		do: func(ctx context.Context, c *client.Client, node string, dryRun bool) (api.NodeDownResult, error) {
			return c.ConfirmNodeDown(ctx, node, dryRun)
		},
		warns: "If a machine runs after all (%s), its pods run twice until it answers.", data: "waits for its data",
		did: "the pods of %s count as ended",
	})
}

func (a *app) removeNodeCommand() *cobra.Command {
	var force bool
	command := a.downCommand(&cobra.Command{
		Use: "remove NODE…", Short: "take nodes that are gone for good, or hostile, out of the cluster",
		Long: "Take nodes that are gone for good out of the cluster. Their pods are replaced on other nodes, their certificates are refused\n" +
			"and their connections are closed from now on, and what their volumes held is given up: PODS THAT KEPT DATA THERE BEGIN\n" +
			"WITH EMPTY VOLUMES. Those are named. On a terminal it asks first; elsewhere it wants --yes. A node that answers is\n" +
			"refused: `tend drain` it and stop its agent first. With --force it is cut off at once, though its containers run on\n" +
			"there; what it could read is named, so that you can replace it.",
		Example: "  tend nodes remove worker-1\n  tend nodes remove worker-1 worker-2 --yes\n  tend nodes remove worker-1 --force",
	}, &downVerb{
		do: func(ctx context.Context, c *client.Client, node string, dryRun bool) (api.NodeDownResult, error) {
			return c.RemoveNode(ctx, node, client.RemoveOptions{Force: force, DryRun: dryRun})
		},
		warns: "This takes %s out of the cluster for good.", data: "begins with empty volumes elsewhere",
		did: "%s is removed",
	})
	command.Flags().BoolVar(&force, "force", false, "also a node that answers, such as one that an attacker has")
	return command
}

// downCommand asks about all nodes before it does anything to one of them.
func (a *app) downCommand(command *cobra.Command, verb *downVerb) *cobra.Command {
	var yes bool
	command.Args, command.ValidArgsFunction = takes(1, mostNodes), a.completeMoreNodes
	command.RunE = a.connected(func(ctx context.Context, c *client.Client, args []string) error {
		nodes := slices.Compact(slices.Sorted(slices.Values(args)))
		for _, node := range nodes {
			would, err := verb.do(ctx, c, node, true)
			if err != nil {
				return err
			}
			if !yes {
				a.sayData(would, verb.data)
			}
		}
		if err := a.confirm(yes, fmt.Sprintf(verb.warns, strings.Join(nodes, ", "))); err != nil {
			return err
		}
		var results []api.NodeDownResult
		for _, node := range nodes {
			result, err := verb.do(ctx, c, node, false)
			if err != nil {
				return errors.Join(err, a.sayTogether(results))
			}
			a.sayLost(result)
			if a.structured() && len(nodes) > 1 {
				results = append(results, result)
			} else if err := a.say(result, result.Node, fmt.Sprintf(verb.did, node)); err != nil {
				return err
			}
		}
		return a.sayTogether(results)
	})
	command.Flags().BoolVarP(&yes, "yes", "y", false, "don't ask")
	return command
}

// mostNodes bounds the names of one command.
const mostNodes = 1000

// sayData names the pods whose data is on a node, and the volumes.
func (a *app) sayData(would api.NodeDownResult, becomes string) {
	for _, pod := range would.Data {
		fmt.Fprintf(a.err, "%s of %s %s: %s on %s\n", pod.Pod, pod.Object, becomes,
			printable(strings.Join(pod.Volumes, ", "), ""), would.Node)
	}
}

// sayTogether prints the results of several nodes as one value for a program, if there are any.
func (a *app) sayTogether(results []api.NodeDownResult) error {
	if len(results) == 0 {
		return nil
	}
	return listing{value: itemsOf(results)}.write(a.streams, a.output)
}

func (a *app) sayLost(result api.NodeDownResult) {
	for _, part := range []struct {
		what  string
		names []string
	}{{"replaced: ", result.Pods}, {"data given up: ", result.Volumes}, {"rotate: ", result.Rotate}} {
		if len(part.names) > 0 {
			fmt.Fprintln(a.err, part.what+printable(strings.Join(part.names, ", "), ""))
		}
	}
}
