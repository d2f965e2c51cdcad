//go:build linux

package process

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/node/runtime/process/shim"
)

// trash is the prefix of folders that are being created or removed.
const trash = "."

// each calls f for every container of every cluster. It skips containers that are removed meanwhile, damaged ones, and
// entries that are not containers: one entry must not hide the others. damaged lists the damaged ones.
func (r *Runtime) each(f func(dir string, record shim.Record) error) error {
	_, err := r.scan(f)
	return err
}

// scan is each, and also returns the paths of the damaged entries.
func (r *Runtime) scan(f func(dir string, record shim.Record) error) (damaged []string, err error) {
	entries, err := os.ReadDir(r.dir)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", runtime.ErrUnavailable, err)
	}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), trash) {
			continue
		}
		dir := filepath.Join(r.dir, entry.Name())
		record, err := shim.ReadRecord(dir)
		switch {
		case err == nil && record.ID == entry.Name():
			err = f(dir, record)
		case err != nil && removedMeanwhile(dir):
			continue
		default:
			damaged = append(damaged, dir)
			continue
		}
		if err != nil {
			return damaged, err
		}
	}
	return damaged, nil
}

// removedMeanwhile reports whether an entry was removed since its folder was listed.
func removedMeanwhile(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, os.ErrNotExist)
}

// damaged returns the entries of the containers' folder that can't be read. Each may be a container, so while there are
// any, nothing that a container may use is deleted.
func (r *Runtime) damaged() []string {
	found, _ := r.scan(func(string, shim.Record) error { return nil })
	return found
}

func (r *Runtime) owns(record shim.Record) bool {
	return record.Labels[api.LabelCluster] == r.opts.Cluster
}

// find returns the folder and record of a container of the cluster, by id or name.
func (r *Runtime) find(ctx context.Context, id string) (dir string, record shim.Record, err error) {
	if err := r.check(ctx); err != nil {
		return "", record, err
	}
	if validID(id) {
		dir = filepath.Join(r.dir, id)
		if record, err = shim.ReadRecord(dir); err == nil && r.owns(record) && record.ID == id {
			return dir, record, nil
		}
	}
	dir = ""
	err = r.each(func(at string, other shim.Record) error {
		if other.Name == id && r.owns(other) {
			dir, record = at, other
		}
		return nil
	})
	if err == nil && dir == "" {
		err = fmt.Errorf("container %s: %w", id, runtime.ErrNotFound)
	}
	return dir, record, err
}

// validID reports whether a name from outside is an id, and therefore not a path.
func validID(id string) bool {
	return len(id) == idLength && strings.Trim(id, "0123456789abcdef") == ""
}

// check returns an error if the runtime is closed or the caller's context has ended.
func (r *Runtime) check(ctx context.Context) error {
	if r.ctx.Err() != nil {
		return runtime.ErrUnavailable
	}
	return ctx.Err()
}

// List implements runtime.Runtime.
func (r *Runtime) List(ctx context.Context) ([]runtime.Container, error) {
	if err := r.check(ctx); err != nil {
		return nil, err
	}
	var out []runtime.Container
	err := r.each(func(dir string, record shim.Record) error {
		if !r.owns(record) {
			return nil
		}
		if container, err := view(dir, record); err == nil {
			out = append(out, container)
		}
		return nil
	})
	slices.SortFunc(out, func(a, b runtime.Container) int { return strings.Compare(a.Name, b.Name) })
	return out, err
}

func ignoreRemoved(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// Inspect implements runtime.Runtime.
func (r *Runtime) Inspect(ctx context.Context, id string) (runtime.Container, error) {
	dir, record, err := r.find(ctx, id)
	if err != nil {
		return runtime.Container{}, err
	}
	return view(dir, record)
}

// view returns the container of a record, with its present status.
func view(dir string, record shim.Record) (runtime.Container, error) {
	status, err := shim.ReadStatus(dir)
	if err != nil {
		return runtime.Container{}, err
	}
	container := runtime.Container{
		ID: record.ID, Name: record.Name, Labels: maps.Clone(record.Labels), State: status.State, Restart: record.Restart,
		RestartCount: status.RestartCount, ExitCode: status.ExitCode, OOMKilled: status.OOMKilled, Error: status.Error,
		ImageID: record.ImageID, CreatedAt: record.CreatedAt, StartedAt: status.StartedAt, FinishedAt: status.FinishedAt,
		PID: status.PID,
	}
	if status.State == runtime.StateRunning {
		container.Address, container.Ports = api.Loopback, record.Ports
	}
	return container, nil
}
