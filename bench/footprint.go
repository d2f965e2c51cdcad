package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

const (
	// idleFor is the time for which an idle server's use is watched, restFor that for which it rests before.
	idleFor = 20 * time.Second
	restFor = 3 * time.Second
)

// idle measures the use of a server that has nothing to do: memory after its start, then memory and processor with 20
// containers, which it compares with the engine's list every 10 s.
func idle(ctx context.Context, l *harness) error {
	fresh, err := startServer(ctx, l.tend, filepath.Join(l.dir, "idle"), "--network", l.network)
	if err != nil {
		return err
	}
	rest(ctx, restFor)
	megabytes, err := residentMB(fresh.pid())
	if err != nil {
		return err
	}
	value("idle-memory", megabytes, "MB")
	if err := fresh.stop(); err != nil {
		return err
	}
	if err := l.idleBare(ctx); err != nil {
		return err
	}
	return l.idleWith(ctx, 20)
}

func (l *harness) idleBare(ctx context.Context) error {
	bare, err := startBare(ctx, filepath.Join(l.dir, "idle-etcd"))
	if err != nil {
		return err
	}
	rest(ctx, restFor)
	megabytes, err := residentMB(bare.command.Process.Pid)
	if err == nil {
		value("idle-memory-bare-etcd", megabytes, "MB")
	}
	return errors.Join(err, bare.stop())
}

func (l *harness) idleWith(ctx context.Context, n int) error {
	s, err := startServer(ctx, l.tend, filepath.Join(l.dir, "idle"), "--network", l.network)
	if err != nil {
		return err
	}
	other := *l
	other.server, other.follow = s, followDeployments(s.client)
	d := other.deployment(n)
	if _, err = d.deploy(ctx); err == nil {
		err = watchIdle(ctx, s)
	}
	if err == nil {
		err = d.remove(ctx)
	}
	other.follow.close()
	if stopErr := s.stop(); err == nil {
		err = stopErr
	}
	return err
}

func watchIdle(ctx context.Context, s *server) error {
	rest(ctx, restFor)
	before, err := processorTimeOf(s.pid())
	if err != nil {
		return err
	}
	rest(ctx, idleFor)
	after, err := processorTimeOf(s.pid())
	if err != nil {
		return err
	}
	megabytes, err := residentMB(s.pid())
	if err != nil {
		return err
	}
	value("idle-memory-20", megabytes, "MB")
	value("idle-processor-20", 100*(after-before).Seconds()/idleFor.Seconds(), "% of a core")
	return nil
}

func rest(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// binarySize prints the size of the binary without its symbols.
func binarySize(ctx context.Context, l *harness) error {
	stripped := filepath.Join(l.dir, "stripped")
	path := stripped
	if exec.CommandContext(ctx, "strip", "-o", stripped, l.tend).Run() != nil {
		path = l.tend // make build has stripped it
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	value("binary", float64(info.Size())/1e6, "MB")
	return nil
}
