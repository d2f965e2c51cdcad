package cli

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
)

// runner is the RunE of a command.
type runner = func(cmd *cobra.Command, args []string) error

// dial returns a client for the server that the flags, the environment or the machine name.
func (a *app) dial() (*client.Client, error) {
	options := client.Discover(func(name string) string {
		switch {
		case name == "TEND_SERVER" && a.server != "":
			return a.server
		case name == "TEND_TOKEN" && a.token != "":
			return a.token
		}
		return os.Getenv(name)
	})
	if a.server != "" {
		options.ServerFrom = "--server"
	}
	if a.token != "" {
		if options.TokenFrom = "--token"; !strings.HasPrefix(options.Server, "http") {
			return nil, fmt.Errorf("--token says nothing to %s: a user of the socket may do everything there\n"+
				"  name the server by a URL, as in --server http://127.0.0.1:8686", options.Server)
		}
	}
	var once, stale sync.Once
	options.OnPaused = func(reason string) {
		once.Do(func() {
			if a.resumes {
				return
			}
			fmt.Fprintf(a.err, "warning: the server is paused, nothing is changed: %s\n"+
				"  Objects and pods are shown as the backup has them, not compared with the machines%s\n",
				printable(reason, "\n"), nextLine("  ", "tend resume"))
		})
	}
	options.OnStale = func(reason string) {
		stale.Do(func() {
			fmt.Fprintf(a.err, "warning: this may not be the newest: %s%s\n", printable(reason, "\n"),
				nextLine("  ", "tend servers"))
		})
	}
	return client.New(options)
}

// connected returns the skeleton of every command that calls a server.
func (a *app) connected(do func(ctx context.Context, c *client.Client, args []string) error) runner {
	return func(cmd *cobra.Command, args []string) error {
		c, err := a.dial()
		if err != nil {
			return err
		}
		defer c.Close()
		if a.token == "" && os.Getenv("TEND_TOKEN") != "" && !strings.HasPrefix(c.Server(), "http") {
			fmt.Fprintf(a.err, "note: TEND_TOKEN is not used at %s: a user of the socket may do everything there\n", c.Server())
		}
		return do(cmd.Context(), c, args)
	}
}

// addressed returns the skeleton of every command that begins with an address; rest follows it.
func (a *app) addressed(do func(ctx context.Context, c *client.Client, wanted address, rest []string) error) runner {
	return func(cmd *cobra.Command, args []string) error {
		wanted, rest, err := parseAddress(args)
		if err != nil {
			return err
		}
		return a.connected(func(ctx context.Context, c *client.Client, _ []string) error {
			spelt, there, err := spelled(ctx, c, wanted)
			switch {
			case err != nil:
				return err
			case !there:
				return unlessClass(ctx, c, wanted, missing(ctx, c, wanted))
			}
			return do(ctx, c, spelt, rest)
		})(cmd, args)
	}
}

// onObject returns the skeleton of every command about one object.
func (a *app) onObject(do func(ctx context.Context, c *client.Client, ref api.Ref, rest []string) error) runner {
	return a.addressed(func(ctx context.Context, c *client.Client, wanted address, rest []string) error {
		ref, err := resolve(ctx, c, wanted)
		if err != nil {
			return err
		}
		return do(ctx, c, ref, rest)
	})
}

// takes returns a check of the number of arguments. Its error shows how to use the command.
func takes(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return fmt.Errorf("something is missing: want %s\n  `%s --help` has examples", cmd.UseLine(), cmd.CommandPath())
		case len(args) > most && cmd.HasAvailableSubCommands():
			return unknownSubcommand(cmd, args[most])
		case len(args) > most:
			return fmt.Errorf("%q is one argument too many: want %s\n  `%s --help` has examples", args[most],
				cmd.UseLine(), cmd.CommandPath())
		}
		return nil
	}
}

// tooMuch refuses surplus arguments.
func tooMuch(cmd string, rest []string) error {
	if len(rest) == 0 {
		return nil
	}
	return fmt.Errorf("%q is one argument too many: an object is named as KIND SCOPE/NAME or SCOPE/NAME\n  `tend %s --help` has examples", rest[0], cmd)
}
