//go:build integration

package hosts

import (
	"bytes"
	"io"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// process is a program that runs on a host, with its output.
type process struct {
	command *exec.Cmd
	ended   chan struct{}

	mu   sync.Mutex
	text bytes.Buffer
}

func start(t testing.TB, command *exec.Cmd) *process {
	t.Helper()
	return startInto(t, command, nil)
}

// startInto is start with a writer for what the program prints besides its errors; nil keeps that with them.
func startInto(t testing.TB, command *exec.Cmd, output io.Writer) *process {
	t.Helper()
	p := &process{command: command, ended: make(chan struct{})}
	command.Stdout, command.Stderr = p, p
	if output != nil {
		command.Stdout = output
	}
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = command.Wait() // its ProcessState shows the result
		close(p.ended)
	}()
	return p
}

// end sends a signal and waits for the end.
func (p *process) end(signal syscall.Signal) {
	_ = p.command.Process.Signal(signal) // it may have ended
	<-p.ended
}

func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(b)
}

func (p *process) tail() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(p.text.String()), "\n")
	return strings.Join(lines[max(len(lines)-30, 0):], "\n")
}
