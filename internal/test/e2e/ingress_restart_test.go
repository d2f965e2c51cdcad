//go:build integration

package e2e

import (
	"context"
	"net"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"tend.dev/tend/api"
)

// startOn starts a server that is handed a listening socket, as a service manager does.
func (f *front) startOn(socket *os.File) {
	f.Helper()
	p := &process{t: f.T, output: &words{}, ended: make(chan struct{})}
	args := append([]string{"-c", `LISTEN_PID=$$ exec "$0" "$@"`, tendBinary, "server", "--root", f.root, "--http", "off",
		"--network", f.network}, f.flags...)
	p.cmd = exec.Command("sh", args...)
	p.cmd.Env = append(os.Environ(), append(f.env, "LISTEN_FDS=1")...)
	p.cmd.ExtraFiles = []*os.File{socket}
	p.cmd.Stdout, p.cmd.Stderr = p.output, p.output
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.cmd.Start(); err != nil {
		f.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait() // its ProcessState shows the result
		close(p.ended)
	}()
	f.process = p
	f.until("the server is ready", func() bool {
		readiness, err := f.client.Readiness(f.Context())
		return err == nil && readiness.Ready
	})
}

// TestRestartOnAKeptSocket: a server that was handed its socket is restarted under load, and no request fails: neither
// on new connections, which wait for the next server, nor on kept ones.
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
