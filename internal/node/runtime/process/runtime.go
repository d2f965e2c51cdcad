//go:build linux

package process

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/node/runtime/process/rootfs"
	"tend.dev/tend/internal/node/runtime/process/shim"
	"tend.dev/tend/internal/platform/recovery"
	"tend.dev/tend/internal/platform/retention"
)

// Runtime implements runtime.Runtime with processes.
type Runtime struct {
	opts   Options
	dir    string // of containers
	images *rootfs.Store
	ledger *retention.Ledger // of images
	events *events
	locks  keyed
	shells shells

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	work   recovery.Group
}

var _ runtime.Runtime = (*Runtime)(nil)

// New opens the state folder and watches the running containers.
func New(opts Options) (*Runtime, error) {
	root, err := filepath.Abs(opts.Root)
	if err != nil {
		return nil, err
	}
	opts.Root = root
	if opts.Logger == nil {
		opts.Logger = slog.Default()
	}
	if opts.Images == "" {
		opts.Images = filepath.Join(root, "images")
	}
	r := &Runtime{opts: opts, dir: filepath.Join(root, "process", "containers"), events: newEvents(),
		ledger: retention.Open(root, "process-images", opts.Cluster)}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	if err := errors.Join(os.MkdirAll(r.dir, 0o711), os.MkdirAll(opts.Images, 0o711)); err != nil {
		return nil, fmt.Errorf("open process runtime: %w", err)
	}
	if r.images, err = rootfs.Open(filepath.Join(root, "process", "images"), opts.Images); err != nil {
		return nil, fmt.Errorf("open process runtime: %w", err)
	}
	if err := r.recover(); err != nil {
		r.cancel()
		return nil, fmt.Errorf("open process runtime: %w", err)
	}
	return r, nil
}

// recover finishes interrupted removals, and watches the running containers.
func (r *Runtime) recover() error {
	unlock, err := r.lockNames(r.ctx)
	if err != nil {
		return err
	}
	defer unlock()
	r.sweep()
	damaged, err := r.scan(func(dir string, record shim.Record) error {
		if !r.owns(record) {
			return nil
		}
		if err := r.adopt(dir, record); err != nil {
			r.opts.Logger.Warn("a container can't be watched; the others can", "container", record.Name, "folder", dir, "error", err)
		}
		return nil
	})
	for _, path := range damaged {
		r.opts.Logger.Warn("quarantined: not a readable container; left unchanged", "path", path)
	}
	return err
}

// adopt watches a container's shim. If the shim is gone, adopt kills what it left behind. The caller makes sure that
// nothing else starts or ends the container meanwhile.
func (r *Runtime) adopt(dir string, record shim.Record) error {
	conn, err := shim.Watch(dir)
	if errors.Is(err, shim.ErrGone) {
		return bury(dir, record)
	}
	if err == nil {
		r.watch(dir, record, conn, func() {})
	}
	return err
}

// bury kills the processes that outlived a killed shim. The caller makes sure that nothing else starts the container
// meanwhile.
func bury(dir string, record shim.Record) error {
	status, err := shim.ReadStatus(dir)
	if err == nil && status.Abandoned {
		shim.KillLeftovers(record.ID)
		err = shim.SaveEnd(dir, status)
	}
	return ignoreRemoved(err)
}

// Close implements runtime.Runtime.
func (r *Runtime) Close() error {
	r.cancel()
	r.shells.close()
	r.work.Wait()
	return nil
}

// lockNames keeps other callers, in this process and in others, from creating or removing containers.
func (r *Runtime) lockNames(ctx context.Context) (unlock func(), err error) {
	free, err := r.locks.lock(ctx, "/names")
	if err != nil {
		return nil, err
	}
	file, err := os.OpenFile(filepath.Join(filepath.Dir(r.dir), "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		free()
		return nil, err
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX); err != nil {
		free()
		return nil, errors.Join(err, file.Close())
	}
	return func() {
		_ = file.Close()
		free()
	}, nil
}
