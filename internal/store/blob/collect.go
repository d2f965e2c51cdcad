package blob

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Blob is one entry of a Store.
type Blob struct {
	Digest string
	Size   int64
	// At is the time at which it was last put or renewed.
	At time.Time
}

// List returns all blobs, by digest, without half-written files.
func (s *Store) List() ([]Blob, error) {
	entries, err := os.ReadDir(s.blobs)
	if err != nil {
		return nil, fmt.Errorf("list the blobs: %w", err)
	}
	var out []Blob
	for _, entry := range entries {
		if !hexDigits().MatchString(entry.Name()) {
			continue
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) || !entry.Type().IsRegular() {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("list the blobs: %w", err)
		}
		out = append(out, Blob{Digest: algorithm + entry.Name(), Size: info.Size(), At: info.ModTime()})
	}
	return out, nil
}

// Remove removes a blob and its links, unless it was put or renewed after before. A container that has it mounted keeps
// its bytes. A missing blob is not an error.
func (s *Store) Remove(digest string, before time.Time) error {
	path, err := s.path(digest)
	if err != nil {
		return err
	}
	s.ages.Lock() // so that no caller sees the blob just before it is removed
	defer s.ages.Unlock()
	info, err := os.Stat(path)
	if err == nil && info.ModTime().After(before) {
		return nil
	}
	if err := os.RemoveAll(filepath.Join(s.links, filepath.Base(path))); err != nil {
		return fmt.Errorf("remove %s: %w", digest, err)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove %s: %w", digest, err)
	}
	return s.ledger.Forget(digest)
}

// RemoveHalves removes the half-written files that a crash left, except those written to after before.
func (s *Store) RemoveHalves(before time.Time) error {
	halves, err := filepath.Glob(filepath.Join(s.blobs, halfWritten))
	if err != nil {
		return err
	}
	for _, half := range halves {
		if info, err := os.Lstat(half); err != nil || !info.Mode().IsRegular() || info.ModTime().After(before) {
			continue
		}
		if err := os.Remove(half); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove a half-written blob: %w", err)
		}
	}
	return nil
}
