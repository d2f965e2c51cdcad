package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
)

// configCommand sets the environment of a scope or of one app, beside its manifest. Values are stored encrypted and
// never shown again.
func (a *app) configCommand() *cobra.Command {
	command := &cobra.Command{Use: "config", Short: "set environment beside the manifest: encrypted, never shown again"}
	command.AddCommand(
		a.bucketCommand("list SCOPE[/NAME]", "list the keys of a bucket", 1,
			func(ctx context.Context, c *client.Client, scope, name string, _ []string) (api.ConfigResult, error) {
				return c.ConfigKeys(ctx, scope, name)
			}),
		a.bucketCommand("set SCOPE[/NAME] KEY=VALUE...", "set keys; apps whose environment changes are rolled", -1,
			func(ctx context.Context, c *client.Client, scope, name string, args []string) (api.ConfigResult, error) {
				set := map[string]string{}
				for _, pair := range args {
					key, value, ok := strings.Cut(pair, "=")
					if !ok {
						return api.ConfigResult{}, fmt.Errorf("%q: want KEY=VALUE", pair)
					}
					set[key] = value
				}
				return c.SetConfig(ctx, scope, name, api.ConfigRequest{Set: set})
			}),
		a.bucketCommand("unset SCOPE[/NAME] KEY...", "remove keys", -1,
			func(ctx context.Context, c *client.Client, scope, name string, args []string) (api.ConfigResult, error) {
				return c.SetConfig(ctx, scope, name, api.ConfigRequest{Unset: args})
			}),
	)
	return command
}

func (a *app) bucketCommand(use, short string, most int, act func(context.Context, *client.Client, string, string, []string) (api.ConfigResult, error)) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 || most > 0 && len(args) > most || most < 0 && len(args) < 2 {
				return fmt.Errorf("want: tend config %s", use)
			}
			scope, name, _ := strings.Cut(args[0], "/")
			c, err := a.dial()
			if err != nil {
				return err
			}
			result, err := act(cmd.Context(), c, scope, name, args[1:])
			if err != nil {
				return err
			}
			l := listing{value: result, names: result.Keys, header: []string{"KEY"}, empty: "no keys"}
			for _, key := range result.Keys {
				l.rows = append(l.rows, []string{key})
			}
			return l.write(a.streams, a.output)
		},
	}
}
