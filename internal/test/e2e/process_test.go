//go:build integration

package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// process is a running tend with its output.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	output *words
	ended  chan struct{}
}

// spawn starts the binary in a process group of its own and watches over its end.
func spawn(t *testing.T, args []string, env ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.Command(tendBinary, args...), output: &words{}, ended: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stdout, p.cmd.Stderr = p.output, p.output
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait() // its ProcessState shows the result
		close(p.ended)
	}()
	return p
}

// kill ends the process as a crash does.
func (p *process) kill() {
	_ = p.cmd.Process.Signal(syscall.SIGKILL) // it may have ended
	<-p.ended
}

// terminate stops the process and returns the time that it took.
func (p *process) terminate() time.Duration {
	p.t.Helper()
	began := time.Now()
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	if code := p.exit(); code != 0 {
		p.t.Errorf("after SIGTERM the server ended with %d:\n%s", code, p.output.tail())
	}
	return time.Since(began)
}

// exit waits for the end and returns the exit code.
func (p *process) exit() int {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.t.Fatalf("the process did not end:\n%s", p.output.tail())
	}
	return p.cmd.ProcessState.ExitCode()
}

// words collects the output of a process.
type words struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (w *words) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(b)
}

func (w *words) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

func (w *words) tail() string {
	lines := strings.Split(strings.TrimSpace(w.String()), "\n")
	return strings.Join(lines[max(len(lines)-40, 0):], "\n")
}
