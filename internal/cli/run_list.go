package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
)

func (a *app) runsCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "runs [[KIND] SCOPE/NAME]",
		Short:             "list the runs that are kept, newest first",
		Example:           "  tend runs\n  tend runs prod/backup\n  tend runs cronjob prod/backup -o wide",
		Args:              takes(0, 2),
		ValidArgsFunction: a.completeObjects,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return a.connected(func(ctx context.Context, c *client.Client, _ []string) error {
					return a.listRuns(ctx, c, client.Target{}, true)
				})(cmd, args)
			}
			return a.onObject(func(ctx context.Context, c *client.Client, ref api.Ref, rest []string) error {
				if err := tooMuch("runs", rest); err != nil {
					return err
				}
				return a.listRuns(ctx, c, client.TargetOf(ref), false)
			})(cmd, args)
		},
	}
}

func (a *app) listRuns(ctx context.Context, c *client.Client, target client.Target, owners bool) error {
	runs, err := c.Runs(ctx, target)
	if err != nil {
		return err
	}
	l := runListing(runs.Items, owners, time.Now())
	l.value = runs
	if err := l.write(a.streams, a.output); err != nil || owners || a.output != "" && a.output != "table" {
		return err
	}
	a.sayWhyFailed(runs.Items)
	return nil
}

// sayWhyFailed says on stderr why the newest run, the first of the list, failed, and what to do.
func (a *app) sayWhyFailed(runs []api.Run) {
	if len(runs) > 0 && runs[0].State == api.RunFailed && runs[0].Message != "" {
		fmt.Fprintf(a.err, "run %s failed: %s%s\n", runs[0].ID, printable(runs[0].Message, "\n"),
			nextLine("  ", runStep(runs[0], false)))
	}
}

func runListing(runs []api.Run, owners bool, now time.Time) listing {
	l := listing{
		header:     []string{"RUN", "STATE", "EXIT", "ATTEMPTS", "TRIGGER", "TOOK", "AGE"},
		wideHeader: []string{"RELEASE", "POD", "BY", "MESSAGE"},
		empty:      "no runs are kept: `tend run` starts one",
		narrow:     narrowing{drop: []string{"ATTEMPTS", "TRIGGER", "TOOK", "AGE", "EXIT"}},
	}
	if owners {
		l.header = append([]string{"OBJECT"}, l.header...)
	}
	for _, run := range runs {
		row := []string{run.ID, string(run.State), codeText(run.ExitCode), fmt.Sprint(len(run.Attempts)), run.Trigger,
			tookText(run, now), age(run.CreatedAt, now)}
		if owners {
			row = append([]string{run.Owner().String()}, row...)
		}
		pod := ""
		if n := len(run.Attempts); n > 0 {
			pod = run.Attempts[n-1].Pod
		}
		l.names = append(l.names, run.ID)
		l.rows = append(l.rows, row)
		l.wideRows = append(l.wideRows, []string{dash(run.Release), dash(pod), dash(run.By), dash(run.Message)})
	}
	return l
}

func codeText(code *int) string {
	if code == nil {
		return "-"
	}
	return fmt.Sprint(*code)
}

// tookText returns how long a run took, or takes so far.
func tookText(run api.Run, now time.Time) string {
	switch {
	case run.StartedAt.IsZero():
		return "-"
	case run.FinishedAt.IsZero():
		return now.Sub(run.StartedAt).Round(time.Second).String()
	}
	return run.FinishedAt.Sub(run.StartedAt).Round(100 * time.Millisecond).String()
}

var jobTable = table{
	header: []string{"LAST RUN", "LAST STATE", "ACTIVE", "STATE", "AGE"},
	wide:   []string{"IMAGE", "GENERATION", "MESSAGE"},
	narrow: narrowing{drop: []string{"AGE", "LAST RUN", "ACTIVE", "LAST STATE"}},
	row:    jobRow,
}

var cronJobTable = table{
	header: []string{"SCHEDULE", "NEXT RUN", "LAST RUN", "LAST STATE", "ACTIVE", "MISSED", "STATE", "AGE"},
	wide:   []string{"IMAGE", "GENERATION", "MESSAGE"},
	narrow: narrowing{drop: []string{"AGE", "LAST RUN", "MISSED", "ACTIVE", "SCHEDULE", "LAST STATE", "NEXT RUN"}},
	row: func(object api.Object, now time.Time) (cells, wide []string) {
		spec, _ := api.DecodeSpec[api.CronJobSpec](object)
		status, _ := api.DecodeStatus[api.JobStatus](object)
		cells, wide = jobRow(object, now)
		cells = append([]string{scheduleText(spec), nextText(spec, status, now)}, cells...)
		return append(cells[:5:5], append([]string{fmt.Sprint(status.Missed)}, cells[5:]...)...), wide
	},
}

func jobRow(object api.Object, now time.Time) (cells, wide []string) {
	status, _ := api.DecodeStatus[api.JobStatus](object)
	state, message := stateOf(object, api.WorkloadStatus{Conditions: status.Conditions})
	message, _, _ = strings.Cut(message, "\n")
	return []string{
		dash(status.LastRun), dash(string(status.LastState)), fmt.Sprint(status.Active), state,
		age(object.Metadata.CreatedAt, now),
	}, []string{dash(status.Image), fmt.Sprint(object.Metadata.Generation), dash(message)}
}

func scheduleText(spec api.CronJobSpec) string {
	if spec.Timezone == "" {
		return spec.Schedule
	}
	return spec.Schedule + " " + spec.Timezone
}

func nextText(spec api.CronJobSpec, status api.JobStatus, now time.Time) string {
	switch {
	case spec.Suspend:
		return "suspended"
	case status.NextRun.IsZero():
		return "-"
	case !status.NextRun.After(now):
		return "now"
	}
	return "in " + age(now.Add(now.Sub(status.NextRun)), now)
}

// describeJob writes the head of a job's description.
func describeJob(w plain, object api.Object, now time.Time) {
	status, _ := api.DecodeStatus[api.JobStatus](object)
	state, _ := stateOf(object, api.WorkloadStatus{Conditions: status.Conditions})
	w.printf("%s  %s\n", object.Ref(), state)
	w.printf("  generation %d (observed %d), created %s ago\n", object.Metadata.Generation, status.ObservedGeneration,
		age(object.Metadata.CreatedAt, now))
	if status.Image != "" {
		w.printf("  image %s\n        %s\n", status.Image, status.ImageID)
	}
	if object.Kind == api.KindCronJob {
		spec, _ := api.DecodeSpec[api.CronJobSpec](object)
		w.printf("  schedule %s, next run %s", scheduleText(spec), nextText(spec, status, now))
		if status.Missed > 0 {
			w.printf(", %d missed (last %s ago: %s)", status.Missed, age(status.LastMissed, now), status.MissedReason)
		}
		w.printf("\n")
	}
	w.printf("  runs %d active, %d succeeded, %d failed\n", status.Active, status.Succeeded, status.Failed)
}
