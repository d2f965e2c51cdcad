package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
)

func (a *app) releasesCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "releases [KIND] SCOPE/NAME",
		Short:   "list what was rolled out, newest first",
		Aliases: []string{"release", "re"},
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.checkOutput(); err != nil {
				return err
			}
			wanted, _, err := parseAddress(args)
			if err != nil {
				return err
			}
			c, err := a.dial()
			if err != nil {
				return err
			}
			ref, err := a.resolve(cmd.Context(), c, wanted)
			if err != nil {
				return err
			}
			releases, err := c.Releases(cmd.Context(), client.TargetOf(ref))
			if err != nil {
				return err
			}
			l := releaseListing(releases.Items, time.Now())
			l.value = releases
			return l.write(a.streams, a.output)
		},
	}
}

func releaseListing(releases []api.ReleaseInfo, now time.Time) listing {
	l := listing{
		header:     []string{"RELEASE", "", "IMAGE", "PODS", "REASON", "AGE"},
		wideHeader: []string{"HASH", "IMAGE ID", "GENERATION"},
		empty:      "no releases yet",
	}
	for _, r := range releases {
		mark := ""
		switch {
		case r.Current:
			mark = "current"
		case r.Good:
			mark = "last good"
		}
		l.names = append(l.names, r.ID)
		l.rows = append(l.rows, []string{r.ID, mark, r.Image, fmt.Sprint(r.Pods), r.Reason, age(r.CreatedAt, now)})
		l.wideRows = append(l.wideRows, []string{r.SpecHash[:min(12, len(r.SpecHash))], r.ImageID, fmt.Sprint(r.Generation)})
	}
	return l
}
