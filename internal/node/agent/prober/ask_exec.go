package prober

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"sync"
	"time"

	"tend.dev/tend/internal/core/probe"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/platform/recovery"
)

const (
	// killTime bounds the killing of a command.
	killTime = 5 * time.Second
	// keptOutput is the size of a command's output that is kept for the failure message.
	keptOutput = 8 << 10
)

// exec passes when the command exits with 0. Its timeout runs from its start. On timeout, or when the attempt is
// cancelled, the command is killed. A start is never cancelled: the started command could then not be killed.
func (q *questions) exec(ctx context.Context, a Attempt) error {
	starting, cancel := context.WithTimeout(context.WithoutCancel(ctx), engineTime)
	defer cancel()
	command, err := q.containers.Exec(starting, a, a.Probe.Exec.Command)
	if err != nil {
		return notRunning(err)
	}
	tail := follow(command)
	ctx, cancel = context.WithTimeout(ctx, a.Timeout)
	defer cancel()
	code, err := command.Wait(ctx)
	switch {
	case ctx.Err() != nil && err != nil:
		return q.kill(ctx, a, command, tail)
	case err != nil:
		_ = command.Close()
		return err
	}
	_ = command.Close()
	said := tail.wait()
	if code == 0 {
		return nil
	}
	if said == "" {
		return fmt.Errorf("%s ended with exit code %d %s", program(a), code, probe.Silent)
	}
	return fmt.Errorf("%s ended with exit code %d: %s", program(a), code, said)
}

// program returns the program of an attempt, without its arguments: they may hold a password.
func program(a Attempt) string { return path.Base(a.Probe.Exec.Command[0]) }

// kill kills a command that kept running. The attempt counts as failed, whether the kill succeeds or not.
func (q *questions) kill(ctx context.Context, a Attempt, command runtime.Exec, tail *tail) error {
	killing, cancel := context.WithTimeout(context.WithoutCancel(ctx), killTime)
	defer cancel()
	err := runtime.Kill(killing, command)
	tail.wait()
	if err != nil {
		return fmt.Errorf("%s still ran after %s and goes on, for killing it failed: %w", program(a), a.Timeout,
			stripped(err))
	}
	return fmt.Errorf("%s still ran after %s and was killed", program(a), a.Timeout)
}

// stripped keeps only an error's text: that the engine can't be reached for the kill must not keep the attempt from
// counting.
func stripped(err error) error { return errors.New(err.Error()) }

// notRunning converts errors that don't concern the program: the container is just ending, or the engine doesn't
// answer in time.
func notRunning(err error) error {
	var rejected *runtime.RejectedError
	if errors.As(err, &rejected) && rejected.Reason == "NotRunning" || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%w: %w", ErrNotRunning, err)
	}
	return err
}

// tail keeps the end of a command's output, and reads the rest so that the command never blocks on a full pipe.
type tail struct {
	mu   sync.Mutex
	kept []byte
	cut  bool // something came before the kept part
	work recovery.Group
}

func follow(command runtime.Exec) *tail {
	t := &tail{}
	for _, output := range []io.Reader{command.Stdout(), command.Stderr()} {
		t.work.Go(func() { _, _ = io.Copy(t, output) })
	}
	return t
}

// Write implements io.Writer.
func (t *tail) Write(data []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, data...)
	if over := len(t.kept) - keptOutput; over > 0 {
		t.kept, t.cut = append(t.kept[:0], t.kept[over:]...), true
	}
	return len(data), nil
}

// wait returns the last line, once the output has ended. It omits a line whose beginning was not kept: it may start
// within a secret, which could not be recognised.
func (t *tail) wait() string {
	t.work.Wait()
	lines := strings.Split(strings.TrimSpace(string(t.kept)), "\n")
	if t.cut && len(lines) == 1 {
		return fmt.Sprintf("its last line is longer than %d KiB", keptOutput>>10)
	}
	return lines[len(lines)-1]
}
