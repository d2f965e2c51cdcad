//go:build linux

package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/node/runtime/process/shim"
)

// Start implements runtime.Runtime.
func (r *Runtime) Start(ctx context.Context, id string) error {
	dir, record, err := r.find(ctx, id)
	if err != nil {
		return err
	}
	unlock, err := r.locks.lock(ctx, record.ID)
	if err != nil {
		return err
	}
	defer unlock()
	if err := r.start(dir, record); err != nil {
		return r.diskFull("start "+record.Name, fmt.Errorf("start %s: %w", record.Name, err))
	}
	return nil
}

func (r *Runtime) start(dir string, record shim.Record) error {
	status, err := shim.ReadStatus(dir)
	if err != nil {
		return err
	}
	if status.Abandoned {
		if err := bury(dir, record); err != nil {
			return err
		}
	}
	// A container that waits for its next restart is active too: its shim restarts it.
	if status.Active() {
		return nil
	}
	if err := r.portsFree(record); err != nil {
		return err
	}
	env, err := r.open(record)
	if err != nil {
		return err
	}
	child, err := shim.Spawn(dir, env)
	var failed *shim.StartError
	switch {
	case errors.Is(err, shim.ErrRunning):
		return r.adopt(dir, record)
	case errors.As(err, &failed):
		return &runtime.RejectedError{Reason: failed.Reason, Detail: failed.Text, Next: failed.Next}
	case err != nil:
		return err
	}
	for _, message := range child.Early {
		r.pass(record, message)
	}
	r.watch(dir, record, child.Conn, child.Reap)
	return nil
}

// Stop implements runtime.Runtime. The shim continues the stop if the caller's context ends.
func (r *Runtime) Stop(ctx context.Context, id string, grace time.Duration) error {
	dir, record, err := r.find(ctx, id)
	if errors.Is(err, runtime.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := r.stop(ctx, dir, record, grace); err != nil {
		return fmt.Errorf("stop %s: %w", record.Name, err)
	}
	return nil
}

// stop doesn't hold the container's lock while it waits, so that a Remove needn't wait.
func (r *Runtime) stop(ctx context.Context, dir string, record shim.Record, grace time.Duration) error {
	started, err := r.locks.lock(ctx, record.ID)
	if err != nil {
		return err
	}
	started()
	if err := r.end(ctx, dir, record, grace); err != nil {
		return err
	}
	unlock, err := r.locks.lock(ctx, record.ID)
	if err != nil {
		return err
	}
	defer unlock()
	return bury(dir, record)
}

// end asks the container's shim to stop it, and returns once the shim has ended.
func (r *Runtime) end(ctx context.Context, dir string, record shim.Record, grace time.Duration) error {
	conn, err := shim.Stop(dir, grace)
	if err == nil {
		stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
		// The shim closes the connection when it ends. It sends "stopped" before, unless it was killed.
		for err == nil {
			_, err = conn.Next()
		}
		stop()
		_ = conn.Close()
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	r.shells.end(record.ID)
	return r.gone(ctx, dir)
}

// gone waits until the shim has ended, which is shortly after its answer.
func (r *Runtime) gone(ctx context.Context, dir string) error {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		status, err := shim.ReadStatus(dir)
		if err != nil {
			return ignoreRemoved(err)
		}
		if !status.Shim.Alive() {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Remove implements runtime.Runtime.
func (r *Runtime) Remove(ctx context.Context, id string) error {
	dir, record, err := r.find(ctx, id)
	if errors.Is(err, runtime.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	unlock, err := r.locks.lock(ctx, record.ID)
	if err != nil {
		return err
	}
	defer unlock()
	if err := r.remove(ctx, dir, record); err != nil {
		return fmt.Errorf("remove %s: %w", record.Name, err)
	}
	return nil
}

func (r *Runtime) remove(ctx context.Context, dir string, record shim.Record) error {
	if err := r.end(ctx, dir, record, 0); err != nil {
		return err
	}
	if err := bury(dir, record); err != nil {
		return err
	}
	shim.RemoveGroup(record.ID)
	unlock, err := r.lockNames(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	// The folder is renamed first. An interrupted removal then counts as done, and the rest is swept up later.
	old := filepath.Join(r.dir, trash+"old-"+record.ID)
	if err := os.Rename(dir, old); err != nil {
		return ignoreRemoved(err)
	}
	r.events.emit(eventOf(record, runtime.EventDestroy))
	r.prune()
	return os.RemoveAll(old)
}
