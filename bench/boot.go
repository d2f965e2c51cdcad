package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// boot measures the time from the start of a process until it is ready, with a new folder and again with the same one,
// against a bare embedded etcd. Tend is ready when /readyz answers 200: its store was read, every object and task was
// reconciled, the engine was listed.
func boot(ctx context.Context, l *harness) error {
	turn := 0
	again := times{}
	// An election's wait is random, so a single start proves little: there are many, and they are short.
	t, err := l.take(ctx, "boot", 3*l.pairs, side{"etcd", func(ctx context.Context) (time.Duration, error) {
		turn++
		dir := filepath.Join(l.dir, fmt.Sprintf("etcd-%d", turn))
		first, err := l.bootBare(ctx, dir)
		if err != nil {
			return 0, err
		}
		second, err := l.bootBare(ctx, dir)
		again["etcd"] = append(again["etcd"], second)
		return first, err
	}}, side{"tend", func(ctx context.Context) (time.Duration, error) {
		root := filepath.Join(l.dir, fmt.Sprintf("boot-%d", turn))
		first, err := l.bootTend(ctx, root)
		if err != nil {
			return 0, err
		}
		second, err := l.bootTend(ctx, root)
		again["tend"] = append(again["tend"], second)
		return first, err
	}})
	if err != nil {
		return err
	}
	compare("boot", t, "tend", "etcd", "bare-etcd")
	compare("boot-again", again, "tend", "etcd", "bare-etcd")
	return nil
}

func (l *harness) bootTend(ctx context.Context, root string) (time.Duration, error) {
	s, err := startServer(ctx, l.tend, root, "--network", l.network)
	if err != nil {
		return 0, err
	}
	return s.boot, s.stop()
}

func (l *harness) bootBare(ctx context.Context, dir string) (time.Duration, error) {
	b, err := startBare(ctx, dir)
	if err != nil {
		return 0, err
	}
	return b.boot, b.stop()
}

// bareEtcd is bench itself, run as a bare etcd.
type bareEtcd struct {
	command *exec.Cmd
	input   io.Closer
	boot    time.Duration
}

func startBare(ctx context.Context, dir string) (*bareEtcd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	b := &bareEtcd{command: exec.CommandContext(ctx, self, "-bare-etcd", dir)}
	b.command.SysProcAttr = ownGroup()
	b.command.Stderr = os.Stderr
	if b.input, err = b.command.StdinPipe(); err != nil {
		return nil, err
	}
	output, err := b.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if err := b.command.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(output).ReadString('\n')
	b.boot = time.Since(began)
	if err == nil && line != "ready\n" {
		err = fmt.Errorf("the bare etcd said %q", line)
	}
	if err != nil {
		return nil, errors.Join(err, b.stop())
	}
	return b, nil
}

func (b *bareEtcd) stop() error { return errors.Join(b.input.Close(), b.command.Wait()) }
