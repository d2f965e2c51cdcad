package blob

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"tend.dev/tend/internal/retention"
)

const (
	// MaxBytes bounds one blob.
	MaxBytes = 512 << 20
	// DefaultMinFree is what Put leaves free on the disk: the store beside the blobs needs room to write.
	DefaultMinFree = 256 << 20
)

// Options make a Store. Root is needed.
type Options struct {
	// Root is the folder that gets blobs/ and assets/.
	Root string
	// Ledger records which blobs belong to this cluster; default: none do.
	Ledger *retention.Ledger
	// MinFree is how many bytes of the disk stay free; default DefaultMinFree, negative none.
	MinFree int64
}

// Store is a folder of blobs. Safe for concurrent use.
type Store struct {
	blobs string
	links string
	free  int64
	// ledger knows who owns a blob. A claim that fails costs no more than room: the blob is never collected.
	ledger *retention.Ledger
	// ages is held while a blob's age is changed, or acted upon.
	ages sync.Mutex
}

// Open makes the folders where they are missing, and removes what a crash left half written.
func Open(o Options) (*Store, error) {
	s := &Store{blobs: filepath.Join(o.Root, "blobs", "sha256"), links: filepath.Join(o.Root, "assets"), free: o.MinFree, ledger: o.Ledger}
	if s.free == 0 {
		s.free = DefaultMinFree
	}
	if err := os.MkdirAll(s.blobs, 0o700); err != nil {
		return nil, fmt.Errorf("open the blobs: %w", err)
	}
	// Plain processes of other users read their files through here: they pass, but list nothing.
	if err := os.MkdirAll(s.links, 0o711); err != nil {
		return nil, fmt.Errorf("open the assets: %w", err)
	}
	// Another process may still write a younger one. What can't be removed is tried again by the next collection.
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

// Has says whether a blob is there.
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

// Renew makes a blob as young as a new one, and says whether it is there: who renews it before it is referred to keeps
// it from being collected meanwhile.
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

// Link is the path under which a container finds a blob: its last part is the key, so that a program that looks at a
// file's name sees it. It is the blob's own file under another name; whoever mounts it does so read-only.
func (s *Store) Link(digest, key string) (string, error) {
	blob, err := s.path(digest)
	if err != nil {
		return "", err
	}
	if !linkName.MatchString(key) {
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
	// An engine that was asked to mount what wasn't there makes an empty folder of it.
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("link %s: %w: remove it by hand", key, err)
	}
	err = os.Link(blob, path)
	switch {
	case errors.Is(err, fs.ErrExist):
		return path, nil // another task's container was quicker
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("%s: %w", digest, ErrNotFound)
	case err != nil:
		return "", fmt.Errorf("link %s: %w", key, err)
	}
	return path, nil
}
