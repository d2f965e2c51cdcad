package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
)

func (a *app) releasesCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "releases [KIND] SCOPE/NAME",
		Short:             "list what was rolled out, newest first",
		Example:           "  tend releases prod/web\n  tend releases prod/web -o wide",
		Aliases:           []string{"release"},
		Args:              takes(1, 2),
		ValidArgsFunction: a.completeObjects,
		RunE: a.onObject(func(ctx context.Context, c *client.Client, ref api.Ref, rest []string) error {
			if err := tooMuch("releases", rest); err != nil {
				return err
			}
			releases, err := c.Releases(ctx, client.TargetOf(ref))
			if err != nil {
				return err
			}
			l := releaseListing(releases.Items, time.Now())
			l.value = releases
			return l.write(a.streams, a.output)
		}),
	}
}

func releaseListing(releases []api.ReleaseInfo, now time.Time) listing {
	l := listing{
		header:     []string{"RELEASE", "STATE", "IMAGE", "PODS", "REASON", "AGE"},
		wideHeader: []string{"HASH", "IMAGE ID", "GENERATION"},
		empty:      "no releases yet",
	}
	for _, r := range releases {
		l.names = append(l.names, r.ID)
		l.rows = append(l.rows, []string{r.ID, releaseState(r), r.Image, fmt.Sprint(r.Pods), r.Reason, age(r.CreatedAt, now)})
		l.wideRows = append(l.wideRows, []string{r.SpecHash[:min(12, len(r.SpecHash))], dash(r.ImageID), fmt.Sprint(r.Generation)})
	}
	return l
}

func releaseState(r api.ReleaseInfo) string {
	switch {
	case r.Current && r.Good:
		return "current, good"
	case r.Current:
		return "current"
	case r.Good:
		return "last good"
	}
	return "-"
}
