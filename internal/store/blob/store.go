package blob

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"tend.dev/tend/internal/platform/retention"
)

const (
	// MaxBytes bounds one blob.
	MaxBytes = 512 << 20
	// DefaultMinFree is the disk space that Put leaves free: the store beside the blobs needs space to write.
	DefaultMinFree = 256 << 20
)

// Options make a Store. Root is needed.
type Options struct {
	// Root is the folder in which the store makes blobs/ and assets/.
	Root string
	// Ledger records which blobs belong to this cluster. Default: none do.
	Ledger *retention.Ledger
	// MinFree is the number of bytes of the disk that stay free; default DefaultMinFree, negative none.
	MinFree int64
}

// Store is a folder of blobs. Safe for concurrent use.
type Store struct {
	blobs string
	links string
	free  int64
	// ledger records who owns a blob. A failed claim only costs disk space: the blob is never collected.
	ledger *retention.Ledger
	// ages is held while a blob's age is changed, or used for a decision.
	ages sync.Mutex
}

// Open creates missing folders, and removes the half-written files of a crash.
func Open(o Options) (*Store, error) {
	s := &Store{blobs: filepath.Join(o.Root, "blobs", "sha256"), links: filepath.Join(o.Root, "assets"),
		free: o.MinFree, ledger: o.Ledger}
	s.free = cmp.Or(s.free, DefaultMinFree)
	if err := os.MkdirAll(s.blobs, 0o700); err != nil {
		return nil, fmt.Errorf("open the blobs: %w", err)
	}
	// Plain processes of other users read their files through this folder: they may enter it, but not list it.
	if err := os.MkdirAll(s.links, 0o711); err != nil {
		return nil, fmt.Errorf("open the assets: %w", err)
	}
	// Another process may still write a younger file. The next collection retries removals that fail.
	_ = s.RemoveHalves(time.Now().Add(-time.Hour))
	return s, nil
}

// Open opens a blob for reading.
func (s *Store) Open(digest string) (*os.File, error) {
	path, err := s.path(digest)
	if err != nil {
		return nil, err
	}
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", digest, ErrNotFound)
	}
	return file, err
}

// Has reports whether a blob is there.
func (s *Store) Has(digest string) (bool, error) {
	path, err := s.path(digest)
	if err != nil {
		return false, err
	}
	_, err = os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// Renew resets a blob's age, so that it isn't collected, and reports whether it exists. A caller renews a blob before
// it refers to it.
func (s *Store) Renew(digest string) (bool, error) {
	path, err := s.path(digest)
	if err != nil {
		return false, err
	}
	s.ages.Lock()
	defer s.ages.Unlock()
	now := time.Now()
	err = os.Chtimes(path, now, now)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err == nil {
		_ = s.ledger.Claim(digest)
	}
	return err == nil, err
}

func (s *Store) path(digest string) (string, error) {
	hex, err := digits(digest)
	return filepath.Join(s.blobs, hex), err
}

// Link returns the path under which a container finds a blob. Its last part is the key, for programs that depend on a
// file's name. It is the blob's own file under another name, so it must be mounted read-only.
func (s *Store) Link(digest, key string) (string, error) {
	blob, err := s.path(digest)
	if err != nil {
		return "", err
	}
	if !linkName().MatchString(key) {
		return "", fmt.Errorf("asset key %.40q may hold letters, digits, _ and -, at most 128", key)
	}
	folder := filepath.Join(s.links, filepath.Base(blob))
	path := filepath.Join(folder, key)
	if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
		return path, nil
	}
	if err := os.Mkdir(folder, 0o711); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("link %s: %w", key, err)
	}
	// An engine creates an empty folder in place of a missing file that it is asked to mount.
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("link %s: %w: remove it by hand", key, err)
	}
	err = os.Link(blob, path)
	switch {
	case errors.Is(err, fs.ErrExist):
		return path, nil // another task's container was faster
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("%s: %w", digest, ErrNotFound)
	case err != nil:
		return "", fmt.Errorf("link %s: %w", key, err)
	}
	return path, nil
}
