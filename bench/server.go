package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"tend.dev/tend/client"
)

// server is one `tend dev` process.
type server struct {
	command *exec.Cmd
	exited  chan error
	client  *client.Client
	root    string
	// boot is the time from its start to readiness.
	boot time.Duration
}

// readyWithin bounds a start, readyPoll is the time between two questions.
const (
	readyWithin = 30 * time.Second
	readyPoll   = time.Millisecond
)

// startServer starts a server and waits until it is ready. Its log goes to a file beside its root.
func startServer(ctx context.Context, tend, root string, flags ...string) (*server, error) {
	log, err := os.OpenFile(root+".log", os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	s := &server{root: root, exited: make(chan error, 1)}
	if s.client, err = client.New(client.Options{Server: "unix://" + filepath.Join(root, client.SocketName)}); err != nil {
		return nil, err
	}
	s.command = exec.Command(tend, append([]string{"dev", "--runtime", "docker", "--root", root}, flags...)...)
	s.command.Stdout, s.command.Stderr = log, log
	s.command.SysProcAttr = ownGroup()
	began := time.Now()
	if err := s.command.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w: run `make build` first", tend, err)
	}
	go func() { s.exited <- s.command.Wait() }()
	if err := s.awaitReady(ctx); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	s.boot = time.Since(began)
	return s, nil
}

// ownGroup puts children into a process group of their own, so that an interrupt at the terminal reaches only bench,
// which stops them in order.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}

func (s *server) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	again := time.NewTicker(readyPoll)
	defer again.Stop()
	for {
		if readiness, err := s.client.Readiness(ctx); err == nil && readiness.Ready {
			return nil
		}
		select {
		case <-again.C:
		case err := <-s.exited:
			s.exited <- err
			return fmt.Errorf("the server ended before it was ready: %v; see %s.log", err, s.root)
		case <-ctx.Done():
			return fmt.Errorf("the server was not ready: %w", ctx.Err())
		}
	}
}

func (s *server) pid() int { return s.command.Process.Pid }

// stop ends the server; its containers keep running.
func (s *server) stop() error {
	defer s.client.Close()
	_ = s.command.Process.Signal(syscall.SIGTERM) // it may have ended by itself: the wait shows it
	select {
	case err := <-s.exited:
		return err
	case <-time.After(40 * time.Second):
		_ = s.command.Process.Kill()
		return fmt.Errorf("the server did not stop in 40 s: %w", <-s.exited)
	}
}
