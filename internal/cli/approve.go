package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
)

func (a *app) approveCommand() *cobra.Command {
	var opts client.ApproveOptions
	command := &cobra.Command{
		Use: "approve SCOPE/NAME", Short: "approve an operation of a Kubernetes cluster, or deny it", Args: takes(1, 2), ValidArgsFunction: a.completeObjects,
		Long: "Approve an operation that waits for it: it starts when nothing else is in its way. The approval is valid for the one\n" +
			"operation, with the parameters that it has. Who approved it, and why, is in the audit. With --deny it is cancelled instead.",
		Example: "  tend approve prod/restore-web --reason 'tested in staging'\n  tend approve prod/restore-web --deny --reason 'not on a Friday'",
		RunE: a.addressed(func(ctx context.Context, c *client.Client, wanted address, rest []string) error {
			switch {
			case wanted.pod != "" || wanted.kind != "" && wanted.kind != api.KindOperation:
				return fmt.Errorf("%s is not an operation: name one as SCOPE/NAME", wanted)
			case len(rest) > 0:
				return tooMuch("approve", rest)
			}
			result, err := c.Approve(ctx, client.Target{Kind: api.KindOperation, Scope: wanted.scope, Name: wanted.name}, opts)
			if err != nil {
				return err
			}
			sentence := fmt.Sprintf("%s: approved, valid for %s", result.Object, opts.Valid)
			if opts.Deny {
				sentence = fmt.Sprintf("%s: denied, it is cancelled", result.Object)
			}
			return a.say(result, result.Object.String(), sentence)
		}),
	}
	flags := command.Flags()
	flags.StringVar(&opts.Reason, "reason", "", "why, for the audit")
	flags.DurationVar(&opts.Valid, "valid", 24*time.Hour, "how long the approval is valid if the operation does not start before, up to 744h")
	flags.BoolVar(&opts.Deny, "deny", false, "cancel the operation")
	return command
}
