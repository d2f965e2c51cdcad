package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
)

// logging is what `tend logs` was asked.
type logging struct {
	follow, timestamps bool
	since, tail, run   string
	init               string
	// split: what pods wrote to stderr goes to stderr.
	split bool
}

// How many lines of each pod are shown without --tail: with -f what is new matters, and a terminal holds only so much. A pipe
// gets all of them.
const (
	followTail   = 100
	terminalTail = 1000
)

func (a *app) logsCommand() *cobra.Command {
	var ask logging
	command := &cobra.Command{
		Use:   "logs POD | [KIND] SCOPE/NAME",
		Short: "show the output of a pod, or of every pod of an object",
		Long: "Show the output of a pod, or of every pod of an object, those that ended and are kept included. Lines are ordered by\n" +
			"time, stdout and stderr of the pods together. With -f it starts with the last 100 lines of each pod and goes on with\n" +
			"new ones, also over a rollout, until the pod has ended or the object is gone. Without -f a terminal gets the last\n" +
			"1000 lines of each pod, a pipe gets all. A pod that never ran yet shows the output of its init containers.",
		Example: "  tend logs prod/web --init migrate\n" +
			"  tend logs prod/web -f\n  tend logs prod/web --since 10m --tail 100\n  tend logs prod/web | grep -i error\n" +
			"  tend logs prod-web.1a2b3c4d\n  tend logs prod/web -o json | jq .text",
		Args:              takes(1, 2),
		ValidArgsFunction: a.completePods,
	}
	command.RunE = func(cmd *cobra.Command, args []string) error {
		opts, err := ask.options(time.Now(), terminal(a.out) && a.output != "json")
		if err != nil {
			return err
		}
		return a.addressed(func(ctx context.Context, c *client.Client, wanted address, rest []string) error {
			if err := tooMuch("logs", rest); err != nil {
				return err
			}
			opts.Pod, opts.Run, opts.Init = wanted.pod, ask.run, ask.init
			opts.Target = client.Target{Kind: wanted.kind, Scope: wanted.scope, Name: wanted.name}
			screen := logScreen{all: wanted.pod == "", timestamps: ask.timestamps, split: ask.split}
			if ask.init == "" {
				screen.pod = wanted.pod
			}
			err := a.readLogs(ctx, c, opts, &screen)
			if err != nil && ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err == nil && !ask.follow && opts.Tail != nil && ask.tail == "" && screen.longest >= *opts.Tail {
				fmt.Fprintf(a.err, "these are the last %d lines of each pod; --tail all shows the rest\n", *opts.Tail)
			}
			return err
		})(cmd, args)
	}
	flags := command.Flags()
	flags.BoolVarP(&ask.follow, "follow", "f", false, "go on with what comes")
	flags.BoolVarP(&ask.timestamps, "timestamps", "t", false, "show when each line was written")
	flags.StringVar(&ask.run, "run", "", "of a job only this `RUN` (default: the newest, and with -f those after it)")
	flags.StringVar(&ask.init, "init", "", "of this `INIT` container of each pod, while it is there: until the pod runs, or it failed")
	_ = command.RegisterFlagCompletionFunc("init", a.completeInits)
	flags.StringVar(&ask.since, "since", "", "only what is newer than this `TIME`: a duration (10m) or a time (RFC 3339)")
	flags.StringVarP(&ask.tail, "tail", "n", "", "only the last lines of each pod: a `NUMBER`, or all (default 100 with -f, else 1000 on a terminal and all in a pipe; all with --since)")
	flags.BoolVar(&ask.split, "stderr", false, "write on stderr what pods wrote to stderr")
	return command
}

// lines is the --tail to use: the default depends on what else was asked for, and on who reads.
func (l logging) lines(screen bool) string {
	switch {
	case l.tail != "" || l.since != "":
		return l.tail
	case l.follow:
		return strconv.Itoa(followTail)
	case screen:
		return strconv.Itoa(terminalTail)
	}
	return "all"
}

func (l logging) options(now time.Time, screen bool) (client.LogsOptions, error) {
	opts := client.LogsOptions{Follow: l.follow}
	if tail := l.lines(screen); tail != "all" && tail != "" {
		n, err := strconv.Atoi(tail)
		if err != nil || n < 0 {
			return opts, fmt.Errorf("--tail %q: want a number of lines, or all", l.tail)
		}
		opts.Tail = &n
	}
	if l.since == "" {
		return opts, nil
	}
	if d, err := time.ParseDuration(l.since); err == nil && d >= 0 {
		opts.Since = now.Add(-d)
		return opts, nil
	}
	at, err := time.Parse(time.RFC3339, l.since)
	if err != nil {
		return opts, fmt.Errorf("--since %q: want a duration such as 10m, or a time such as 2026-01-02T15:04:05Z", l.since)
	}
	opts.Since = at
	return opts, nil
}

// printLogs writes lines as they come, with their pod's name in front where there are several. A pod whose output can't be
// read is reported on stderr and makes the command fail at its end.
func (a *app) printLogs(stream *client.LogStream, screen *logScreen) error {
	broken := false
	for {
		line, err := stream.Next()
		switch {
		case errors.Is(err, io.EOF) && broken:
			return &exitStatus{code: exitError}
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return &cutStreamError{err}
		case line.Pod == "" && line.Error != nil:
			return line.Error // the server ends
		case screen.shown(line):
			continue
		case a.output == "json":
			err = compactJSON(a.out, line)
		case line.Error != nil:
			_, err = fmt.Fprintf(a.err, "%s: %s\n", line.Pod, printable(fmt.Sprint(line.Error), "\n"))
		case line.Stream == "stderr" && screen.split:
			_, err = io.WriteString(a.err, screen.text(line, terminal(a.err)))
		default:
			_, err = io.WriteString(a.out, screen.text(line, terminal(a.out)))
		}
		if err != nil {
			return err
		}
		broken = broken || line.Error != nil
	}
}

// logScreen writes lines. The parts of one too long to be sent at once make one line again, unless another comes between.
type logScreen struct {
	// all: each line has its pod's name in front.
	all bool
	// pod is the one that was asked for; others, its inits, have their name in front. Empty: none has.
	pod        string
	timestamps bool
	// split: what a pod wrote to stderr goes to stderr.
	split bool
	// longest is how many lines of one pod were written, at most; counts are those of each.
	longest int
	counts  map[string]int
	// newest is when the last line of each pod was written, before what the same before the stream began that is read now.
	newest, before map[string]time.Time
	// open is where a line was begun that isn't ended yet.
	open struct{ pod, stream string }
}

// text is a line of a pod: as it was written for a program, without control characters for a terminal.
func (s *logScreen) text(line api.LogLine, screen bool) string {
	text := line.Text
	if screen {
		text = printable(strings.TrimSuffix(text, "\r"), "")
	}
	here := struct{ pod, stream string }{line.Pod, line.Stream}
	if s.open != here {
		if s.timestamps {
			text = line.At.Format(time.RFC3339Nano) + " " + text
		}
		if s.all || s.pod != "" && line.Pod != s.pod {
			text = "[" + line.Pod + "] " + text
		}
		if s.open.pod != "" {
			text = "\n" + text
		}
	}
	if s.open = here; line.Part {
		return text
	}
	s.open.pod, s.open.stream = "", ""
	return text + "\n"
}
