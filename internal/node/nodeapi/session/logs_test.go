package session_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/input/build/buildlog"
	"tend.dev/tend/internal/node/runtime"
)

func line(text string) runtime.LogLine {
	return runtime.LogLine{Stream: "stdout", At: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), Text: text}
}

// drain reads a log until it ends.
func drain(reader runtime.LogReader) (lines []runtime.LogLine, end error) {
	for {
		line, err := reader.Next()
		if err != nil {
			return lines, err
		}
		lines = append(lines, line)
	}
}

func TestLogs(t *testing.T) {
	long := runtime.LogLine{Stream: "stderr", At: line("").At, Text: strings.Repeat("é<&>", 100_000), Part: true}
	for name, test := range map[string]struct {
		lines []runtime.LogLine
		last  error
		want  error
	}{
		"lines":              {[]runtime.LogLine{line("one"), line(""), line("three")}, io.EOF, io.EOF},
		"none":               {nil, io.EOF, io.EOF},
		"parts":              {[]runtime.LogLine{long, {Stream: "stderr", At: line("").At, Text: "end"}}, io.EOF, io.EOF},
		"an error midway":    {[]runtime.LogLine{line("one")}, runtime.ErrUnavailable, runtime.ErrUnavailable},
		"an error at once":   {nil, runtime.ErrNotFound, runtime.ErrNotFound},
		"an unknown failure": {[]runtime.LogLine{line("one")}, errors.New("disk on fire"), nil},
	} {
		for _, follow := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				n, _ := serve(t, &fake{logs: func(ctx context.Context, _ string, _ runtime.LogOptions) (runtime.LogReader, error) {
					return newOutput(ctx, test.last, test.lines...), nil
				}})
				reader, err := n.Logs(t.Context(), "p", runtime.LogOptions{Follow: follow})
				if err != nil {
					t.Fatal(err)
				}
				defer reader.Close()
				got, end := drain(reader)
				if diff := cmp.Diff(test.lines, got); diff != "" {
					t.Error(diff)
				}
				if test.want != nil && !errors.Is(end, test.want) || test.want != io.EOF && errors.Is(end, io.EOF) ||
					!strings.Contains(end.Error(), test.last.Error()) {
					t.Errorf("ended with %v, want %v", end, test.last)
				}
			})
		}
	}
}

// TestALineOfTheYear9999: the server could not pass its time on.
func TestALineOfTheYear9999(t *testing.T) {
	wild := time.Date(9999, 12, 31, 23, 59, 59, 0, time.FixedZone("", -12*3600))
	n, _ := serve(t, &fake{logs: func(ctx context.Context, _ string, _ runtime.LogOptions) (runtime.LogReader, error) {
		return newOutput(ctx, io.EOF, runtime.LogLine{Stream: "stdout", At: wild, Text: "x"}), nil
	}})
	reader, err := n.Logs(t.Context(), "p", runtime.LogOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if got, _ := drain(reader); len(got) != 1 || time.Since(got[0].At).Abs() > time.Hour || got[0].Text != "x" {
		t.Errorf("%+v", got)
	}
}

// TestLogOptions: what the server asks for arrives, also for names that need escaping.
func TestLogOptions(t *testing.T) {
	type request struct {
		Pod  string
		Opts runtime.LogOptions
	}
	asked := make(chan request, 1)
	n, _ := serve(t, &fake{logs: func(ctx context.Context, pod string,
		opts runtime.LogOptions) (runtime.LogReader, error) {
		asked <- request{pod, opts}
		return newOutput(ctx, io.EOF), nil
	}})
	for _, want := range []request{
		{"prod-web.a", runtime.LogOptions{Tail: -1}},
		{"a/b c%2F?x=1", runtime.LogOptions{Follow: true, Tail: 7, Since: line("").At}},
		{"zone", runtime.LogOptions{Since: time.Date(2026, 1, 1, 0, 0, 0, 1, time.FixedZone("", 7200))}},
	} {
		reader, err := n.Logs(t.Context(), want.Pod, want.Opts)
		if err != nil {
			t.Fatal(err)
		}
		closeAll(t, reader)
		if diff := cmp.Diff(want, <-asked); diff != "" {
			t.Error(diff)
		}
	}
}

// TestLogsThatCannotBeOpened: the error keeps its identity and its text.
func TestLogsThatCannotBeOpened(t *testing.T) {
	for _, want := range []error{node.ErrNoPod, runtime.ErrNotFound, runtime.ErrUnavailable, runtime.ErrUnsupported} {
		n, _ := serve(t, &fake{logs: func(context.Context, string, runtime.LogOptions) (runtime.LogReader, error) {
			return nil, errors.Join(errors.New("the text"), want)
		}})
		if _, err := n.Logs(t.Context(), "p", runtime.LogOptions{}); !errors.Is(err, want) ||
			!strings.Contains(err.Error(), "the text") {
			t.Errorf("%v, want %v", err, want)
		}
	}
}

// TestFollow: a followed log is open before its first line, and each line comes when it is written.
func TestFollow(t *testing.T) {
	opened := make(chan *output, 1)
	n, _ := serve(t, &fake{logs: func(ctx context.Context, _ string, _ runtime.LogOptions) (runtime.LogReader, error) {
		out := openOutput(ctx)
		opened <- out
		return out, nil
	}})
	var reader runtime.LogReader
	if err := await(t, "the log of a silent container is opened", goes(func() (err error) {
		reader, err = n.Logs(t.Context(), "p", runtime.LogOptions{Follow: true})
		return err
	})); err != nil {
		t.Fatal(err)
	}
	out := <-opened
	for _, text := range []string{"now", "later"} {
		out.lines <- line(text)
		if got, err := reader.Next(); err != nil || got != line(text) {
			t.Errorf("%+v %v", got, err)
		}
	}
	close(out.lines)
	if _, err := reader.Next(); err != io.EOF {
		t.Errorf("the end is %v", err)
	}
	closeAll(t, reader)
	await(t, "the node closes what it read", out.closed)
}

// TestALogThatIsLeft: closing the reader, or the end of its context, ends the log at the node.
func TestALogThatIsLeft(t *testing.T) {
	for name, leave := range map[string]func(context.CancelFunc, runtime.LogReader){
		"closed":   func(_ context.CancelFunc, reader runtime.LogReader) { _ = reader.Close() },
		"canceled": func(cancel context.CancelFunc, _ runtime.LogReader) { cancel() },
	} {
		t.Run(name, func(t *testing.T) {
			opened := make(chan *output, 1)
			n, _ := serve(t, &fake{logs: func(ctx context.Context, _ string, _ runtime.LogOptions) (runtime.LogReader, error) {
				out := openOutput(ctx)
				opened <- out
				return out, nil
			}})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			failed := goes(func() error {
				reader, err := n.Logs(ctx, "p", runtime.LogOptions{Follow: true})
				if err != nil {
					return err
				}
				if _, err = reader.Next(); err != nil {
					return err
				}
				leave(cancel, reader)
				if _, err = reader.Next(); err == nil || err == io.EOF {
					return errors.New("a log that was left has no clean end")
				}
				return reader.Close()
			})
			out := await(t, "opened", opened)
			out.lines <- line("one")
			await(t, "the node closes what it read", out.closed)
			if err := await(t, "left", failed); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestACutIsNotTheEnd: a connection that is cut midway is an error.
func TestACutIsNotTheEnd(t *testing.T) {
	opened := make(chan *output, 2)
	n, l := serve(t, &fake{
		logs: func(ctx context.Context, _ string, _ runtime.LogOptions) (runtime.LogReader, error) {
			out := openOutput(ctx)
			opened <- out
			return out, nil
		},
		buildLog: func(ctx context.Context, _ string, _ bool, each func(string) error) error {
			err := each("one")
			<-ctx.Done()
			return err
		},
	})
	seen := make(chan string, 1)
	build := goes(func() error {
		return n.BuildLog(t.Context(), "b", true, func(line string) error { seen <- line; return nil })
	})
	await(t, "a line of the build", seen)
	read := goes(func() error {
		reader, err := n.Logs(t.Context(), "p", runtime.LogOptions{Follow: true})
		if err != nil {
			return err
		}
		defer reader.Close()
		if _, err := reader.Next(); err != nil {
			return err
		}
		l.cut()
		_, err = reader.Next()
		return err
	})
	out := await(t, "opened", opened)
	out.lines <- line("one")
	for what, end := range map[string]<-chan error{"log": read, "log of a build": build} {
		if err := await(t, "the cut", end); err == nil || errors.Is(err, io.EOF) || !strings.Contains(err.Error(), "cut") {
			t.Errorf("the %s ends with %v", what, err)
		}
	}
	await(t, "the node closes what it read", out.closed)
	if _, err := n.Logs(t.Context(), "p", runtime.LogOptions{}); err == nil {
		t.Error("a request over a connection that is cut")
	}
}

func TestBuildLog(t *testing.T) {
	stop := errors.New("enough")
	for name, test := range map[string]struct {
		lines []string
		last  error
		each  error
		want  error
	}{
		"lines":        {lines: []string{"one", "", "three"}},
		"none":         {},
		"unknown":      {last: buildlog.ErrNotFound, want: buildlog.ErrNotFound},
		"fails midway": {lines: []string{"one"}, last: runtime.ErrUnavailable, want: runtime.ErrUnavailable},
		"left":         {lines: []string{"one"}, each: stop, want: stop},
	} {
		t.Run(name, func(t *testing.T) {
			n, _ := serve(t, &fake{buildLog: func(_ context.Context, called string, follow bool, each func(string) error) error {
				if called != "prod-web:a/1" || !follow {
					t.Errorf("asked for %q, follow %v", called, follow)
				}
				for _, line := range test.lines {
					if err := each(line); err != nil {
						return err
					}
				}
				return test.last
			}})
			var got []string
			err := n.BuildLog(t.Context(), "prod-web:a/1", true, func(line string) error {
				got = append(got, line)
				return test.each
			})
			if !errors.Is(err, test.want) || (err == nil) != (test.want == nil) {
				t.Errorf("%v, want %v", err, test.want)
			}
			if diff := cmp.Diff(test.lines, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestKeptLogs: the logs of removed containers are listed and read over the connection, and no node lists more than it
// may keep.
func TestKeptLogs(t *testing.T) {
	owner := api.Ref{Kind: api.KindDeployment, Scope: "prod", Name: "web"}
	log := node.KeptLog{Container: "c/1", Owner: owner, OwnerUID: "u1", Slot: "a", KeptAt: line("").At}
	n, _ := serve(t, &fake{
		kept: func(of api.Ref) ([]node.KeptLog, error) {
			if of != owner {
				return nil, errors.New("it was asked for another object")
			}
			return slices.Repeat([]node.KeptLog{log}, 2*node.MaxKeptLogs), nil
		},
		keptLog: func(ctx context.Context, container string, opts runtime.LogOptions) (runtime.LogReader, error) {
			if container != log.Container || opts.Tail != 5 {
				return nil, runtime.ErrNotFound
			}
			return newOutput(ctx, io.EOF, line("one")), nil
		},
	})
	kept, err := n.KeptLogs(t.Context(), owner)
	if err != nil || len(kept) != node.MaxKeptLogs || kept[0] != log {
		t.Fatalf("%d logs, %v", len(kept), err)
	}
	reader, err := n.KeptLog(t.Context(), kept[0].Container, runtime.LogOptions{Tail: 5})
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if got, end := drain(reader); len(got) != 1 || got[0] != line("one") || !errors.Is(end, io.EOF) {
		t.Errorf("%v, %v", got, end)
	}
	if _, err := n.KeptLog(t.Context(), "other", runtime.LogOptions{Tail: 5}); !errors.Is(err, runtime.ErrNotFound) {
		t.Errorf("one that is not kept: %v", err)
	}
}
