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

// logging holds the options of `tend logs`.
type logging struct {
	follow, timestamps bool
	previous           bool
	since, tail, run   string
	init               string
	pod, container     string
	// split: what pods wrote to stderr goes to stderr.
	split bool
}

// How many lines of each pod are shown without --tail: with -f new lines matter, and a terminal holds only so much. A
// pipe gets all lines.
const (
	followTail   = 100
	terminalTail = 1000
)

const longOfLogs = "Show the output of a pod, or of every pod of an object, including kept pods that ended. Lines are ordered by\n" +
	"time, stdout and stderr of the pods together. With -f it starts with the last 100 lines of each pod and goes on with\n" +
	"new ones, also over a rollout, until the pod has ended or the object is gone. Without -f a terminal gets the last\n" +
	"1000 lines of each pod, a pipe gets all. A pod that never ran yet shows the output of its init containers.\n\n" +
	"With --previous it shows what ran before, whose container is gone. Of an object these are the earlier attempts at its\n" +
	"newest release, also at one that was undone; if there were none, what its pods replaced. Of a POD it shows what ran in\n" +
	"its place before, or what it replaced; of a pod that is gone, its own output.\n\n" +
	"Of an application in a Kubernetes cluster it shows the newest lines, 256 KiB at most, of the pods that belong to\n" +
	"what its chart made. The cluster's operator must be allowed to read logs; such output can't be followed."

func (a *app) logsCommand() *cobra.Command {
	var ask logging
	command := &cobra.Command{
		Use:   "logs POD | [KIND] SCOPE/NAME",
		Short: "show the output of a pod, or of every pod of an object",
		Long:  longOfLogs,
		Example: "  tend logs appinst prod/shop --container app --tail 50\n  tend logs prod/web --init migrate\n  tend logs prod/web --previous\n" +
			"  tend logs prod/web -f\n  tend logs prod/web --since 10m --tail 100\n  tend logs prod/web | grep -i error\n" +
			"  tend logs prod-web.1a2b3c4d\n  tend logs prod/web -o json | jq .text",
		Args:              takes(1, 2),
		ValidArgsFunction: a.completePods,
	}
	command.RunE = func(cmd *cobra.Command, args []string) error {
		opts, err := ask.options(time.Now(), terminal(a.out) && !a.structured())
		if err != nil {
			return err
		}
		return a.addressed(func(ctx context.Context, c *client.Client, wanted address, rest []string) error {
			if err := wanted.tooMuch("logs", rest); err != nil {
				return err
			}
			opts.Pod, opts.Run, opts.Init, opts.Previous = wanted.pod, ask.run, ask.init, ask.previous
			opts.ClusterPod, opts.Container = ask.pod, ask.container
			opts.Target = client.Target{Kind: wanted.kind, Scope: wanted.scope, Name: wanted.name}
			screen := logScreen{all: wanted.pod == "" || ask.previous, timestamps: ask.timestamps, split: ask.split}
			if ask.init == "" {
				screen.pod = wanted.pod
			}
			err := a.readLogs(ctx, c, opts, &screen)
			switch {
			case err != nil && ctx.Err() != nil:
				return context.Cause(ctx)
			case err != nil:
				return unlessClass(ctx, c, wanted, err)
			case len(screen.newest) == 0 && ask.init == "" && !ask.previous && ask.run == "" && ask.tail != "0":
				return a.sayNoOutput(ctx, c, wanted, ask.since != "")
			}
			if err == nil && !ask.follow && opts.Tail != nil && ask.tail == "" && screen.longest >= *opts.Tail {
				fmt.Fprintf(a.err, "these are the last %d lines of each pod; --tail all shows the rest\n", *opts.Tail)
			}
			return err
		})(cmd, args)
	}
	ask.declare(command)
	_ = command.RegisterFlagCompletionFunc("init", a.completeInits)
	return command
}

// declare declares the flags of the command.
func (l *logging) declare(command *cobra.Command) {
	flags := command.Flags()
	flags.BoolVarP(&l.follow, "follow", "f", false, "follow new output")
	flags.BoolVarP(&l.timestamps, "timestamps", "t", false, "show when each line was written")
	flags.StringVar(&l.run, "run", "", "of a job only this `RUN` (default: the newest, and with -f those after it)")
	flags.StringVar(&l.init, "init", "",
		"of this `INIT` container of each pod, while it is there: until the pod runs, or it failed")
	flags.StringVar(&l.pod, "pod", "", "of an application in a Kubernetes cluster only this `POD`")
	flags.StringVarP(&l.container, "container", "c", "",
		"of an application in a Kubernetes cluster only this `CONTAINER` of each pod")
	flags.BoolVarP(&l.previous, "previous", "p", false,
		"the last output of earlier attempts, or else of the pods that were replaced; of a POD, of what ran before it")
	flags.StringVar(&l.since, "since", "", "only what is newer than this `TIME`: a duration (10m) or a time (RFC 3339)")
	flags.StringVarP(&l.tail, "tail", "n", "",
		"only the last lines of each pod: a `NUMBER`, or all (default 100 with -f, else 1000 on a terminal and all in a pipe; all with --since)")
	flags.BoolVar(&l.split, "stderr", false, "write on stderr what pods wrote to stderr")
}

// lines returns the --tail to use: the default depends on what else was asked for, and on who reads.
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
			return opts, fmt.Errorf("--tail %q: want a number of lines, or all (a scope is the first part of a name, SCOPE/NAME)", l.tail)
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

// printLogs writes lines as they come, with their pod's name in front if there are several pods. It reports a pod with
// unreadable output on stderr, and then makes the command fail at its end.
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
			return line.Error // the server shuts down
		case screen.shown(line):
			continue
		case a.structured():
			err = a.printEach(line)
		case line.Note != "":
			_, err = fmt.Fprintln(a.err, printable(line.Note, ""))
		case line.Error != nil:
			_, err = fmt.Fprintf(a.err, "%s: %s\n", line.Pod, printable(fmt.Sprint(line.Error), "\n"))
		case line.Stream == "stderr" && screen.split:
			_, err = io.WriteString(verbatim(a.err), screen.text(line, terminal(a.err)))
		default:
			_, err = io.WriteString(a.out, screen.text(line, terminal(a.out)))
		}
		if err != nil {
			return err
		}
		broken = broken || line.Error != nil
	}
}

// logScreen writes lines. It joins the parts of a line that was too long to be sent at once, unless another line comes
// between.
type logScreen struct {
	// all: each line has its pod's name in front.
	all bool
	// pod is the requested pod; others, its init containers, get their name in front. If it is empty, no line gets a
	// name.
	pod        string
	timestamps bool
	// split: what a pod wrote to stderr goes to stderr.
	split bool
	// longest is the highest number of lines written for one pod; counts are those of each.
	longest int
	counts  map[string]int
	// newest is the time of the last line written for each pod; before has the same from before the current stream
	// began.
	newest, before map[string]time.Time
	// open is the source of a line that hasn't ended yet.
	open struct{ pod, stream string }
}

// oneLine replaces what would begin a line without the pod's name or its time, which a pod could forge then.
var oneLine = strings.NewReplacer("\n", `\x0a`, "\r", `\x0d`)

// text returns a line of a pod: as it was written for a program, without control characters for a terminal.
func (s *logScreen) text(line api.LogLine, screen bool) string {
	text := line.Text
	if screen {
		text = printable(strings.TrimSuffix(text, "\r"), "")
	}
	named := s.all || s.pod != "" && line.Pod != s.pod
	if named || s.timestamps {
		text = oneLine.Replace(strings.TrimSuffix(text, "\r"))
	}
	here := struct{ pod, stream string }{line.Pod, line.Stream}
	if s.open != here {
		if s.timestamps {
			text = line.At.Format(time.RFC3339Nano) + " " + text
		}
		if named {
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
