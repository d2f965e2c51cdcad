package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
)

func (a *app) approveCommand() *cobra.Command {
	var opts client.ApproveOptions
	var yes bool
	command := &cobra.Command{
		Use: "approve SCOPE/NAME", Short: "approve an operation of a Kubernetes cluster, or deny it", Args: takes(1, 2), ValidArgsFunction: a.completeObjects,
		Long: "Show an operation that waits for it, and approve it: it starts when nothing else is in its way. The approval is valid for the\n" +
			"one operation, with the parameters that are shown. Who approved it, and why, is in the audit. With --deny it is cancelled instead.",
		Example: "  tend approve prod/restore-web --reason 'tested in staging'\n  tend approve prod/restore-web --deny --reason 'not on a Friday'",
		RunE: a.addressed(func(ctx context.Context, c *client.Client, wanted address, rest []string) error {
			switch {
			case wanted.pod != "" || wanted.kind != "" && wanted.kind != api.KindOperation:
				return fmt.Errorf("%s is not an operation: name one as SCOPE/NAME", wanted)
			case len(rest) > 0:
				return tooMuch("approve", rest)
			}
			wanted.kind = api.KindOperation
			ref, err := resolve(ctx, c, wanted)
			if err != nil {
				return err
			}
			if !opts.Deny {
				if err := a.show(ctx, c, ref, yes, &opts); err != nil {
					return err
				}
			}
			result, err := c.Approve(ctx, client.Target{Kind: ref.Kind, Scope: ref.Scope, Name: ref.Name}, opts)
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
	flags.DurationVar(&opts.Valid, "valid", 24*time.Hour,
		"how long the approval is valid if the operation does not start before, up to 744h")
	flags.BoolVar(&opts.Deny, "deny", false, "cancel the operation")
	flags.BoolVarP(&yes, "yes", "y", false, "don't ask")
	return command
}

// show writes what an operation is about to do, asks whether to approve it, and binds the approval to what was written.
func (a *app) show(ctx context.Context, c *client.Client, ref api.Ref, yes bool, opts *client.ApproveOptions) error {
	object, err := c.Object(ctx, ref)
	if err != nil {
		return err
	}
	spec, err := api.DecodeSpec[api.OperationSpec](object)
	if err != nil {
		return err
	}
	w := plain{a.err}
	w.printf("%s, generation %d: %s by %s of %s in cluster %s\n", ref, object.Metadata.Generation, spec.Type, spec.Engine, spec.TargetRef.Name, spec.Cluster)
	if policy := spec.Policy; policy != nil && policy.RequireReady != nil {
		w.printf("policy.requireReady: %t\n", *policy.RequireReady) // not indented: no parameter can look like it
	}
	for _, name := range slices.Sorted(maps.Keys(spec.Parameters)) {
		value, err := json.Marshal(spec.Parameters[name])
		if err != nil {
			return fmt.Errorf("read the parameter %s: %w", name, err)
		}
		w.printf("  %s: %s\n", name, string(value))
	}
	opts.UID, opts.Generation = object.Metadata.UID, object.Metadata.Generation
	return a.confirm(yes, "This approves it.")
}
