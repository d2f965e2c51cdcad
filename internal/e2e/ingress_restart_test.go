//go:build integration

package e2e

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"tend.dev/tend/api"
)

// startOn starts a server that is handed a listening socket, as a service manager does.
func (f *front) startOn(socket *os.File) {
	f.Helper()
	p := &process{t: f.T, output: &words{}, ended: make(chan struct{})}
	args := append([]string{"-c", `LISTEN_PID=$$ exec "$0" "$@"`, tendBinary, "server", "--root", f.root, "--http", "off", "--network", f.network}, f.flags...)
	p.cmd = exec.Command("sh", args...)
	p.cmd.Env = append(os.Environ(), append(f.env, "LISTEN_FDS=1")...)
	p.cmd.ExtraFiles = []*os.File{socket}
	p.cmd.Stdout, p.cmd.Stderr = p.output, p.output
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.cmd.Start(); err != nil {
		f.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait() // its state says how it ended
		close(p.ended)
	}()
	f.process = p
	f.until("the server is ready", func() bool {
		readiness, err := f.client.Readiness(f.Context())
		return err == nil && readiness.Ready
	})
}

// TestRestartOnAKeptSocket: a server that was handed its socket is restarted under load, and no request fails: neither on new
// connections, which wait for the next server, nor on kept ones.
func TestRestartOnAKeptSocket(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	plain := listener.Addr().String()
	socket, err := listener.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	listener.Close() // the file holds it open from now on
	f := &front{newMachine(t, "--ingress-http", plain, "--ingress-https", "off"), plain, ""}
	f.afterwards(func() { socket.Close() })
	f.startOn(socket)
	f.deploy(f.manifest("app", replicas(2)))
	f.serve("app", api.IngressSpec{Host: "app.test", Port: 8080})
	ctx, cancel := context.WithCancel(t.Context())
	c := &clients{front: f, ctx: ctx}
	keep := f.asks(f.plain, nil)
	c.run(4, func() error { return c.get(keep, true) })
	c.run(2, func() error { return c.get(keep, false) })
	for range 2 {
		f.terminate()
		f.startOn(socket)
		before := c.served.Load()
		f.until("it serves again", func() bool { return c.served.Load() >= before+100 })
	}
	cancel()
	c.all.Wait()
	if first := c.first.Load(); first != nil {
		t.Errorf("%d of %d requests failed, the first: %s", c.failed.Load(), c.served.Load(), *first)
	}
}

// TestRestartWithoutASocket: new connections are refused until the server is back, which clients can distinguish from an answer;
// a request that was under way is answered.
func TestRestartWithoutASocket(t *testing.T) {
	f := newFront(t)
	f.deploy(f.manifest("app"))
	f.serve("app", api.IngressSpec{Host: "app.test", Port: 8080})
	body, sender := io.Pipe()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://app.test/sum", body)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Expect", "100-continue")
	patient := f.asks(f.plain, nil)
	patient.Transport.(*http.Transport).ExpectContinueTimeout = patience
	answer := make(chan error, 1)
	c := &clients{front: f, ctx: t.Context()}
	go func() { answer <- c.answered(patient, request, "5\n") }()
	if _, err := sender.Write([]byte("he")); err != nil { // it is under way: its pod asked for the body
		t.Fatal(err)
	}
	var refused atomic.Int64
	seen := make(chan struct{})
	again := f.asks(f.plain, nil)
	ctx, cancel := context.WithCancel(t.Context())
	c.ctx = ctx
	c.run(1, func() error {
		err := c.get(again, true)
		if errors.Is(err, syscall.ECONNREFUSED) {
			if refused.Add(1) == 1 {
				close(seen)
			}
			return nil
		}
		if err != nil && (errors.Is(err, syscall.ECONNRESET) || strings.Contains(err.Error(), "EOF")) {
			return nil // it was in the queue of a listener that closed
		}
		return err
	})
	_ = f.cmd.Process.Signal(syscall.SIGTERM)
	<-seen // the listener is closed
	if _, err := sender.Write([]byte("llo")); err != nil {
		t.Fatal(err)
	}
	_ = sender.Close()
	if err := <-answer; err != nil {
		t.Errorf("the request under way: %v", err)
	}
	f.exit()
	f.start()
	f.until("it serves again", func() bool { return c.get(again, true) == nil })
	cancel()
	c.all.Wait()
	if first := c.first.Load(); first != nil {
		t.Errorf("something else than a refusal: %s", *first)
	}
}

// TestAnUnreadyPodGetsNoRequests: from the moment its probe failed, until it passes again.
func TestAnUnreadyPodGetsNoRequests(t *testing.T) {
	f := newFront(t)
	f.deploy(f.manifest("app", replicas(2), asked()))
	f.serve("app", api.IngressSpec{Host: "app.test", Port: 8080})
	client := f.asks(f.plain, nil)
	who := func() string {
		status, text := f.body(client, "http://app.test/")
		if status != http.StatusOK {
			t.Fatalf("%d %q", status, text)
		}
		return text
	}
	both := func() bool { // in turns
		first := who()
		return who() != first
	}
	f.until("both serve", both)
	pod := f.pods("app")[0]
	f.setProbeAnswer(pod, "500")
	f.until("the pod is unready", func() bool { return !f.readiness(pod).Ready })
	f.until("one serves", func() bool { return !both() })
	left := who()
	for range 100 {
		if got := who(); got != left {
			t.Fatalf("%s serves, though it isn't ready", got)
		}
	}
	f.setProbeAnswer(pod, "200")
	f.until("both serve again", both)
}
