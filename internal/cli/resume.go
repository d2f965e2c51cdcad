package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
)

func (a *app) resumeCommand() *cobra.Command {
	var stop, keep bool
	command := &cobra.Command{
		Use: "resume", Short: "end the pause after an older store was restored", Args: takes(0, 0),
		Long: "End the pause of a server whose store was restored from an older backup. Running containers that fit a pod of the\n" +
			"store take its place. For the others say what becomes of them.",
		Example: "  tend resume\n  tend resume --stop",
		RunE: a.connected(func(ctx context.Context, c *client.Client, _ []string) error {
			var unknown api.UnknownContainers
			switch {
			case stop && keep:
				return errors.New("--stop and --keep exclude each other: choose one")
			case stop:
				unknown = api.UnknownStop
			case keep:
				unknown = api.UnknownKeep
			}
			result, err := c.Resume(ctx, unknown)
			if err != nil {
				return err
			}
			return a.sayResumed(result)
		}),
	}
	command.PreRun = func(*cobra.Command, []string) { a.resumes = true }
	command.Flags().BoolVar(&stop, "stop", false,
		"stop and remove the containers that the store doesn't know; volumes stay")
	command.Flags().BoolVar(&keep, "keep", false, "leave them running, quarantined")
	return command
}

// sayResumed prints what a resume did with the containers that it found.
func (a *app) sayResumed(result api.ResumeResult) error {
	var text strings.Builder
	for _, part := range []struct {
		names []string
		what  string
	}{{result.Adopted, "adopted"}, {result.Stopped, "stopped"}, {result.Unknown, "left running, quarantined"},
		{result.Absent, "nodes that were not connected, and so not compared"}} {
		if len(part.names) > 0 {
			fmt.Fprintf(&text, "%s: %s\n", part.what, printable(strings.Join(part.names, ", "), ""))
		}
	}
	return a.say(result, "resumed", text.String()+"resumed")
}
