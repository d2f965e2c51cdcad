package runtimetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/internal/node/runtime"
)

func testEnv(f *fixture) {
	spec := f.spec("env")
	spec.Env = map[string]string{"GREETING": "a b=c \"d\"", "EMPTY": "", "LINES": "one\ntwo"}
	container := f.start(spec)
	f.inState(container.ID, runtime.StateExited)
	printed := "\n" + strings.Join(texts(f.lines(container.ID, runtime.LogOptions{Tail: -1})), "\n") + "\n"
	for _, want := range []string{"GREETING=a b=c \"d\"", "EMPTY=", "LINES=one\ntwo"} {
		if !strings.Contains(printed, "\n"+want+"\n") {
			f.Errorf("environment lacks %q:%s", want, printed)
		}
	}
}

func testLogs(f *fixture) {
	container := f.start(f.spec("print", "4"))
	f.inState(container.ID, runtime.StateExited)
	var all []runtime.LogLine
	f.eventually("four lines", func() bool {
		all = f.lines(container.ID, runtime.LogOptions{Tail: -1})
		return len(all) == 4
	})
	byStream := map[string][]string{}
	for _, line := range all {
		byStream[line.Stream] = append(byStream[line.Stream], line.Text)
		if line.At.IsZero() {
			f.Errorf("line %+v has no time", line)
		}
	}
	want := map[string][]string{"stdout": {"line 1", "line 3"}, "stderr": {"line 2", "line 4"}}
	if diff := cmp.Diff(want, byStream); diff != "" {
		f.Errorf("logs (-want +got):\n%s", diff)
	}
	if tail := f.lines(container.ID, runtime.LogOptions{Tail: 1}); !slices.Equal(tail, all[3:]) {
		f.Errorf("tail 1 is %v, want %v", tail, all[3:])
	}
	if tail := f.lines(container.ID, runtime.LogOptions{Tail: 0}); len(tail) != 0 {
		f.Errorf("tail 0 is %v", tail)
	}
}

// testLogsFollow: a followed log ends when its container does.
func testLogsFollow(f *fixture) {
	container := f.start(f.spec())
	reader, err := f.runtime.Logs(f.Context(), container.ID, runtime.LogOptions{Follow: true, Tail: -1})
	f.noError("logs", err)
	defer reader.Close()
	first, err := reader.Next()
	f.noError("read", err)
	f.noError("stop", f.runtime.Stop(f.Context(), container.ID, f.Patience))
	second, err := reader.Next()
	f.noError("read", err)
	if first.Text != "waiting" || !strings.HasPrefix(second.Text, "got ") {
		f.Errorf("followed %q, %q", first.Text, second.Text)
	}
	if line, err := reader.Next(); !errors.Is(err, io.EOF) {
		f.Errorf("after the end: %v, %v; want io.EOF", line, err)
	}
}

func testLogsSince(f *fixture) {
	container := f.start(f.spec("print", "1"))
	ended := f.inState(container.ID, runtime.StateExited)
	if lines := f.lines(container.ID,
		runtime.LogOptions{Tail: -1, Since: ended.FinishedAt.Add(time.Hour)}); len(lines) != 0 {
		f.Errorf("lines since an hour after the end: %v", lines)
	}
	if lines := f.lines(container.ID,
		runtime.LogOptions{Tail: -1, Since: ended.StartedAt.Add(-time.Hour)}); len(lines) != 1 {
		f.Errorf("lines since an hour before the start: %v", lines)
	}
}

// testLongLine: a line without end is split into parts marked as such, without loss and without being buffered as a
// whole.
func testLongLine(f *fixture) {
	const width, limit = 200_000, 64 << 10
	container := f.start(f.spec("print", "1", fmt.Sprint(width)))
	f.inState(container.ID, runtime.StateExited)
	total := 0
	lines := f.lines(container.ID, runtime.LogOptions{Tail: -1})
	for i, line := range lines {
		if total += len(line.Text); line.Part != (i < len(lines)-1) {
			f.Errorf("part %d of %d says it is a part: %v", i, len(lines), line.Part)
		}
		if len(line.Text) > limit {
			f.Errorf("a line of %d bytes, want at most %d", len(line.Text), limit)
		}
	}
	if total != width {
		f.Errorf("the line's parts are %d bytes together, want %d", total, width)
	}
}

func (f *fixture) exec(id string, opts runtime.ExecOptions) runtime.Exec {
	f.Helper()
	opts.Command = append(slices.Clone(f.Program), opts.Command...)
	exec, err := f.runtime.Exec(f.Context(), id, opts)
	f.noError("exec", err)
	f.Cleanup(func() { _ = exec.Close() })
	return exec
}

func testExec(f *fixture) {
	container := f.start(f.spec())
	exec := f.exec(container.ID, runtime.ExecOptions{Command: []string{"print", "2"}})
	stdout, err := io.ReadAll(exec.Stdout())
	f.noError("read stdout", err)
	stderr, err := io.ReadAll(exec.Stderr())
	f.noError("read stderr", err)
	if string(stdout) != "line 1\n" || string(stderr) != "line 2\n" {
		f.Errorf("stdout %q, stderr %q", stdout, stderr)
	}
	code, err := exec.Wait(f.Context())
	if code != 0 || err != nil {
		f.Errorf("wait: %d, %v", code, err)
	}
	failing := f.exec(container.ID, runtime.ExecOptions{Command: []string{"exit", "9"}})
	code, err = failing.Wait(f.Context())
	if code != 9 || err != nil {
		f.Errorf("wait for exit 9: %d, %v", code, err)
	}
	env := f.exec(container.ID, runtime.ExecOptions{Command: []string{"env"}, Env: []string{"ONLY=here"}})
	if output, _ := io.ReadAll(env.Stdout()); !strings.Contains(string(output), "ONLY=here\n") {
		f.Errorf("the command's environment lacks what it was given: %s", output)
	}
}

func testExecStdin(f *fixture) {
	container := f.start(f.spec())
	exec := f.exec(container.ID, runtime.ExecOptions{Command: []string{"copy"}, Stdin: true})
	_, err := io.WriteString(exec.Stdin(), "there and back")
	f.noError("write stdin", err)
	f.noError("close stdin", exec.Stdin().Close())
	output, err := io.ReadAll(exec.Stdout())
	if string(output) != "there and back" || err != nil {
		f.Errorf("stdout %q, %v", output, err)
	}
	if code, err := exec.Wait(f.Context()); code != 0 || err != nil {
		f.Errorf("wait: %d, %v", code, err)
	}
}

// testExecKilled: Kill ends a command that ignores every signal it can, and reports its end.
func testExecKilled(f *fixture) {
	container := f.start(f.spec())
	exec := f.exec(container.ID, runtime.ExecOptions{Command: []string{"ignore-term"}})
	_, err := io.ReadFull(exec.Stdout(), make([]byte, len("ignoring")))
	f.noError("read stdout", err)
	ctx, cancel := context.WithTimeout(f.Context(), f.Patience)
	defer cancel()
	f.noError("kill", runtime.Kill(ctx, exec))
	if code, err := exec.Wait(ctx); code != 137 || err != nil {
		f.Errorf("wait after a kill: %d, %v; want 137", code, err)
	}
	f.inState(container.ID, runtime.StateRunning)
}

// testExecClosed: a command whose user goes ends, though it doesn't read its input and ignores signals.
func testExecClosed(f *fixture) {
	container := f.start(f.spec())
	exec := f.exec(container.ID, runtime.ExecOptions{Command: []string{"ignore-term"}})
	_, err := io.ReadFull(exec.Stdout(), make([]byte, len("ignoring")))
	f.noError("read stdout", err)
	f.noError("close", exec.Close())
	ctx, cancel := context.WithTimeout(f.Context(), f.Patience)
	defer cancel()
	if _, err := exec.Wait(ctx); err != nil {
		f.Errorf("it runs on: %v", err)
	}
	f.inState(container.ID, runtime.StateRunning)
}

func testExecStopped(f *fixture) {
	container := f.create(f.spec())
	_, err := f.runtime.Exec(f.Context(), container.ID,
		runtime.ExecOptions{Command: append(slices.Clone(f.Program), "env")})
	var rejected *runtime.RejectedError
	if !errors.As(err, &rejected) || rejected.Reason != "NotRunning" {
		f.Errorf("exec in a container that never started: %v, want a RejectedError NotRunning", err)
	}
}

func testStats(f *fixture) {
	container := f.start(f.spec("eat", "16"))
	f.ready(container.ID)
	ctx, cancel := context.WithTimeout(f.Context(), f.Patience)
	defer cancel()
	stats, err := f.runtime.Stats(ctx, container.ID)
	f.noError("stats", err)
	if stats.MemoryBytes < 16<<20 || stats.PIDs < 1 || stats.At.IsZero() || stats.CPUTime < 0 {
		f.Errorf("stats %+v, want at least 16 MiB and one process", stats)
	}
}
