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
	command := &cobra.Command{
		Use: "config", Short: "set environment beside the manifest: encrypted, never shown again",
		Long: "Set the environment of every app of a scope, or of one app, beside its manifest. Values are stored encrypted and never\n" +
			"shown again. Apps whose environment changes are rolled; the command does not wait for that.",
		Example: "  tend config set prod LOG_LEVEL=info           # every app of the scope\n" +
			"  tend config set prod/web DATABASE_URL=...     # one app\n" +
			"  tend config set prod/web -f secrets.env       # KEY=VALUE lines; - is stdin\n" +
			"  tend config list prod/web\n  tend config unset prod LOG_LEVEL",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("unknown config command %q: want list, set or unset", args[0])
			}
			return cmd.Help()
		},
	}
	command.AddCommand(a.configListCommand(), a.configSetCommand(), a.configUnsetCommand())
	return command
}

func (a *app) configListCommand() *cobra.Command {
	return &cobra.Command{
		Use: "list SCOPE[/NAME]", Short: "list the keys of a bucket; never their values", Args: takes(1, 1),
		Example: "  tend config list prod/web",
		RunE: a.onBucket(func(ctx context.Context, c *client.Client, b bucket, _ []string) error {
			result, err := c.ConfigKeys(ctx, b.scope, b.name)
			if err != nil {
				return err
			}
			return bucketListing(result).write(a.streams, a.output)
		}),
	}
}

func (a *app) configSetCommand() *cobra.Command {
	var files []string
	command := &cobra.Command{
		Use: "set SCOPE[/NAME] [KEY=VALUE...]", Short: "set keys; apps whose environment changes are rolled", Args: takes(1, 1<<20),
		Example: "  tend config set prod/web DATABASE_URL=...\n  tend config set prod/web -f secrets.env\n  pass prod/db | tend config set prod/web -f -",
	}
	command.RunE = a.onBucket(func(ctx context.Context, c *client.Client, b bucket, pairs []string) error {
		set, err := a.values(files, pairs)
		if err != nil {
			return err
		}
		return a.changeBucket(ctx, c, b, api.ConfigRequest{Set: set})
	})
	command.Flags().StringArrayVarP(&files, "file", "f", nil, "a `FILE` of KEY=VALUE lines, or - for stdin: values stay out of the shell's history (repeatable)")
	return command
}

func (a *app) configUnsetCommand() *cobra.Command {
	return &cobra.Command{
		Use: "unset SCOPE[/NAME] KEY...", Short: "remove keys", Args: takes(2, 1<<20),
		Example: "  tend config unset prod/web DATABASE_URL",
		RunE: a.onBucket(func(ctx context.Context, c *client.Client, b bucket, keys []string) error {
			return a.changeBucket(ctx, c, b, api.ConfigRequest{Unset: keys})
		}),
	}
}

// bucket names config values: a scope's, or one app's.
type bucket struct{ scope, name string }

func (b bucket) String() string {
	if b.name == "" {
		return b.scope
	}
	return b.scope + "/" + b.name
}

func (a *app) onBucket(do func(ctx context.Context, c *client.Client, b bucket, rest []string) error) runner {
	return a.connected(func(ctx context.Context, c *client.Client, args []string) error {
		parts := strings.Split(args[0], "/")
		if len(parts) > 2 || parts[0] == "" || parts[len(parts)-1] == "" {
			return fmt.Errorf("%q is not a bucket: want SCOPE or SCOPE/NAME", args[0])
		}
		b := bucket{scope: parts[0]}
		if len(parts) == 2 {
			b.name = parts[1]
		}
		return do(ctx, c, b, args[1:])
	})
}

func (a *app) changeBucket(ctx context.Context, c *client.Client, b bucket, change api.ConfigRequest) error {
	result, err := c.SetConfig(ctx, b.scope, b.name, change)
	if err != nil {
		return err
	}
	did := fmt.Sprintf("%s: %d set, %d removed, %d keys now", b, len(change.Set), len(change.Unset), len(result.Keys))
	return a.say(result, b.String(), did)
}

func bucketListing(result api.ConfigResult) listing {
	l := listing{value: result, names: result.Keys, header: []string{"KEY"}, empty: "no keys"}
	for _, key := range result.Keys {
		l.rows = append(l.rows, []string{key})
	}
	return l
}
