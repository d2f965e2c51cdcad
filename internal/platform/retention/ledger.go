package retention

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Wait is the time for which an unreferenced file stays in quarantine.
const Wait = 24 * time.Hour

// Folder is the name of the quarantine in a root.
const Folder = "quarantine"

// Ledger records, for one kind of file below a root, which cluster a file belongs to and since when nothing refers to
// it. It is a folder of empty files, so a crash or a damaged entry affects at most one file, and only so that the file
// is kept. Several processes may use it. A nil Ledger claims nothing, and with it nothing is ever due.
type Ledger struct {
	// owners has a folder for each cluster, with a mark for each file it owns.
	owners string
	// waiting has a mark for each file in quarantine; the mark's time is when the wait began.
	waiting string
	cluster string
}

// Open returns the ledger of a kind of file ("blobs", "images") in a root, for a cluster.
func Open(root, sort, cluster string) *Ledger {
	dir := filepath.Join(root, Folder, sort)
	return &Ledger{owners: filepath.Join(dir, "owners"), waiting: filepath.Join(dir, "waiting"), cluster: cluster}
}

// Claim records that the cluster put a file or refers to it, and ends its wait.
func (l *Ledger) Claim(name string) error {
	if l == nil {
		return nil
	}
	if err := checkName(name); err != nil {
		return err
	}
	return errors.Join(mark(filepath.Join(l.owners, l.cluster), name), unmark(l.waiting, name))
}

// Claimed returns the names of the files that the cluster owns.
func (l *Ledger) Claimed() ([]string, error) {
	if l == nil {
		return nil, nil
	}
	entries, err := os.ReadDir(filepath.Join(l.owners, l.cluster))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list what is claimed: %w", err)
	}
	names := make([]string, 0, len(entries))
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names, nil
}

// Waiting returns when a file's wait began, the zero time if it waits for nothing, and whether the cluster owns it
// alone.
func (l *Ledger) Waiting(name string) (since time.Time, alone bool, err error) {
	if l == nil {
		return time.Time{}, false, nil
	}
	if alone, err = l.ownsAlone(name); err != nil {
		return time.Time{}, false, err
	}
	info, err := os.Stat(filepath.Join(l.waiting, name))
	if errors.Is(err, fs.ErrNotExist) {
		return time.Time{}, alone, nil
	}
	if err != nil {
		return time.Time{}, false, err
	}
	return info.ModTime(), alone, nil
}

// Await begins a file's wait.
func (l *Ledger) Await(name string, now time.Time) error {
	if l == nil {
		return nil
	}
	if err := checkName(name); err != nil {
		return err
	}
	return l.await(name, now)
}

// Due reports whether a file may be deleted now. A file that is used, or that the cluster doesn't own alone, is never
// due. For an unused file the first call starts the wait.
func (l *Ledger) Due(name string, used bool, now time.Time) (bool, error) {
	if l == nil {
		return false, nil
	}
	if used {
		return false, l.Claim(name)
	}
	alone, err := l.ownsAlone(name)
	if err != nil || !alone {
		return false, err
	}
	info, err := os.Stat(filepath.Join(l.waiting, name))
	if errors.Is(err, fs.ErrNotExist) {
		return false, l.await(name, now)
	}
	return err == nil && now.Sub(info.ModTime()) >= Wait, err
}

// Forget removes the records of a deleted file.
func (l *Ledger) Forget(name string) error {
	if l == nil {
		return nil
	}
	if err := checkName(name); err != nil {
		return err
	}
	return errors.Join(unmark(l.waiting, name), unmark(filepath.Join(l.owners, l.cluster), name))
}

func (l *Ledger) ownsAlone(name string) (bool, error) {
	if err := checkName(name); err != nil {
		return false, err
	}
	owners, err := filepath.Glob(filepath.Join(l.owners, "*", name))
	if err != nil {
		return false, err
	}
	return len(owners) == 1 && filepath.Base(filepath.Dir(owners[0])) == l.cluster, nil
}

// await begins the wait. It sets the mark's time before its name, so that a crash can't shorten the wait.
func (l *Ledger) await(name string, now time.Time) error {
	if err := os.MkdirAll(l.waiting, 0o700); err != nil {
		return fmt.Errorf("quarantine %s: %w", name, err)
	}
	half, err := os.CreateTemp(l.waiting, ".half-*")
	if err != nil {
		return fmt.Errorf("quarantine %s: %w", name, err)
	}
	path := filepath.Join(l.waiting, name)
	err = errors.Join(half.Close(), os.Chtimes(half.Name(), now, now))
	if err == nil {
		err = os.Rename(half.Name(), path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("quarantine %s: %w", name, err), os.Remove(half.Name()))
	}
	return nil
}

func mark(dir, name string) error {
	path := filepath.Join(dir, name)
	if _, err := os.Lstat(path); err == nil {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("claim %s: %w", name, err)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("claim %s: %w", name, err)
	}
	return file.Close()
}

func unmark(dir, name string) error {
	if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("end the quarantine of %s: %w", name, err)
	}
	return nil
}

// checkName refuses a name that isn't a plain file name, or that contains characters of a pattern.
func checkName(name string) error {
	if name == "" || name[0] == '.' || strings.ContainsAny(name, "/*?[\\") {
		return fmt.Errorf("%.80q is not the name of a file", name)
	}
	return nil
}
