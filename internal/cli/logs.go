package cli

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tend.dev/tend/client"
)

func (a *app) logsCommand() *cobra.Command {
	var (
		follow, timestamps bool
		since, tail        string
	)
	command := &cobra.Command{
		Use:   "logs POD | [KIND] SCOPE/NAME",
		Short: "show the output of a pod, or of every pod of an object",
		Example: "  tend logs prod/web -f\n  tend logs prod/web --since 10m --tail 100\n" +
			"  tend logs prod-web.1a2b3c4d",
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts, err := logOptions(follow, since, tail)
			if err != nil {
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
			opts.Pod = wanted.pod
			opts.Target = client.Target{Kind: wanted.kind, Scope: wanted.scope, Name: wanted.name}
			stream, err := c.Logs(cmd.Context(), opts)
			if err != nil {
				return err
			}
			defer stream.Close()
			return a.printLogs(stream, wanted.pod == "", timestamps)
		},
	}
	flags := command.Flags()
	flags.BoolVarP(&follow, "follow", "f", false, "go on with what comes")
	flags.BoolVarP(&timestamps, "timestamps", "t", false, "show when each line was written")
	flags.StringVar(&since, "since", "", "only what is newer: a duration (10m) or a time (RFC 3339)")
	flags.StringVarP(&tail, "tail", "n", "all", "only the last lines of each pod: a number, or all")
	return command
}

func logOptions(follow bool, since, tail string) (client.LogsOptions, error) {
	opts := client.LogsOptions{Follow: follow}
	if tail != "all" && tail != "" {
		n, err := strconv.Atoi(tail)
		if err != nil || n < 0 {
			return opts, fmt.Errorf("--tail %q: want a number of lines, or all", tail)
		}
		opts.Tail = &n
	}
	if since == "" {
		return opts, nil
	}
	if d, err := time.ParseDuration(since); err == nil {
		opts.Since = time.Now().Add(-d)
		return opts, nil
	}
	at, err := time.Parse(time.RFC3339, since)
	if err != nil {
		return opts, fmt.Errorf("--since %q: want a duration such as 10m, or a time such as 2026-01-02T15:04:05Z", since)
	}
	opts.Since = at
	return opts, nil
}

// printLogs writes lines to the stream they came from, with their pod's name in front where there are several.
func (a *app) printLogs(stream *client.LogStream, named, timestamps bool) error {
	for {
		line, err := stream.Next()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case line.Error != nil:
			fmt.Fprintf(a.err, "%s: %s\n", line.Pod, line.Error)
			continue
		}
		var out strings.Builder
		if named {
			out.WriteString("[" + line.Pod + "] ")
		}
		if timestamps {
			out.WriteString(line.At.Format(time.RFC3339Nano) + " ")
		}
		out.WriteString(line.Text + "\n")
		to := a.out
		if line.Stream == "stderr" {
			to = a.err
		}
		if _, err := io.WriteString(to, out.String()); err != nil {
			return err
		}
	}
}
