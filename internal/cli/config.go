package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
)

// configCommand sets the environment of a scope or of one app, in addition to its manifest. Values are stored
// encrypted; a value is shown only if it is requested by its key.
func (a *app) configCommand() *cobra.Command {
	command := &cobra.Command{
		Use: "config", Short: "set environment beside the manifest, stored encrypted",
		Long: "Set the environment of every app of a scope, or of one app, beside its manifest. Values are stored encrypted; `get` with\n" +
			"a key shows one, and the server logs who asked. Nothing else ever shows a value.",
		Example: "  tend config set prod LOG_LEVEL=info           # every app of the scope\n" +
			"  tend config set prod/web DATABASE_URL=...     # one app\n" +
			"  tend config set prod/web TLS_KEY=@key.pem     # a file's content; KEY=- is stdin\n" +
			"  tend config import prod/web secrets.env       # KEY=VALUE lines; - is stdin\n" +
			"  tend config list prod/web\n  tend config get prod/web DATABASE_URL\n  tend config unset prod LOG_LEVEL",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cmd.Help()
		},
	}
	command.AddCommand(a.configListCommand(), a.configGetCommand(), a.configSetCommand(), a.configUnsetCommand(),
		a.configImportCommand())
	return command
}

func (a *app) configListCommand() *cobra.Command {
	return &cobra.Command{
		Use: "list SCOPE[/NAME]", Short: "list the keys of a bucket, without values", Args: takes(1, 1),
		Long:    "List the keys of a bucket, without values. For a scope it also names the apps that have keys of their own.",
		Example: "  tend config list prod/web\n  tend config list prod",
		RunE: a.onBucket(func(ctx context.Context, c *client.Client, b bucket, _ []string) error {
			return a.listBucket(ctx, c, b)
		}),
	}
}

func (a *app) listBucket(ctx context.Context, c *client.Client, b bucket) error {
	result, err := c.ConfigKeys(ctx, b.scope, b.name)
	if err != nil {
		return err
	}
	if err := bucketListing(result).write(a.streams, a.output); err != nil || len(result.Apps) == 0 ||
		a.structured() || a.output == "name" {
		return err
	}
	_, err = fmt.Fprintf(a.err, "apps of %s with keys of their own: %s\n", b.scope, strings.Join(result.Apps, " "))
	return err
}

func (a *app) configGetCommand() *cobra.Command {
	return &cobra.Command{
		Use: "get SCOPE[/NAME] [KEY]", Short: "show the value of a key, or list the keys", Args: takes(1, 2),
		Long: "Show the value of one key as it is stored, with a line end behind it where it has none. The server logs who asked for\n" +
			"which key. Without a key the keys are listed, and no value is shown.",
		Example: "  tend config get prod/web DATABASE_URL\n  tend config get prod/web TLS_KEY > key.pem",
		RunE: a.onBucket(func(ctx context.Context, c *client.Client, b bucket, rest []string) error {
			if len(rest) == 0 {
				return a.listBucket(ctx, c, b)
			}
			value, err := c.ConfigValue(ctx, b.scope, b.name, rest[0])
			if err != nil {
				return err
			}
			if a.structured() {
				return listing{value: api.ConfigResult{Scope: b.scope, Name: b.name, Keys: rest, Value: &value}}.write(a.streams,
					a.output)
			}
			if !strings.HasSuffix(value, "\n") {
				value += "\n"
			}
			_, err = fmt.Fprint(a.out, value)
			return err
		}),
	}
}

func (a *app) configSetCommand() *cobra.Command {
	var files []string
	return a.configChange(&cobra.Command{
		Use: "set SCOPE[/NAME] [KEY=VALUE...]", Short: "set keys and wait until what they change runs", Args: takes(1, 1<<20),
		Long: "Set keys. A value may hold line ends. KEY=@FILE takes a file's content and KEY=- stdin's, without one final line end;\n" +
			"on a terminal it asks for one line and does not show it. KEY=@@x is the text @x. What is set to the value it has already is left as it is." + configWaits,
		Example: "  tend config set prod/web DATABASE_URL=...\n  pass prod/db | tend config set prod/web DB_PASSWORD=-\n" +
			"  tend config set prod/web -f secrets.env --no-restart",
	}, &files, func(ctx context.Context, files, pairs []string) (api.ConfigRequest, error) {
		set, err := a.values(ctx, files, pairs)
		return api.ConfigRequest{Set: set}, err
	})
}

func (a *app) configUnsetCommand() *cobra.Command {
	return a.configChange(&cobra.Command{
		Use: "unset SCOPE[/NAME] KEY...", Short: "remove keys and wait until what they change runs", Args: takes(2, 1<<20),
		Long:    "Remove keys. If one doesn't exist, it is an error and none is removed." + configWaits,
		Example: "  tend config unset prod/web DATABASE_URL",
	}, nil, func(_ context.Context, _, keys []string) (api.ConfigRequest, error) {
		return api.ConfigRequest{Unset: keys}, nil
	})
}

func (a *app) configImportCommand() *cobra.Command {
	return a.configChange(&cobra.Command{
		Use:   "import SCOPE[/NAME] FILE",
		Short: "set the keys of a .env file, and say which are new or differ", Args: takes(2, 2),
		Long: "Set the keys of a file of KEY=VALUE lines, - being stdin. Empty lines and those that begin with # are passed over, an\n" +
			"`export ` too. Spaces and one pair of quotes around a value are dropped; between quotes it may go on over several lines.\n" +
			"Nothing is replaced or escaped. Keys that the file leaves out stay." + configWaits,
		Example: "  tend config import prod/web .env\n  sops -d secrets.env | tend config import prod -",
	}, nil, func(ctx context.Context, _, args []string) (api.ConfigRequest, error) {
		set, err := a.values(ctx, args, nil)
		return api.ConfigRequest{Set: set}, err
	})
}

// bucket names config values: a scope's, or one app's.
type bucket struct{ scope, name string }

func (b bucket) String() string {
	if b.name == "" {
		return b.scope
	}
	return b.scope + "/" + b.name
}

func bucketOf(result api.ConfigResult) bucket { return bucket{scope: result.Scope, name: result.Name} }

func (a *app) onBucket(do func(ctx context.Context, c *client.Client, b bucket, rest []string) error) runner {
	return a.connected(func(ctx context.Context, c *client.Client, args []string) error {
		if key, _, pair := strings.Cut(args[0], "="); pair {
			return fmt.Errorf("want SCOPE or SCOPE/NAME before KEY=VALUE, as in prod/web %s=…", key)
		}
		b, is := parseBucket(args[0])
		if !is {
			return fmt.Errorf("%q is not a bucket: want SCOPE or SCOPE/NAME", args[0])
		}
		return do(ctx, c, b, args[1:])
	})
}

// parseBucket reads SCOPE, SCOPE/NAME, or KIND/SCOPE/NAME of an object. Two parts are never KIND/NAME: config is often
// set before there is an object, and must not end up with another one.
func parseBucket(text string) (b bucket, is bool) {
	parts := strings.Split(text, "/")
	if len(parts) == 3 {
		if _, err := parseKind(parts[0]); err != nil {
			return bucket{}, false
		}
		parts = parts[1:]
	}
	b.scope, b.name, _ = strings.Cut(strings.Join(parts, "/"), "/")
	return b, len(parts) <= 2 && !slices.Contains(parts, "")
}

func bucketListing(result api.ConfigResult) listing {
	l := listing{value: result, names: result.Keys, header: []string{"KEY"}, empty: "no keys in " + bucketOf(result).String()}
	for _, key := range result.Keys {
		l.rows = append(l.rows, []string{key})
	}
	return l
}
