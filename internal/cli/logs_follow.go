package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
)

// cutStreamError is a stream that broke off before its end.
type cutStreamError struct{ err error }

func (e *cutStreamError) Error() string { return fmt.Sprintf("the output was cut off: %v", e.err) }

func (e *cutStreamError) Unwrap() error { return e.err }

// serverAway reports whether an error means that the server is shutting down or unreachable; it may be back in a
// moment.
func serverAway(err error) bool {
	var cut *cutStreamError
	var gone *client.UnreachableError
	return errors.As(err, &cut) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &gone) && !gone.Denied() ||
		client.StatusOf(err) == http.StatusServiceUnavailable
}

// noteAway prints once that the server is away, and returns whether it is.
func (a *app) noteAway(away, noted bool) bool {
	if away && !noted {
		fmt.Fprintln(a.err, "the server is away; going on when it is back")
	}
	return away
}

// serverReturns is the time between two attempts to reach a server that is away.
const serverReturns = time.Second

// readLogs prints the output that was asked for. If the server goes away while the output is followed, readLogs waits
// until it is back and continues after the last line: a restart of the server, which touches no pod, loses no line.
func (a *app) readLogs(ctx context.Context, c *client.Client, opts client.LogsOptions, screen *logScreen) error {
	away := false
	for begun := false; ; {
		stream, err := c.Logs(ctx, opts)
		if err == nil {
			begun, away = true, false
			err = a.printLogs(stream, screen)
			_ = stream.Close()
		}
		if !begun || !opts.Follow || ctx.Err() != nil || !serverAway(err) {
			return err
		}
		away = a.noteAway(true, away)
		if err := pause(ctx, serverReturns); err != nil {
			return err
		}
		opts = screen.resume(opts)
	}
}

// resume changes the options to request what follows the lines that were shown.
func (s *logScreen) resume(opts client.LogsOptions) client.LogsOptions {
	if len(s.newest) == 0 {
		return opts
	}
	s.before = maps.Clone(s.newest)
	opts.Tail, opts.Since = nil, slices.MinFunc(slices.Collect(maps.Values(s.newest)), time.Time.Compare)
	return opts
}

// shown records a line, and reports whether an earlier stream already brought it.
func (s *logScreen) shown(line api.LogLine) bool {
	if line.Error != nil || line.Note != "" {
		return false
	}
	if last, known := s.before[line.Pod]; known && !line.At.After(last) {
		return true
	}
	if s.newest == nil {
		s.newest, s.counts = map[string]time.Time{}, map[string]int{}
	}
	s.newest[line.Pod] = line.At
	if !line.Part {
		s.counts[line.Pod]++
		s.longest = max(s.longest, s.counts[line.Pod])
	}
	return false
}
