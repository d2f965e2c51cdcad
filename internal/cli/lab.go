package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
)

func (a *app) labCommand() *cobra.Command {
	command := &cobra.Command{
		Use: "lab", Short: "give a lab more time, or end it early",
		Long: "Give a lab, or every lab of a class, more time, or end it before its time is over. Both are recorded beside the\n" +
			"manifest: applying it again takes nothing back.",
	}
	command.AddCommand(a.labExtendCommand(), a.labStopCommand())
	return command
}

func (a *app) labExtendCommand() *cobra.Command {
	return &cobra.Command{
		Use: "extend SCOPE/NAME DURATION", Short: "give a lab, or the labs of a class, more time", Args: takes(2, 3),
		ValidArgsFunction: a.completeObjects,
		Long:              "Add time to a lab, or to each lab of a class that has not ended. The whole time of a lab is at most 720h.",
		Example:           "  tend lab extend school/linux-7 30m\n  tend lab extend school/linux 1h",
		RunE: a.addressed(func(ctx context.Context, c *client.Client, wanted address, rest []string) error {
			target, err := labOf(wanted)
			if err != nil {
				return err
			}
			if len(rest) != 1 {
				return fmt.Errorf("say how much more: tend lab extend %s 30m", wanted)
			}
			more, err := time.ParseDuration(rest[0])
			if err != nil {
				return fmt.Errorf("%q is not a duration such as 30m or 1h30m", rest[0])
			}
			result, err := client.Repeat(ctx, unknownPatience, func(ctx context.Context) (api.LabResult, error) {
				return c.ExtendLabs(ctx, target, more)
			})
			if err != nil {
				return err
			}
			return a.sayLabs(result, func(changed api.LabChanged) string {
				if changed.EndsAt.IsZero() {
					return fmt.Sprintf("%s: %s more, %s in all", changed.Lab, more, changed.Extended)
				}
				return fmt.Sprintf("%s: %s more, ends at %s", changed.Lab, more, changed.EndsAt.Local().Format(time.RFC3339))
			})
		}),
	}
}

func (a *app) labStopCommand() *cobra.Command {
	return &cobra.Command{
		Use: "stop SCOPE/NAME", Short: "end a lab, or the labs of a class, before their time is over", Args: takes(1, 2),
		ValidArgsFunction: a.completeObjects,
		Long: "End a lab, or each lab of a class that has begun. It is COMPLETED, and nothing of it is left. One that has not begun\n" +
			"is deleted instead: tend delete.",
		Example: "  tend lab stop school/linux-7\n  tend lab stop school/linux",
		RunE: a.addressed(func(ctx context.Context, c *client.Client, wanted address, rest []string) error {
			target, err := labOf(wanted)
			if err != nil {
				return err
			}
			if len(rest) > 0 {
				return tooMuch("lab stop", rest)
			}
			result, err := c.StopLabs(ctx, target)
			if err != nil {
				return err
			}
			return a.sayLabs(result, func(changed api.LabChanged) string { return changed.Lab.String() + ": stopped" })
		}),
	}
}

// labOf returns the target of a command about a lab or a class of labs.
func labOf(wanted address) (client.Target, error) {
	if wanted.pod != "" || wanted.kind != "" && wanted.kind != api.KindLab {
		return client.Target{}, fmt.Errorf("%s is not a lab: name one, or a class, as SCOPE/NAME", wanted)
	}
	return client.Target{Kind: api.KindLab, Scope: wanted.scope, Name: wanted.name}, nil
}

func (a *app) sayLabs(result api.LabResult, sentence func(api.LabChanged) string) error {
	if a.structured() {
		return listing{value: result}.write(a.streams, a.output)
	}
	for _, changed := range result.Labs {
		if err := a.say(result, changed.Lab.String(), sentence(changed)); err != nil {
			return err
		}
	}
	return nil
}
