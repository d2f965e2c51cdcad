package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
)

func (a *app) addNodeCommand() *cobra.Command {
	var asked api.JoinTokenRequest
	var ttl time.Duration
	var server serverSwitch
	var ingress bool
	command := &cobra.Command{
		Use: "add", Short: "print the command with which a machine joins", Args: server.args(a),
		Long: "Print the command with which a machine joins as a node, or with --server as one more server. Its token is a secret, used\n" +
			"once unless --uses says otherwise: with it a node gets what its pods need, with --ingress also the TLS keys of the hosts\n" +
			"that ingresses declare, and a server gets everything, the keys of the cluster too. `tend nodes tokens` lists tokens.",
		Example: "  tend nodes add\n  tend nodes add --uses 5 --ttl 10m\n  tend nodes add --ingress\n  tend nodes add --node worker-1 --replace\n  tend nodes add --server",
		RunE: a.connected(func(ctx context.Context, c *client.Client, _ []string) error {
			switch {
			case server.wanted() && ingress:
				return errors.New("--server and --ingress: give one of them; the node of a server serves ingresses anyway")
			case server.wanted():
				asked.Role = api.JoinAsServer
			case ingress:
				asked.Role = api.JoinAsIngress
			}
			asked.TTL = ttl.String()
			token, err := c.JoinToken(ctx, asked)
			if err != nil {
				return err
			}
			if a.output != "" && a.output != "table" {
				return (&listing{value: token}).write(a.streams, a.output)
			}
			a.sayJoin(token, ttl)
			return nil
		}),
	}
	flags := command.Flags()
	flags.Var(&server, "server",
		"for a server, which holds the store and answers the API; with a URL the server to talk to, as everywhere")
	flags.Lookup("server").NoOptDefVal = "true"
	flags.BoolVar(&ingress, "ingress", false, "for a node that serves ingresses, and so holds their TLS keys")
	flags.StringVar(&asked.Node, "node", "", "the only `NAME` to join under (default any that is free)")
	flags.BoolVar(&asked.Replace, "replace", false,
		"let the machine take the name of one that is away, which is refused from then on")
	flags.IntVar(&asked.Uses, "uses", 1, "how many machines may join with the token, up to 1000")
	flags.DurationVar(&ttl, "ttl", time.Hour, "how long the token is valid, up to 24h")
	return command
}

// sayJoin prints the command to join with.
func (a *app) sayJoin(token api.JoinToken, ttl time.Duration) {
	machines := "on the machine"
	if token.Uses > 1 {
		machines = fmt.Sprintf("on up to %d machines", token.Uses)
	}
	fmt.Fprintf(a.err, "run this %s, within %s:\n", machines, ttl)
	switch node := ""; {
	case token.Role == api.JoinAsServer && len(token.EtcdEndpoints) > 0:
		fmt.Fprintln(a.err,
			"with --etcd-ca, --etcd-cert, --etcd-key and --etcd-user as the other servers have them, if they do:")
		fmt.Fprintf(a.out, "tend server --join %s --token %s --etcd-endpoints %s%s --node-listen :8688\n",
			token.Address, token.Token, strings.Join(token.EtcdEndpoints, ","), prefixFlag(token.EtcdPrefix))
	case token.Role == api.JoinAsServer:
		fmt.Fprintf(a.out,
			"tend server --join %s --token %s --peer-listen $(hostname -I | cut -d' ' -f1):2380 --node-listen :8688\n",
			token.Address, token.Token)
	default:
		if token.Node != "" {
			node = " --node " + token.Node
		}
		fmt.Fprintf(a.out, "tend agent --join %s --token %s%s\n", token.Address, token.Token, node)
	}
}

func (a *app) tokensCommand() *cobra.Command {
	command := &cobra.Command{
		Use: "tokens", Short: "list the tokens with which machines join, and revoke them", Args: takes(0, 0),
		Long: "List the tokens of `tend nodes add`, the newest first: who made them, as what machines join, and who has. Their secrets are\n" +
			"shown once, where they are made.",
		Example: "  tend nodes tokens\n  tend nodes tokens revoke TOKEN",
		RunE: a.connected(func(ctx context.Context, c *client.Client, _ []string) error {
			tokens, err := c.JoinTokens(ctx)
			if err != nil {
				return err
			}
			l := tokenListing(tokens.Items, time.Now())
			l.value = tokens
			return l.write(a.streams, a.output)
		}),
	}
	command.AddCommand(&cobra.Command{
		Use: "revoke TOKEN", Short: "revoke a token: nothing joins with it any more", Args: takes(1, 1),
		Long:    "Revoke a token: nothing joins with it any more. What has joined with it stays: `tend nodes remove --force` ends that.",
		Example: "  tend nodes tokens revoke TOKEN",
		RunE: a.connected(func(ctx context.Context, c *client.Client, args []string) error {
			if err := c.RevokeJoinToken(ctx, args[0]); err != nil {
				return err
			}
			return a.say(api.JoinTokenInfo{ID: args[0]}, args[0], "nothing joins with "+args[0]+" any more")
		}),
	})
	return command
}

func tokenListing(tokens []api.JoinTokenInfo, now time.Time) listing {
	l := listing{
		header: []string{"TOKEN", "AS", "STATE", "USED BY", "MADE BY"},
		narrow: narrowing{drop: []string{"MADE BY"}}, empty: "no tokens",
	}
	for _, t := range tokens {
		state := "valid for " + t.ExpiresAt.Sub(now).Round(time.Second).String()
		switch {
		case !now.Before(t.ExpiresAt):
			state = "expired"
		case t.Spent(now):
			state = "used"
		}
		as := t.Role
		if t.Node != "" {
			as += " " + t.Node
		}
		l.names = append(l.names, t.ID)
		l.rows = append(l.rows, []string{t.ID, as, state, dash(strings.Join(t.Used, ", ")), dash(t.MadeBy)})
	}
	return l
}
