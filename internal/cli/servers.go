package cli

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
)

func (a *app) serversCommand() *cobra.Command {
	command := &cobra.Command{
		Use: "servers", Short: "list the servers that hold the store, and remove them", Args: takes(0, 0),
		Long: "List the servers of the cluster: each has a copy of the store and answers the API, and one of them leads: its controllers\n" +
			"run. More than half of those that vote must be up for anything to be written; one that joins is a learner, and counts for\n" +
			"nothing until it votes. LAG counts the revisions of the store that another server has and this one doesn't. `tend nodes add\n" +
			"--server` prints the command that adds one.",
		Example: "  tend servers\n  tend servers -o wide\n  tend servers remove tend-2",
		RunE: a.connected(func(ctx context.Context, c *client.Client, _ []string) error {
			servers, err := c.Servers(ctx)
			if err != nil {
				return err
			}
			return a.printServers(servers)
		}),
	}
	command.AddCommand(a.removeServerCommand())
	return command
}

func (a *app) removeServerCommand() *cobra.Command {
	return &cobra.Command{
		Use: "remove SERVER", Short: "take a server out of the cluster", Args: takes(1, 1),
		Long: "Take a server out of the cluster, whether it is up or lost for good. What is written from now on is not written there, and\n" +
			"its process ends. To have it join again, empty its --root first. Its containers belong to its node, which stays in the\n" +
			"cluster: tend agent --join with the same --root goes on with it (tend nodes add prints the command); or tend drain and tend\n" +
			"nodes remove it.",
		Example: "  tend servers remove tend-2",
		RunE: a.connected(func(ctx context.Context, c *client.Client, args []string) error {
			left, err := c.RemoveServer(ctx, args[0])
			if err != nil {
				return err
			}
			fmt.Fprintln(a.err,
				"Its disk has the cluster's keys: erase it, or, if others may have it, rotate them (tend keys rotate secrets, nodes, servers).")
			return a.say(left, args[0], args[0]+" is removed")
		}),
	}
}

func (a *app) printServers(servers api.Servers) error {
	l := serverListing(servers.Items, time.Now())
	l.value = servers
	if err := l.write(a.streams, a.output); err != nil {
		return err
	}
	if servers.Quorum != "" {
		fmt.Fprintf(a.err, "warning: nothing can be written: %s\n", printable(servers.Quorum, ""))
	}
	if servers.Quorum == "" && pairAlone(servers.Items) {
		fmt.Fprintf(a.err, "warning: two servers are worse than one: if either is lost, nothing can be written%s\n",
			nextLine("  ", "tend nodes add --server prints the command that adds a third"))
	}
	return nil
}

// pairAlone reports whether two servers vote and no other one is about to.
func pairAlone(servers []api.Server) bool {
	return len(servers) == 2 &&
		!slices.ContainsFunc(servers, func(s api.Server) bool { return s.Vote != api.VotesAsServer })
}

// serverAddress returns the address at which agents reach a server; of one that is down, the machine of its store.
func serverAddress(s api.Server) string {
	if at, err := url.Parse(s.Store); s.Address == "" && err == nil {
		return at.Hostname()
	}
	return s.Address
}

func serverListing(servers []api.Server, now time.Time) listing {
	l := listing{
		empty:      "no servers",
		header:     []string{"SERVER", "STATE", "LEADS", "VOTE", "LAG", "ADDRESS", "AGE"},
		wideHeader: []string{"STORE", "VERSION"},
		narrow:     narrowing{drop: []string{"AGE", "ADDRESS", "LAG", "LEADS"}},
	}
	for _, s := range servers {
		leads, lag := "", ""
		if s.Leads {
			leads = "yes"
		}
		if s.Lag != nil {
			lag = strconv.FormatInt(*s.Lag, 10)
		}
		l.names = append(l.names, s.Name)
		l.rows = append(l.rows, []string{s.Name, string(s.State), dash(leads), dash(string(s.Vote)), dash(lag),
			dash(serverAddress(s)), age(s.Since, now)})
		l.wideRows = append(l.wideRows, []string{dash(s.Store), dash(s.Version)})
	}
	return l
}
