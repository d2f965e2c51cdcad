package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// boot is the start of a process → ready, on a new folder and on the same one again, against a bare embedded etcd; and
// what a bare one holds in memory. Tend is ready when /readyz says so: its store was read, every object and task was looked
// at, the engine was listed.
func boot(ctx context.Context, l *lab) error {
	turn, bare := 0, 0.0
	again := times{}
	t, err := l.take(ctx, "boot", l.pairs, side{"etcd", func(ctx context.Context) (time.Duration, error) {
		turn++
		dir := filepath.Join(l.dir, fmt.Sprintf("etcd-%d", turn))
		first, err := l.bootBare(ctx, dir, &bare)
		if err != nil {
			return 0, err
		}
		second, err := l.bootBare(ctx, dir, &bare)
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
	value("idle-memory-bare-etcd", bare, "MB")
	return nil
}

func (l *lab) bootTend(ctx context.Context, root string) (time.Duration, error) {
	s, err := startServer(ctx, l.tend, root, "--network", l.network)
	if err != nil {
		return 0, err
	}
	return s.boot, s.stop()
}

// bootBare runs bench itself as a bare etcd, and looks at its memory at the end.
func (l *lab) bootBare(ctx context.Context, dir string, megabytes *float64) (took time.Duration, err error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	command := exec.CommandContext(ctx, self, "-bare-etcd", dir)
	command.SysProcAttr = ownGroup()
	command.Stderr = os.Stderr
	input, err := command.StdinPipe()
	if err != nil {
		return 0, err
	}
	output, err := command.StdoutPipe()
	if err != nil {
		return 0, err
	}
	began := time.Now()
	if err := command.Start(); err != nil {
		return 0, err
	}
	line, err := bufio.NewReader(output).ReadString('\n')
	took = time.Since(began)
	if err == nil && line != "ready\n" {
		err = fmt.Errorf("the bare etcd said %q", line)
	}
	if err == nil {
		*megabytes, err = residentMB(command.Process.Pid)
	}
	return took, errors.Join(err, input.Close(), command.Wait())
}
