package session_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/node/runtime"
)

// runs returns a node on which every command is a program.
func runs(program func(c *command) (int, error)) (*fake, <-chan *command) {
	started := make(chan *command, 100)
	return &fake{exec: func(context.Context, string, runtime.ExecOptions) (runtime.Exec, error) {
		c := start(program)
		started <- c
		return c, nil
	}}, started
}

func run(t *testing.T, n nodeExec, opts runtime.ExecOptions) runtime.Exec {
	t.Helper()
	running, err := n.Exec(t.Context(), "p", opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = running.Close() })
	return running
}

type nodeExec interface {
	Exec(ctx context.Context, pod string, opts runtime.ExecOptions) (runtime.Exec, error)
}

// TestExecEchoes: input of many frames comes back whole, beside stderr, and then the exit code.
func TestExecEchoes(t *testing.T) {
	var asked runtime.ExecOptions
	n, _ := serve(t, &fake{exec: func(_ context.Context, pod string, opts runtime.ExecOptions) (runtime.Exec, error) {
		asked = opts
		return start(func(c *command) (int, error) {
			fmt.Fprint(c.errs, "in "+pod)
			_, err := io.Copy(c.out, c.in)
			return 42, err
		}), nil
	}})
	want := runtime.ExecOptions{Command: []string{"cat", "a\nb"}, Env: []string{"A=1"}, User: "me", WorkingDir: "/",
		TTY: true, Stdin: true, Width: 80, Height: 25}
	running := run(t, n, want)
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Error(diff)
	}
	text := bytes.Repeat([]byte("0123456789abcdef"), 20_000) // five frames, and more than a stream's window
	wrote := goes(func() error {
		if n, err := running.Stdin().Write(text); n != len(text) || err != nil {
			return fmt.Errorf("wrote %d: %w", n, err)
		}
		return running.Stdin().Close()
	})
	var stderr []byte
	complained := goes(func() (err error) {
		stderr, err = io.ReadAll(running.Stderr())
		return err
	})
	stdout, err := io.ReadAll(running.Stdout())
	if err != nil || !bytes.Equal(stdout, text) {
		t.Errorf("%d bytes of %d, %v", len(stdout), len(text), err)
	}
	if err := await(t, "stderr ends", complained); err != nil || string(stderr) != "in p" {
		t.Errorf("stderr %q %v", stderr, err)
	}
	if err := await(t, "all is written", wrote); err != nil {
		t.Error(err)
	}
	if code, err := running.Wait(t.Context()); code != 42 || err != nil {
		t.Errorf("exit %d, %v", code, err)
	}
}

func TestExecResizes(t *testing.T) {
	n, started := func() (nodeExec, <-chan *command) {
		f, started := runs(func(c *command) (int, error) { _, _ = io.Copy(io.Discard, c.in); return 0, nil })
		n, _ := serve(t, f)
		return n, started
	}()
	running := run(t, n, runtime.ExecOptions{TTY: true, Stdin: true})
	for _, size := range [][2]int{{80, 25}, {120, 50}} {
		if err := running.Resize(t.Context(), size[0], size[1]); err != nil {
			t.Fatal(err)
		}
	}
	c := <-started
	if first, second := await(t, "resized", c.sizes), await(t, "resized", c.sizes); first != [2]int{80, 25} ||
		second != [2]int{120, 50} {
		t.Errorf("%v, %v", first, second)
	}
	closeAll(t, running.Stdin())
	if code, err := running.Wait(t.Context()); code != 0 || err != nil {
		t.Errorf("exit %d, %v", code, err)
	}
}

// TestExecWithoutInput: nothing to write to, and the command still runs to its end.
func TestExecWithoutInput(t *testing.T) {
	f, _ := runs(func(c *command) (int, error) { fmt.Fprint(c.out, "done"); return 7, nil })
	n, _ := serve(t, f)
	running := run(t, n, runtime.ExecOptions{})
	if running.Stdin() != nil {
		t.Error("a command without input has one")
	}
	if out, err := io.ReadAll(running.Stdout()); string(out) != "done" || err != nil {
		t.Errorf("%q %v", out, err)
	}
	if code, err := running.Wait(t.Context()); code != 7 || err != nil {
		t.Errorf("exit %d, %v", code, err)
	}
}

// TestExecThatIsLeft: a client that closes, or whose context ends, or whose connection is cut, ends the command.
func TestExecThatIsLeft(t *testing.T) {
	for name, leave := range map[string]func(runtime.Exec, context.CancelFunc, *link){
		"closed":   func(running runtime.Exec, _ context.CancelFunc, _ *link) { _ = running.Close() },
		"canceled": func(_ runtime.Exec, cancel context.CancelFunc, _ *link) { cancel() },
		"cut":      func(_ runtime.Exec, _ context.CancelFunc, l *link) { l.cut() },
	} {
		t.Run(name, func(t *testing.T) {
			f, started := runs(func(c *command) (int, error) { _, err := io.Copy(c.out, c.in); return 0, err })
			n, l := serve(t, f)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			running, err := n.Exec(ctx, "p", runtime.ExecOptions{Stdin: true})
			if err != nil {
				t.Fatal(err)
			}
			defer running.Close()
			c := <-started
			leave(running, cancel, l)
			await(t, "the command is ended", c.closed)
			if code, err := running.Wait(t.Context()); err == nil {
				t.Errorf("it was left and exited with %d", code)
			}
		})
	}
}

// TestExecThatDoesNotStart: the error keeps its identity.
func TestExecThatDoesNotStart(t *testing.T) {
	problem := &api.Problem{Title: "Own", Status: 409, Detail: "not now", Next: "later"}
	for _, want := range []error{node.ErrNoPod, runtime.ErrUnavailable, runtime.ErrNotFound,
		runtime.ErrUnsupported, problem} {
		n, _ := serve(t, &fake{exec: func(context.Context, string, runtime.ExecOptions) (runtime.Exec, error) {
			return nil, fmt.Errorf("p: %w", want)
		}})
		_, err := n.Exec(t.Context(), "p", runtime.ExecOptions{Stdin: true})
		var got *api.Problem
		if errors.As(want, &got) && errors.As(err, &got) && cmp.Equal(got, problem) {
			continue
		}
		if !errors.Is(err, want) || !strings.HasPrefix(err.Error(), "p: ") {
			t.Errorf("%v, want %v", err, want)
		}
	}
}

// TestExecThatBreaks: a command whose outcome the node doesn't know ends with the node's error.
func TestExecThatBreaks(t *testing.T) {
	f, _ := runs(func(*command) (int, error) { return 0, fmt.Errorf("wait: %w", runtime.ErrUnavailable) })
	n, _ := serve(t, f)
	if _, err := run(t, n, runtime.ExecOptions{}).Wait(t.Context()); !errors.Is(err, runtime.ErrUnavailable) {
		t.Errorf("%v", err)
	}
}

// TestACommandThatReadsNothing: its end ends what is still written to it.
func TestACommandThatReadsNothing(t *testing.T) {
	f, _ := runs(func(*command) (int, error) { return 3, nil })
	n, _ := serve(t, f)
	running := run(t, n, runtime.ExecOptions{Stdin: true})
	wrote := goes(func() error { _, err := running.Stdin().Write(make([]byte, 8<<20)); return err })
	if code, err := running.Wait(t.Context()); code != 3 || err != nil {
		t.Errorf("exit %d, %v", code, err)
	}
	if err := await(t, "the writer returns", wrote); err == nil {
		t.Error("all was written to a command that has ended")
	}
}
