//go:build linux

package process

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/node/runtime/process/rootfs"
	"tend.dev/tend/internal/node/runtime/process/shim"
	"tend.dev/tend/internal/node/runtime/restart"
)

// idLength is the number of hex digits in a container's id. Docker's ids have the same length.
const idLength = 64

// Create implements runtime.Runtime.
func (r *Runtime) Create(ctx context.Context, spec runtime.ContainerSpec) (runtime.Container, error) {
	container, err := r.create(ctx, spec)
	if err != nil {
		return runtime.Container{}, r.diskFull("create "+spec.Name, fmt.Errorf("create %s: %w", spec.Name, err))
	}
	return container, nil
}

func (r *Runtime) create(ctx context.Context, spec runtime.ContainerSpec) (runtime.Container, error) {
	if err := r.check(ctx); err != nil {
		return runtime.Container{}, err
	}
	if held, err := r.holder(spec); err != nil || held != "" {
		return r.held(held, err)
	}
	if err := unsupported(spec); err != nil {
		return runtime.Container{}, err
	}
	image, err := r.image(ctx, spec)
	if err != nil {
		return runtime.Container{}, err
	}
	unlock, err := r.lockNames(ctx)
	if err != nil {
		return runtime.Container{}, err
	}
	defer unlock()
	// Another call may have created the container while the image was copied.
	if held, err := r.holder(spec); err != nil || held != "" {
		return r.held(held, err)
	}
	return r.make(spec, image)
}

func (r *Runtime) make(spec runtime.ContainerSpec, image rootfs.Image) (runtime.Container, error) {
	record, err := r.record(spec, image)
	if err != nil {
		return runtime.Container{}, err
	}
	if err := r.seal(&record); err != nil {
		return runtime.Container{}, err
	}
	dir, err := r.store(record)
	if err != nil {
		return runtime.Container{}, err
	}
	r.events.emit(eventOf(record, runtime.EventCreate))
	return view(dir, record)
}

// holder returns the folder of the task's existing container with that name. It returns ErrNameTaken if another
// container has the name.
func (r *Runtime) holder(spec runtime.ContainerSpec) (held string, err error) {
	err = r.each(func(dir string, record shim.Record) error {
		switch {
		case record.Name != spec.Name:
			return nil
		case r.owns(record) && record.Labels[api.LabelTask] == spec.Labels[api.LabelTask]:
			held = dir
			return nil
		}
		return runtime.ErrNameTaken
	})
	return held, err
}

func (r *Runtime) held(dir string, err error) (runtime.Container, error) {
	if err != nil {
		return runtime.Container{}, err
	}
	record, err := shim.ReadRecord(dir)
	if err != nil {
		return runtime.Container{}, err
	}
	return view(dir, record)
}

// image returns the image to run: the one pinned by the release, else the declared one.
func (r *Runtime) image(ctx context.Context, spec runtime.ContainerSpec) (rootfs.Image, error) {
	if spec.ImageID == "" {
		return r.local(ctx, spec.Image)
	}
	image, err := r.claim(r.images.ByID(spec.ImageID))
	if err == nil {
		return image, nil
	}
	// The store may have removed the image, or another node may have pinned it: the folder may still hold it.
	image, err = r.local(ctx, spec.Image)
	if err == nil && image.ID != spec.ImageID {
		err = &runtime.RejectedError{
			Reason: "ImageNotFound",
			Detail: fmt.Sprintf("%s no longer has %s of image %s, which now holds %s", r.place(), spec.ImageID, spec.Image, image.ID),
			Next:   "apply again to roll out what the folder holds now",
		}
	}
	return image, err
}

// record resolves everything a container needs, so that its shim has nothing to decide.
func (r *Runtime) record(spec runtime.ContainerSpec, image rootfs.Image) (shim.Record, error) {
	record := shim.Record{
		ID: newID(), Name: spec.Name, Labels: r.labels(spec), Image: spec.Image, ImageID: image.ID,
		CreatedAt: time.Now(), Restart: first(spec.Restart, spec.Spec.Restart, api.DefaultRestart),
	}
	if _, err := restart.Parse(record.Restart); err != nil {
		return record, invalid("restart", err)
	}
	var err error
	if record.LogSize, record.LogFiles, err = logBounds(spec.Spec.Logs); err != nil {
		return record, err
	}
	ports, err := r.allot(spec)
	if err != nil {
		return record, err
	}
	record.Ports = ports
	record.Program, err = r.program(spec, image, record)
	return record, err
}

func (r *Runtime) labels(spec runtime.ContainerSpec) map[string]string {
	labels := map[string]string{}
	maps.Copy(labels, spec.Spec.Labels)
	maps.Copy(labels, spec.Labels)
	labels[api.LabelCluster], labels[api.LabelNode] = r.opts.Cluster, r.opts.Node
	return labels
}

// logBounds returns the size of a log file and the number of files to keep.
func logBounds(logs *api.Logs) (size int64, files int, err error) {
	text, files := api.DefaultLogMaxSize, api.DefaultLogMaxFiles
	if logs != nil && logs.MaxSize != "" {
		text = logs.MaxSize
	}
	if logs != nil && logs.MaxFiles != nil {
		files = *logs.MaxFiles
	}
	size, err = api.ParseSize(text)
	if err != nil {
		return 0, 0, invalid("logs.max_size", err)
	}
	return size, files, nil
}

// store creates the container's folder atomically: a server that is killed here has either created all of it or
// nothing.
func (r *Runtime) store(record shim.Record) (string, error) {
	fresh, err := os.MkdirTemp(r.dir, trash+"new-")
	if err != nil {
		return "", err
	}
	dir := filepath.Join(r.dir, record.ID)
	err = shim.WriteRecord(fresh, record)
	if err == nil {
		err = os.Rename(fresh, dir)
	}
	if err != nil {
		return "", errors.Join(err, os.RemoveAll(fresh))
	}
	return dir, nil
}

func newID() string {
	var raw [idLength / 2]byte
	_, _ = rand.Read(raw[:]) // never fails
	return hex.EncodeToString(raw[:])
}

func first(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

func invalid(field string, err error) error {
	return &runtime.RejectedError{
		Reason: "InvalidOption", Detail: fmt.Sprintf("%s: %v", field, err), Next: "correct " + field + " and apply again",
	}
}

// diskFull marks a full disk as transient, unlike a wrong manifest: the error goes away when there is space again.
func (r *Runtime) diskFull(operation string, err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return runtime.DiskFull(r.place(), operation)
	}
	return err
}

// place is the runtime's machine, as messages name it.
func (r *Runtime) place() string { return "node " + r.opts.Node }
