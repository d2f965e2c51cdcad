package restore

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"tend.dev/tend/internal/platform/durable"
	"tend.dev/tend/internal/platform/retention"
	"tend.dev/tend/internal/server/backup"
)

// Finish moves the files of a committed restore to their places; it does nothing if there is none. It may be repeated
// after a crash or an error: files that are no longer staged were moved before.
func Finish(root string, logger *slog.Logger) error {
	staged := filepath.Join(root, ready)
	text, err := os.ReadFile(filepath.Join(staged, planFile))
	if errors.Is(err, fs.ErrNotExist) {
		return os.RemoveAll(staged) // everything was moved but the folder itself
	}
	var p plan
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	if err != nil {
		return fmt.Errorf("finish the restore in %s: %w", staged, err)
	}
	m := mover{aside: p.Aside, root: root}
	m.blobs(filepath.Join(staged, "blobs", "sha256"), p.Cluster)
	for _, name := range backup.RootFiles {
		m.move(filepath.Join(staged, "root", name), filepath.Join(root, name), name)
	}
	m.move(filepath.Join(p.Data, member, "member"), filepath.Join(p.Data, "member"), filepath.Join("state", "member"))
	m.move(filepath.Join(staged, "clusters", p.Cluster), filepath.Join(root, "clusters", p.Cluster),
		filepath.Join("clusters", p.Cluster))
	if m.err != nil {
		return fmt.Errorf("finish the restore in %s: %w: fix the cause, then start the server or restore again", staged, m.err)
	}
	logger.Info("restored from a backup", "root", root, "cluster", p.Cluster)
	// Removing the plan ends the restore, so it comes before the folder.
	return errors.Join(os.Remove(filepath.Join(staged, planFile)), durable.Sync(staged), os.RemoveAll(staged),
		os.RemoveAll(filepath.Join(p.Data, member)), durable.Sync(root), durable.Sync(p.Data))
}

// mover moves files until one move fails.
type mover struct {
	root, aside string
	err         error
}

// move moves a staged file or folder to its place, and moves an existing one aside. It does nothing if nothing is
// staged.
func (m *mover) move(staged, place, name string) {
	if m.err != nil {
		return
	}
	if _, err := os.Lstat(staged); err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			m.err = err
		}
		return
	}
	if m.err = os.MkdirAll(filepath.Dir(place), 0o700); m.err != nil {
		return
	}
	if _, err := os.Lstat(place); err == nil {
		if m.err = m.moveAside(place, name); m.err != nil {
			return
		}
	}
	m.err = errors.Join(os.Rename(staged, place), durable.Sync(filepath.Dir(place)))
}

// moveAside moves the existing file in a place aside. A data dir on another disk stays there, under another name.
func (m *mover) moveAside(place, name string) error {
	target := filepath.Join(m.aside, name)
	if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
		return err
	}
	if filepath.Base(place) == "member" {
		beside := filepath.Join(filepath.Dir(place), replaced+"-"+filepath.Base(m.aside))
		if err := os.Rename(place, target); err == nil {
			return nil
		}
		return os.Rename(place, beside)
	}
	return os.Rename(place, target)
}

// blobs moves the missing blobs to their places. An existing blob, which a running container may have mounted, stays
// unless its bytes are wrong.
func (m *mover) blobs(staged, cluster string) {
	entries, err := os.ReadDir(staged)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		m.err = err
		return
	}
	place := filepath.Join(m.root, "blobs", "sha256")
	ledger := retention.Open(m.root, "blobs", cluster)
	for _, entry := range entries {
		from, to := filepath.Join(staged, entry.Name()), filepath.Join(place, entry.Name())
		if m.err = os.MkdirAll(place, 0o700); m.err != nil {
			return
		}
		if sameBytes(from, to) {
			m.err = os.Remove(from)
		} else {
			m.err = errors.Join(os.Chmod(from, 0o644), os.Rename(from, to)) // containers read it as any user
		}
		if m.err != nil {
			return
		}
		_ = ledger.Claim("sha256:" + entry.Name()) // without the claim the file is never collected, which does no harm
	}
	if len(entries) > 0 {
		m.err = durable.Sync(place)
	}
}

func sameBytes(one, two string) bool {
	info, err := os.Stat(two)
	if err != nil {
		return false
	}
	if other, err := os.Stat(one); err != nil || other.Size() != info.Size() {
		return false
	}
	a, errA := sumOf(one)
	b, errB := sumOf(two)
	return errA == nil && errB == nil && bytes.Equal(a, b)
}
