package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
)

func (a *app) rollbackCommand() *cobra.Command {
	var force, withConfig, dryRun bool
	command := forcing(a.verb(verb{
		use:   "rollback [KIND] SCOPE/NAME [RELEASE]",
		short: "return to an earlier release: spec and image; not replicas, and config on request", extra: 1,
		long: "Return to an earlier release: its spec and image, not its replicas. Without RELEASE it is the newest good one before\n" +
			"the current. `tend releases` lists them.\n\n" +
			"Config stays as it is today: a rotated password stays rotated. --with-config returns to the values the release ran with,\n" +
			"until one is set again. The output names the keys that changed since, either way." + exitStatusOfVerbs,
		example: "  tend rollback prod/web\n  tend rollback prod/web v3 --dry-run\n  tend rollback prod/web v3 --with-config",
		act: func(ctx context.Context, c *client.Client, ref api.Ref, rest []string) (api.VerbResult, string, error) {
			options := optionsOf(force)
			if withConfig {
				options = append(options, client.WithConfig)
			}
			if dryRun {
				options = append(options, client.DryRun)
			}
			result, err := c.Rollback(ctx, client.TargetOf(ref), strings.Join(rest, ""), options...)
			return result, a.rollbackText(ref, result), err
		},
	}), &force)
	command.Flags().BoolVar(&withConfig, "with-config", false, "return to the config values of the release too")
	command.Flags().BoolVar(&dryRun, "dry-run", false, "show what would happen; change nothing")
	return command
}

// rollbackText says what a rollback does, and what it does about config.
func (a *app) rollbackText(ref api.Ref, result api.VerbResult) string {
	doing := "rolling back to"
	if result.DryRun {
		doing = "would roll back to"
	}
	lines := []string{fmt.Sprintf("%s %s %s", ref, doing, result.Release)}
	switch since := result.Config.String(); {
	case since == "" && result.WithConfig:
		lines = append(lines, fmt.Sprintf("  config is as it was with %s", result.Release))
	case since == "":
	case result.WithConfig:
		lines = append(lines, fmt.Sprintf("  with the config of %s, until a key is set; changed since: %s",
			result.Release, since))
	default:
		lines = append(lines, fmt.Sprintf("  config stays as it is today; changed since %s: %s (--with-config returns to it)",
			result.Release, since))
	}
	if !result.DryRun {
		lines = append(lines, "  the manifest file still has what you return from: correct it before the next",
			"  apply; tend diff shows what that would change")
	}
	p := paintFor(a.out)
	for _, action := range result.Plan {
		lines = append(lines, p.action(action))
	}
	return strings.Join(lines, "\n")
}
