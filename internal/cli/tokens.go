package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
)

func (a *app) accessTokensCommand() *cobra.Command {
	command := &cobra.Command{
		Use: "tokens", Short: "list the tokens of people and programs, make them, and revoke them", Args: takes(0, 0),
		Long: "List the tokens with which people and programs call the server: who has which role in which scopes, until when, and who made\n" +
			"the token. Their secrets are shown once, where they are made. `tend nodes tokens` lists those with which machines join.",
		Example: "  tend tokens\n  tend tokens add alice --role deployer --scope prod\n  tend tokens revoke alice",
		RunE: a.connected(func(ctx context.Context, c *client.Client, _ []string) error {
			tokens, err := c.Tokens(ctx)
			if err != nil {
				return err
			}
			l := accessListing(tokens.Items, time.Now())
			l.value = tokens
			return l.write(a.streams, a.output)
		}),
	}
	command.AddCommand(a.addTokenCommand(), a.revokeTokenCommand())
	return command
}

func (a *app) addTokenCommand() *cobra.Command {
	var asked api.AccessTokenRequest
	command := &cobra.Command{
		Use: "add NAME", Short: "make a token for a person or a program", Args: takes(1, 1),
		Long: "Make a token for a person or a program, and print it: it is shown this once. A viewer reads; a deployer also applies, deletes,\n" +
			"scales, runs and configures what is in the scopes of the token, and runs commands there; an admin may do everything.",
		Example: "  tend tokens add alice --role deployer --scope prod,staging\n  tend tokens add ci --role deployer --scope shop --ttl 30d\n  tend tokens add bob --role viewer",
		RunE: a.connected(func(ctx context.Context, c *client.Client, args []string) error {
			asked.Name = args[0]
			token, err := c.AddToken(ctx, asked)
			if err != nil {
				return err
			}
			if a.output != "" && a.output != "table" {
				return (&listing{value: token, names: []string{token.Name}}).write(a.streams, a.output)
			}
			a.sayToken(token)
			return nil
		}),
	}
	flags := command.Flags()
	flags.StringVar((*string)(&asked.Role), "role", "", "`ROLE`: admin, deployer or viewer")
	flags.StringSliceVar(&asked.Scopes, "scope", nil,
		"`SCOPES` that the token is limited to, with commas between (default all)")
	flags.StringVar(&asked.TTL, "ttl", "90d", "`TIME` until the token expires, in days or as in 12h, up to 366d")
	_ = command.MarkFlagRequired("role")
	_ = command.RegisterFlagCompletionFunc("role",
		cobra.FixedCompletions([]string{"admin", "deployer", "viewer"}, cobra.ShellCompDirectiveNoFileComp))
	return command
}

// sayToken prints a new token, and how to use it.
func (a *app) sayToken(token api.AccessToken) {
	fmt.Fprintf(a.err, "%s is %s until %s; give %s this token as TEND_TOKEN, to use %s:\n",
		token.Name, rightsText(token.AccessTokenInfo), token.ExpiresAt.Format(time.RFC3339), token.Name, whereUsed(token))
	fmt.Fprintln(a.out, token.Token)
}

// whereUsed says at which of the server's listeners a new token is used.
func whereUsed(token api.AccessToken) string {
	const others = "other machines need tend server --listen"
	switch {
	case token.Server != "":
		return "with TEND_SERVER=" + token.Server
	case token.Local != "":
		return "on the server's machine with TEND_SERVER=" + token.Local + " (" + others + ")"
	}
	return "once the server has a listener for it: this one was started with --http off; start it with " +
		"--http 127.0.0.1:8686 for programs on its machine (" + others + ")"
}

// rightsText returns a role and its scopes.
func rightsText(t api.AccessTokenInfo) string {
	if len(t.Scopes) == 0 {
		return string(t.Role)
	}
	return string(t.Role) + " of " + strings.Join(t.Scopes, ", ")
}

func (a *app) revokeTokenCommand() *cobra.Command {
	return &cobra.Command{
		Use: "revoke NAME", Short: "revoke a token: it counts no more, and what is open with it ends", Args: takes(1, 1),
		Long:    "Revoke a token: it counts no more, and watches, logs and commands that are open with it end at once.",
		Example: "  tend tokens revoke alice",
		RunE: a.connected(func(ctx context.Context, c *client.Client, args []string) error {
			ended, err := c.RevokeToken(ctx, args[0])
			if err != nil {
				return err
			}
			return a.say(ended, ended.Name, "the token "+ended.Name+" ("+rightsText(ended)+") is revoked")
		}),
	}
}

func accessListing(tokens []api.AccessTokenInfo, now time.Time) listing {
	l := listing{
		header: []string{"NAME", "ROLE", "SCOPES", "STATE", "MADE BY"}, wideHeader: []string{"MADE AT", "EXPIRES"},
		narrow: narrowing{drop: []string{"MADE BY"}}, empty: "no tokens",
	}
	for _, t := range tokens {
		state := "expired"
		switch left := t.ExpiresAt.Sub(now); {
		case t.FormerAuthority && left > 0:
			state = "names a former authority: make another"
		case left > 48*time.Hour:
			state = fmt.Sprintf("valid for %dd", left/(24*time.Hour))
		case left > 0:
			state = "valid for " + left.Round(time.Second).String()
		}
		scopes := strings.Join(t.Scopes, ",")
		scopes = cmp.Or(scopes, "all")
		l.names = append(l.names, t.Name)
		l.rows = append(l.rows, []string{t.Name, string(t.Role), scopes, state, dash(t.MadeBy)})
		l.wideRows = append(l.wideRows, []string{t.MadeAt.Format(time.RFC3339), t.ExpiresAt.Format(time.RFC3339)})
	}
	return l
}
