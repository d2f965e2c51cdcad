package verbs

import (
	"context"
	"fmt"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control/verb"
	"tend.dev/tend/internal/core/access"
)

type rollbackInput struct {
	Release        string `query:"release"`
	WithConfig     bool   `query:"with_config" flag:"with-config" help:"return to the config values of the release too"`
	DryRun         bool   `query:"dry_run" flag:"dry-run" help:"show what would happen; change nothing"`
	ForceConflicts bool   `query:"force_conflicts" flag:"force-conflicts" help:"take over fields that another manager set to another value"`
}

var _ = Declare(verb.Verb{
	Name: "rollback", Summary: "Return to an earlier release", Rule: access.Deployers("rollback"),
	Commands: []verb.Command{{
		Path: "rollback", Use: "[KIND] SCOPE/NAME [RELEASE]",
		Short: "return to an earlier release: spec and image; not replicas, and config on request",
		Long: "Return to an earlier release: its spec and image, not its replicas. Without RELEASE it is the newest good one before\n" +
			"the current. `tend releases` lists them.\n\n" +
			"Config stays as it is today: a rotated password stays rotated. --with-config returns to the values the release ran with,\n" +
			"until one is set again. The output names the keys that changed since, either way.\n\n" +
			"Of an application instance it is the spec, not suspend. What its values name in the cluster stays as it is today.",
		Example: "  tend rollback prod/web\n  tend rollback prod/web v3 --dry-run\n  tend rollback prod/web v3 --with-config\n" +
			"  tend rollback appinst prod/cloud",
		Rest: 1, Waits: true, Says: verb.Says(rolledBack),
		Read: verb.Reads(func(_ string, rest []string, in *rollbackInput) error {
			in.Release = strings.Join(rest, "")
			return nil
		}),
	}},
}, func(ctx context.Context, s *Service, r Request[rollbackInput]) (api.VerbResult, error) {
	return s.Rollback(ctx, r.Target, RollbackOptions{
		Release: r.In.Release, WithConfig: r.In.WithConfig, DryRun: r.In.DryRun,
		FieldManager: FieldManager{Actor: r.Actor, ForceConflicts: r.In.ForceConflicts},
	})
})

// rolledBack describes what a rollback does, also to config.
func rolledBack(ref api.Ref, _ rollbackInput, result api.VerbResult) string {
	doing := "rolling back to"
	if result.DryRun {
		doing = "would roll back to"
	}
	if !result.Changed && !result.DryRun {
		return fmt.Sprintf("%s is back on %s already; nothing was changed", ref, result.Release)
	}
	lines := []string{fmt.Sprintf("%s %s %s", ref, doing, result.Release)}
	if result.Unreleased != "" {
		lines[0] += ": no release has image " + result.Unreleased
	}
	switch since := result.Config.String(); {
	case since == "" && result.WithConfig:
		lines = append(lines, fmt.Sprintf("  config is as it was with %s", result.Release))
	case since == "":
	case result.WithConfig:
		lines = append(lines, fmt.Sprintf("  with the config of %s, until a key is set; changed since: %s",
			result.Release, since))
	default:
		lines = append(lines, fmt.Sprintf(
			"  config stays as it is today; changed since %s: %s (--with-config returns to it)",
			result.Release, since))
	}
	if !result.DryRun {
		lines = append(lines, "  your manifest still describes the release that you leave, and the next apply brings it back: "+
			"change it first (tend diff)")
	}
	return strings.Join(lines, "\n")
}
