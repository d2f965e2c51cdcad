package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
)

func (a *app) releasesCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "releases [KIND] SCOPE/NAME",
		Short: "list what was rolled out, newest first",
		Long: "List the releases that are kept, newest first: whether each is current, good or failed, what it changed against the one\n" +
			"before, and the command and user it came from. -o json has every field that changed and the whole cause of a failure.",
		Example:           "  tend releases prod/web\n  tend releases prod/web -o wide\n  tend releases appinst prod/cloud",
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
	command.AddCommand(a.releaseRunCommand())
	return command
}

func (a *app) releaseRunCommand() *cobra.Command {
	var ask running
	command := &cobra.Command{
		Use:   "run [KIND] SCOPE/NAME",
		Short: "run the release command of what is in force again, and show its output; exits with its code",
		Long: "Run release.command of the release in force again, in a container of its own, and show what it writes. No pod is\n" +
			"touched. A command that failed before its release came into force is tried again by `tend restart`.",
		Example:           "  tend releases run prod/web",
		Args:              takes(1, 2),
		ValidArgsFunction: a.completeObjects,
	}
	command.RunE = a.onObject(func(ctx context.Context, c *client.Client, ref api.Ref, rest []string) error {
		if err := tooMuch("releases run", rest); err != nil {
			return err
		}
		result, err := client.Repeat(ctx, unknownPatience, func(ctx context.Context) (api.RunResult, error) {
			return c.RunRelease(ctx, client.TargetOf(ref))
		})
		if err != nil {
			return err
		}
		return a.showRun(ctx, c, result, ask)
	})
	ask.declare(command)
	return command
}

func releaseListing(releases []api.ReleaseInfo, now time.Time) listing {
	l := listing{
		header:     []string{"RELEASE", "STATE", "IMAGE", "LIVE", "CHANGED", "BY", "AGE"},
		wideHeader: []string{"REASON", "HASH", "IMAGE ID", "GENERATION"},
		empty:      "no releases yet",
		narrow:     narrowing{drop: []string{"BY", "AGE", "LIVE", "COMMANDS", "IMAGE"}, cut: []string{"STATE", "CHANGED"}},
	}
	if len(releases) > 0 && releases[0].Kind.HasVersions() {
		return versionListing(releases, now)
	}
	commands := slices.ContainsFunc(releases, func(r api.ReleaseInfo) bool { return len(r.Runs) > 0 })
	if commands {
		l.header = slices.Insert(l.header, 4, "COMMANDS")
	}
	for _, r := range releases {
		row := []string{r.ID, releaseState(r, releases), r.Image, fmt.Sprint(r.Pods), releaseChanged(r), releaseBy(r),
			age(r.CreatedAt, now)}
		if commands {
			row = slices.Insert(row, 4, dash(commandsOf(r)))
		}
		l.names = append(l.names, r.ID)
		l.rows = append(l.rows, row)
		l.wideRows = append(l.wideRows,
			[]string{r.Reason, r.SpecHash[:min(12, len(r.SpecHash))], dash(r.ImageID), fmt.Sprint(r.Generation)})
	}
	return l
}

// versionListing lists the releases of an application instance, whose pods are its cluster's.
func versionListing(releases []api.ReleaseInfo, now time.Time) listing {
	l := listing{
		header:     []string{"RELEASE", "STATE", "CHART", "HELM", "CHANGED", "BY", "AGE"},
		wideHeader: []string{"REASON", "HASH", "GENERATION", "INSTALLED"},
		narrow:     narrowing{drop: []string{"BY", "AGE", "CHART", "HELM"}, cut: []string{"STATE", "CHANGED"}},
	}
	for _, r := range releases {
		l.names = append(l.names, r.ID)
		l.rows = append(l.rows, []string{r.ID, releaseState(r, releases), dash(r.Chart), helmRevision(r),
			releaseChanged(r), releaseBy(r), age(r.CreatedAt, now)})
		l.wideRows = append(l.wideRows, []string{r.Reason, r.SpecHash[:min(12, len(r.SpecHash))], fmt.Sprint(r.Generation),
			dash(r.HelmChart)})
	}
	return l
}

// helmRevision returns the number that a release has in `helm history`.
func helmRevision(r api.ReleaseInfo) string {
	if r.HelmRevision == 0 {
		return "-"
	}
	return fmt.Sprint(r.HelmRevision)
}

// briefReleases removes the columns for the request behind each release and for the reason of a failure, so that the
// table fits on a screen. The rest of a description shows both for the newest release.
func briefReleases(l listing) listing {
	const state = 1
	request := len(l.header) - 2
	l.header = slices.Delete(l.header, request, request+1)
	for i, row := range l.rows {
		l.rows[i] = slices.Delete(row, request, request+1)
		row[state], _, _ = strings.Cut(row[state], ": ")
	}
	return l
}

// releaseState returns the state of a release among all of its object. While the newest fails, an earlier one may
// serve.
func releaseState(r api.ReleaseInfo, all []api.ReleaseInfo) string {
	failing := slices.ContainsFunc(all, func(o api.ReleaseInfo) bool { return o.Current && o.Failed != "" })
	serving := slices.ContainsFunc(all, func(o api.ReleaseInfo) bool { return !o.Current && o.Good && o.Pods > 0 })
	var words []string
	switch {
	case r.Current && !(failing && serving):
		words = append(words, "current")
	case failing && !r.Current && r.Good && r.Pods > 0:
		words = append(words, "serves")
	}
	switch {
	case r.Good:
		words = append(words, "good")
	case r.Failed != "":
		words = append(words, "failed: "+r.Failed)
	case r.Replaced:
		words = append(words, "replaced before it was ready")
	}
	return dash(strings.Join(words, ", "))
}

// releaseChanged describes how a release differs from the one before: which release it returns to, or the changed
// fields, shortened to leave room for the other columns. JSON has them all.
func releaseChanged(r api.ReleaseInfo) string {
	const shown = 3
	switch {
	case strings.HasPrefix(r.Reason, "rollback"), len(r.Changed) == 0:
		return r.Reason
	case len(r.Changed) > shown:
		return fmt.Sprintf("%s, %d more", strings.Join(r.Changed[:shown], ", "), len(r.Changed)-shown)
	}
	return strings.Join(r.Changed, ", ")
}

// releaseBy returns the request that led to a release, and who asked as far as it is known. The process that asked is
// over.
func releaseBy(r api.ReleaseInfo) string {
	if r.Change == nil {
		return "-"
	}
	who := api.ActorName(r.Change.Actor)
	if strings.HasPrefix(who, "token from ") {
		who = "token"
	}
	return strings.TrimSpace(r.Change.Verb + " " + who)
}
