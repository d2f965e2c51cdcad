package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/core/nextstep"
)

// unknownPatience is the time for which a command repeats a call whose outcome is unknown.
const unknownPatience = 30 * time.Second

// running holds the options of `tend run`.
type running struct {
	detach  bool
	timeout time.Duration
}

func (a *app) runCommand() *cobra.Command {
	var ask running
	command := &cobra.Command{
		Use:   "run [KIND] SCOPE/NAME",
		Short: "run a job, or a cron job out of turn, and show its output; exits with its code",
		Long: "Run a job, or a cron job out of turn, and show what it writes, all attempts, stderr on stderr. The run goes on without\n" +
			"this command: Ctrl-C, or the end of --timeout, lets go of it and says how to follow it again.\n\n" +
			"Exit status: 0 succeeded, else the exit code of its last attempt; 3 where that ran out of time, or --timeout is over;\n" +
			"1 where it did not start, or has no exit code (stopped, replaced, lost with its node).",
		Example:           "  tend run prod/migrate\n  tend run cronjob prod/backup\n  tend run prod/import --detach",
		Args:              takes(1, 2),
		ValidArgsFunction: a.completeObjects,
	}
	command.RunE = a.addressed(func(ctx context.Context, c *client.Client, wanted address, rest []string) error {
		if err := tooMuch("run", rest); err != nil {
			return err
		}
		ref, err := resolveRunnable(ctx, c, wanted)
		if err != nil {
			return err
		}
		return a.run(ctx, c, ref, ask)
	})
	ask.declare(command)
	return command
}

func (r *running) declare(command *cobra.Command) {
	flags := command.Flags()
	flags.BoolVarP(&r.detach, "detach", "d", false, "return once the run is created")
	flags.DurationVar(&r.timeout, "timeout", 0,
		"how long to wait for its end; the run goes on (default: as long as it takes)")
}

// resolveRunnable is resolve among the kinds that have runs.
func resolveRunnable(ctx context.Context, c *client.Client, wanted address) (api.Ref, error) {
	if wanted.kind == "" && wanted.pod == "" {
		found, err := candidates(ctx, c, wanted)
		if err != nil {
			return api.Ref{}, err
		}
		var runnable []api.Ref
		for _, ref := range found {
			if ref.Kind.HasRuns() {
				runnable = append(runnable, ref)
			}
		}
		if len(runnable) == 1 {
			return runnable[0], nil
		}
	}
	ref, err := resolve(ctx, c, wanted)
	if err == nil && !ref.Kind.HasRuns() {
		err = fmt.Errorf("%s is neither a job nor a cron job: it can't be run\n"+
			"  `tend exec %s/%s -- COMMAND` runs a command in a pod", ref, ref.Scope, ref.Name)
	}
	return ref, err
}

func (a *app) run(ctx context.Context, c *client.Client, ref api.Ref, ask running) error {
	patience := unknownPatience
	if ask.timeout > 0 {
		patience = min(patience, ask.timeout)
	}
	result, err := client.Repeat(ctx, patience, func(ctx context.Context) (api.RunResult, error) {
		return c.Run(ctx, client.TargetOf(ref))
	})
	if err != nil {
		return err
	}
	return a.showRun(ctx, c, result, ask)
}

// showRun shows the requested run until it has ended.
func (a *app) showRun(ctx context.Context, c *client.Client, result api.RunResult, ask running) error {
	run, ref := result.Run, result.Run.Owner()
	if ask.detach {
		return a.say(result, run.ID, fmt.Sprintf("run %s of %s created", run.ID, ref)+
			nextLine("  ", fmt.Sprintf("tend logs %s --run %s -f", objectWords(ref), run.ID)))
	}
	if !a.structured() {
		fmt.Fprintf(a.err, "run %s of %s\n", run.ID, ref)
	}
	waiting := ctx
	if ask.timeout > 0 {
		var cancel context.CancelFunc
		waiting, cancel = context.WithTimeout(ctx, ask.timeout)
		defer cancel()
	}
	follow := following{app: a, client: c, ref: ref, run: run.ID}
	ended, err := follow.toEnd(waiting)
	switch {
	case ctx.Err() != nil:
		fmt.Fprintf(a.err, "the run goes on: `tend logs %s --run %s -f` follows it, `tend runs %s` lists it\n",
			objectWords(ref), run.ID, objectWords(ref))
		return context.Cause(ctx)
	case waiting.Err() != nil:
		return &exitStatus{code: exitTimeout, title: titleTimeout, text: fmt.Sprintf(
			"run %s has not ended after %s; it goes on (`tend logs %s --run %s -f` follows it)", run.ID, ask.timeout,
			objectWords(ref), run.ID)}
	case err != nil:
		return err
	}
	if a.structured() {
		if err := (listing{value: ended}).write(a.streams, a.output); err != nil {
			return err
		}
	}
	return verdictOf(ended)
}

// objectWords returns an object as people type it.
func objectWords(ref api.Ref) string { return string(ref.Kind) + " " + ref.Scope + "/" + ref.Name }

// verdictOf returns the result of `tend run`.
func verdictOf(run api.Run) error {
	if run.State == api.RunSucceeded {
		return nil
	}
	code, title := exitError, titleRunFailed
	switch {
	case run.Reason == "TimedOut":
		code, title = exitTimeout, titleTimeout
	case run.State == api.RunFailed && run.ExitCode != nil && *run.ExitCode > 0 && *run.ExitCode < 256:
		code = *run.ExitCode
	}
	return &exitStatus{code: code, title: title,
		text: fmt.Sprintf("run %s of %s %s: %s", run.ID, run.Owner(), run.State, run.Message) + nextLine("  ", runStep(run, true))}
}

// runStep returns what to do about a run that failed, whose output was shown or not.
func runStep(run api.Run, shown bool) string {
	switch {
	case run.State != api.RunFailed:
		return ""
	case run.Reason == "TimedOut":
		return "raise `timeout` in the manifest, or make the program quicker"
	case run.Reason == "OOMKilled" && strings.Contains(run.Message, "memory limit"):
		return nextstep.RaiseMemory
	case run.Reason == "OOMKilled":
		return nextstep.FreeMemory("its node")
	case len(run.Attempts) == 0: // it never began
		return cmp.Or(run.Next, "tend describe "+objectWords(run.Owner()))
	}
	object := run.Owner().Scope + "/" + run.Owner().Name
	if shown {
		return "correct the cause, then: tend run " + object
	}
	return fmt.Sprintf("tend logs %s --run %s; then: tend run %[1]s", object, run.ID)
}

// following shows the output of one run until it has ended. The server may go away and come back meanwhile.
type following struct {
	*app
	client *client.Client
	ref    api.Ref
	run    string
	// last is the time of the newest line; reading continues from there after a broken stream.
	last   time.Time
	screen logScreen
	// pod is the pod of the last output, printed the number of attempts whose ends were printed.
	pod     string
	printed int
}

// tell prints how the attempts before the newest ended, each once: the output of the next one follows without a sign
// else.
func (f *following) tell(run api.Run) {
	for ; f.printed < len(run.Attempts)-1; f.printed++ {
		ended := run.Attempts[f.printed]
		why := cmp.Or(ended.Message, ended.Reason)
		if why == "" {
			return // its end is not recorded yet
		}
		if !f.structured() {
			fmt.Fprintf(f.err, "attempt %d of run %s failed: %s; attempt %d follows\n", f.printed+1, run.ID,
				printable(why, ""), f.printed+2)
		}
	}
}

func (f *following) toEnd(ctx context.Context) (api.Run, error) {
	for rest := 50 * time.Millisecond; ; rest = min(2*rest, 2*time.Second) {
		whole, err := f.read(ctx)
		if err != nil && !transient(err) {
			return api.Run{}, err
		}
		run, err := f.client.AwaitRun(ctx, f.ref, f.run)
		switch {
		case client.IsNotFound(err):
			return run, fmt.Errorf("run %s of %s is gone: it was deleted, or pruned by the history limits", f.run, f.ref)
		case err != nil && !transient(err) && !busy(err):
			return run, err
		case err == nil:
			if f.tell(run); run.State.Ended() && whole {
				return run, nil
			}
		}
		if err := pause(ctx, rest); err != nil {
			return run, err
		}
	}
}

// read prints what comes until the stream ends. whole says that the stream ended because the run did.
func (f *following) read(ctx context.Context) (whole bool, err error) {
	opts := client.LogsOptions{Target: client.TargetOf(f.ref), Run: f.run, Follow: true}
	if !f.last.IsZero() {
		opts.Since = f.last.Add(1)
	}
	stream, err := f.client.Logs(ctx, opts)
	if err != nil {
		return false, err
	}
	defer stream.Close()
	for {
		line, err := stream.Next()
		switch {
		case errors.Is(err, io.EOF):
			return true, nil
		case err != nil:
			return false, nil // cut: continue after the last line
		case line.Error != nil && line.Error.Status == http.StatusServiceUnavailable:
			return false, nil
		case line.Error != nil:
			fmt.Fprintf(f.err, "%s: %s\n", line.Pod, printable(fmt.Sprint(line.Error), "\n"))
			continue
		}
		f.last = line.At
		if f.pod != line.Pod {
			if run, err := f.client.RunOf(ctx, f.ref, f.run); f.pod != "" && err == nil {
				f.tell(run)
			}
			f.pod = line.Pod
		}
		if err := f.show(line); err != nil {
			return false, err
		}
	}
}

func (f *following) show(line api.LogLine) error {
	if f.structured() {
		return nil
	}
	out := f.out
	if line.Stream == "stderr" {
		out = verbatim(f.err)
	}
	_, err := io.WriteString(out, f.screen.text(line, terminal(out)))
	return err
}
