package session_test

import (
	"context"
	"strings"
	"testing"

	"tend.dev/tend/internal/node/runtime"
)

// endless is a log that never stops; it ends with its context.
type endless struct {
	ctx  context.Context
	text string
}

// Next implements runtime.LogReader.
func (e endless) Next() (runtime.LogLine, error) { return runtime.LogLine{Text: e.text}, e.ctx.Err() }

// Close implements runtime.LogReader.
func (e endless) Close() error { return nil }

// TestManySlowReaders: readers that don't read, of logs without an end, hold up neither each other nor other requests.
func TestManySlowReaders(t *testing.T) {
	const readers = 300
	n, _ := serve(t, &fake{
		logs: func(ctx context.Context, _ string, _ runtime.LogOptions) (runtime.LogReader, error) {
			return endless{ctx, strings.Repeat("x", 60_000)}, nil
		},
		end: func(string, string) error { return nil },
	})
	opened := goes(func() error {
		var last runtime.LogReader
		for range readers {
			reader, err := n.Logs(t.Context(), "p", runtime.LogOptions{})
			if err != nil {
				return err
			}
			defer reader.Close()
			last = reader
		}
		if err := n.Stop(t.Context(), "p"); err != nil {
			return err
		}
		for range 100 {
			if _, err := last.Next(); err != nil {
				return err
			}
		}
		return nil
	})
	if err := await(t, "all logs are open, the last is read and a request answered", opened); err != nil {
		t.Error(err)
	}
}

// TestCommandsThatDoNotRead: what is written to them holds up neither other commands nor other requests.
func TestCommandsThatDoNotRead(t *testing.T) {
	f, _ := runs(func(c *command) (int, error) {
		<-c.closed
		return 0, nil
	})
	f.sample = func(_ string, pods []string) []runtime.Usage { return make([]runtime.Usage, len(pods)) }
	n, _ := serve(t, f)
	var writing []<-chan error
	for range 20 {
		running := run(t, n, runtime.ExecOptions{Stdin: true})
		filled := make(chan struct{})
		writing = append(writing, goes(func() error {
			in := running.Stdin()
			if _, err := in.Write(make([]byte, 64<<10)); err != nil {
				return err
			}
			close(filled)
			_, err := in.Write(make([]byte, 2<<20))
			return err
		}))
		await(t, "the first bytes are written", filled)
	}
	asked := goes(func() error {
		for range 10 {
			if got := n.Stats(t.Context(), []string{strings.Repeat("p", 10_000)}); got[0].Err != nil {
				return got[0].Err
			}
		}
		return nil
	})
	if err := await(t, "other requests are answered", asked); err != nil {
		t.Error(err)
	}
	for _, w := range writing {
		select {
		case err := <-w:
			t.Errorf("2 MiB are written to a command that reads nothing: %v", err)
		default:
		}
	}
}
