package restore

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"tend.dev/tend/internal/platform/durable"
	"tend.dev/tend/internal/store/etcd"
)

// site is a root that a restore has claimed.
type site struct {
	Options
	// made are the folders that were not there before, the innermost last.
	made    []string
	unlock  func() error
	partial *os.File
	// committed is set once the restore can no longer be undone.
	committed bool
}

// claim makes the root and the data dir, and locks them against servers and other restores. It returns ErrBusy and
// etcd.ErrInUse.
func claim(o Options) (*site, error) {
	s := &site{Options: o, unlock: func() error { return nil }}
	err := s.open()
	if err != nil {
		return nil, errors.Join(err, s.undo())
	}
	return s, nil
}

func (s *site) open() (err error) {
	for _, folder := range []string{s.Root, s.Data} {
		if err := s.makeFolder(folder); err != nil {
			return err
		}
	}
	if s.unlock, err = etcd.Claim(s.Data); err != nil {
		s.unlock = func() error { return nil }
		return err
	}
	path := filepath.Join(s.Root, partial)
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	if err := syscall.Flock(int(folder.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return fmt.Errorf("%w: %s", errors.Join(ErrBusy, folder.Close()), path)
	}
	s.partial = folder
	if err := Finish(s.Root, s.Logger); err != nil { // of an earlier restore that was committed
		return err
	}
	return s.clear()
}

// clear removes the files that an earlier restore staged but did not commit.
func (s *site) clear() error {
	path := filepath.Join(s.Root, partial)
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(path, entry.Name())))
	}
	return errors.Join(err, os.RemoveAll(filepath.Join(s.Data, member)))
}

func (s *site) makeFolder(path string) error {
	var missing []string
	for at := path; ; at = filepath.Dir(at) {
		if _, err := os.Stat(at); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		missing = append([]string{at}, missing...)
	}
	s.made = append(s.made, missing...)
	return os.MkdirAll(path, 0o700)
}

// release ends the claim. Unless the restore was committed, it removes everything that the restore made.
func (s *site) release() error {
	var err error
	if !s.committed {
		err = s.undo()
	}
	return errors.Join(err, s.partial.Close(), s.unlock())
}

// undo removes the staged files, and the folders made for them.
func (s *site) undo() error {
	if s.partial != nil {
		if err := errors.Join(os.RemoveAll(filepath.Join(s.Root, partial)),
			os.RemoveAll(filepath.Join(s.Data, member))); err != nil {
			return err
		}
	}
	for i := len(s.made) - 1; i >= 0; i-- {
		_ = os.Remove(filepath.Join(s.made[i], "tend.lock"))
		_ = os.Remove(s.made[i]) // removes only an empty folder
	}
	return nil
}

// CheckRoot is called by a server before it uses a root and its data dir. It returns ErrInterrupted if the root holds
// nothing but an unfinished restore, and ErrBusy while a restore writes to it. It removes the files of a restore that
// ended before it replaced anything.
func CheckRoot(root, data string) error {
	path, store := filepath.Join(root, partial), filepath.Join(data, member)
	begun, err := exists(path)
	if err != nil {
		return err
	}
	committed, err := exists(filepath.Join(root, ready, planFile))
	if err != nil {
		return err
	}
	left, err := exists(store)
	if err != nil || !begun && (committed || !left) {
		return err
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return err
	}
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	defer folder.Close()
	if err := syscall.Flock(int(folder.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return fmt.Errorf("%w: into %s: start the server when it has ended", ErrBusy, root)
	}
	if _, err := os.Stat(filepath.Join(root, "secret.key")); begun && errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: into %s: run tend restore again, or remove %s for a new, empty cluster",
			ErrInterrupted, root, path)
	}
	if !committed { // else the store is that of the restore that Finish ends
		if err := os.RemoveAll(store); err != nil {
			return err
		}
	}
	return os.RemoveAll(path)
}

func exists(path string) (bool, error) {
	_, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

func sumOf(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	hash := sha256.New()
	_, err = io.Copy(hash, file)
	return hash.Sum(nil), err
}

// syncTree syncs every file and folder of a tree.
func syncTree(root string) error {
	return filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return durable.Sync(path)
	})
}
