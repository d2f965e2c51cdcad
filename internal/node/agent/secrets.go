package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime"
)

// secrets are the secret files of tasks: one folder per task, in memory, one file per secret, numbered in the order of
// their paths in the container. They are written before a container is created and before each start, since a reboot
// removes them, and deleted with the container.
type secrets struct {
	// folder returns the folder, which is in memory.
	folder func(make bool) (string, error)
}

func newSecrets(folder func(make bool) (string, error)) *secrets {
	if folder == nil {
		folder = func(bool) (string, error) { return "", errors.New("this node has none") }
	}
	return &secrets{folder: folder}
}

// mounts returns where a container finds the files.
func (s *secrets) mounts(task string, files map[string]string) []runtime.File {
	dir, _ := s.folder(false) // without a folder, write has failed before
	var out []runtime.File
	for i, path := range slices.Sorted(maps.Keys(files)) {
		out = append(out, runtime.File{Source: secretPath(dir, task, i), Target: path})
	}
	return out
}

func secretPath(dir, task string, number int) string {
	return filepath.Join(dir, task, strconv.Itoa(number))
}

// write writes a task's files to where mounts says, readable only by their owner. It leaves unchanged files alone: a
// running container has them open.
func (s *secrets) write(task string, files map[string]string, by owner) error {
	dir, err := s.folder(true)
	if err != nil {
		return &runtime.RejectedError{
			Reason: "NoMemoryFolder", Detail: fmt.Sprintf("secret files need a folder in memory: %v", err),
			Next: "run the server as root, or set XDG_RUNTIME_DIR to a tmpfs of its user; or leave out `secret_files`",
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, task), 0o700); err != nil {
		return unwritten(err)
	}
	for i, path := range slices.Sorted(maps.Keys(files)) {
		if err := writeSecret(secretPath(dir, task, i), files[path], by); err != nil {
			return err
		}
	}
	return nil
}

func writeSecret(path, content string, by owner) error {
	if there, err := os.ReadFile(path); err == nil && bytes.Equal(there, []byte(content)) {
		return nil // owner and mode were set before it got its name
	}
	fresh := path + ".new"
	if err := os.Remove(fresh); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return unwritten(err)
	}
	err := os.WriteFile(fresh, []byte(content), 0o400)
	if err == nil && by != (owner{os.Geteuid(), os.Getegid()}) {
		if err = os.Chown(fresh, by.uid, by.gid); errors.Is(err, fs.ErrPermission) {
			return errors.Join(&runtime.RejectedError{
				Reason: "SecretFileOwner", Detail: fmt.Sprintf("a file can't be given to user %d, as whom the container runs",
					by.uid),
				Next: fmt.Sprintf("run the server as root, or set `user` to %q", strconv.Itoa(os.Geteuid())),
			}, os.Remove(fresh))
		}
	}
	if err == nil {
		err = os.Rename(fresh, path)
	}
	if err != nil {
		return errors.Join(unwritten(err), os.Remove(fresh))
	}
	return nil
}

func unwritten(err error) error {
	return &runtime.TransientError{
		Reason: "SecretFilesUnwritten", Detail: "write secret files: " + err.Error(),
		Next: "check the folder that the message names; Tend retries",
	}
}

// drop removes a task's files, and the folders with the last of them. What is left over is swept when the agent starts
// again.
func (s *secrets) drop(task string) {
	dir, err := s.folder(false)
	if err != nil {
		return
	}
	_ = os.RemoveAll(filepath.Join(dir, task))
	for range 3 { // those of the node and the cluster too, each if it is empty
		if os.Remove(dir) != nil {
			return
		}
		dir = filepath.Dir(dir)
	}
}

// tasks returns the tasks that have files here.
func (s *secrets) tasks() (ids []string) {
	dir, err := s.folder(false)
	if err != nil {
		return nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, entry := range entries {
		ids = append(ids, entry.Name())
	}
	return ids
}

// placeSecrets writes the files that a task's containers mount. Without the release, a container that was created from
// it is started as it is: its files exist, or its start fails.
func (a *Agent) placeSecrets(ctx context.Context, task api.Task) error {
	release, err := a.releases.of(ctx, task)
	if err != nil || len(release.SecretFiles) == 0 {
		return nil //nolint:nilerr // see above
	}
	by, err := a.ownerOf(ctx, release)
	if err != nil {
		return err
	}
	return a.secrets.write(task.ID, release.SecretFiles, by)
}

// sweepSecrets removes, once the containers are known, the files of those that are gone: a crash left them behind.
func (a *Agent) sweepSecrets(ctx context.Context) error {
	for _, known := range []<-chan struct{}{a.control.Synced(), a.watcher.listed} {
		select {
		case <-known:
		case <-ctx.Done():
			return nil
		}
	}
	mounted := map[string]bool{}
	for _, container := range a.containers.all() {
		mounted[container.Task()] = true
	}
	for _, id := range a.secrets.tasks() {
		if _, known := a.control.Task(id); !known && !mounted[id] {
			a.secrets.drop(id)
		}
	}
	<-ctx.Done()
	return nil
}
