package blob

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"tend.dev/tend/internal/platform/durable"
)

// halfWritten matches the names of files until they are complete.
const halfWritten = ".half-*"

// Put stores the bytes of r, at most limit of them, and returns their digest. If it fails, nothing is left.
func (s *Store) Put(r io.Reader, limit int64) (digest string, err error) {
	return s.put(r, limit, "")
}

// PutAs stores bytes with a known digest. It returns ErrMismatch if their digest is another.
func (s *Store) PutAs(digest string, r io.Reader, limit int64) error {
	if _, err := digits(digest); err != nil {
		return err
	}
	_, err := s.put(r, limit, digest)
	return err
}

func (s *Store) put(r io.Reader, limit int64, expected string) (digest string, err error) {
	half, err := os.CreateTemp(s.blobs, halfWritten)
	if err != nil {
		return "", s.fault(err)
	}
	defer func() {
		half.Close()
		if err != nil {
			os.Remove(half.Name())
		}
	}()
	if digest, err = s.fill(half, r, limit); err != nil {
		return "", err
	}
	if expected != "" && digest != expected {
		return "", fmt.Errorf("%w: they are %s, not %s", ErrMismatch, digest, expected)
	}
	if err := half.Chmod(0o644); err != nil {
		return "", s.fault(err)
	}
	if err := half.Sync(); err != nil {
		return "", s.fault(err)
	}
	return digest, s.take(half.Name(), digest)
}

// fill copies and hashes.
func (s *Store) fill(into *os.File, r io.Reader, limit int64) (string, error) {
	hash := sha256.New()
	roomy := &roomyWriter{file: into, folder: s.blobs, free: s.free}
	n, err := io.Copy(io.MultiWriter(roomy, hash), io.LimitReader(r, limit+1))
	switch {
	case err != nil:
		return "", s.fault(err)
	case n > limit:
		return "", fmt.Errorf("%w: more than %d bytes", ErrTooLarge, limit)
	}
	return algorithm + hex.EncodeToString(hash.Sum(nil)), nil
}

// take renames a complete file to its final name. An existing file stays, because running containers have it mounted.
func (s *Store) take(half, digest string) error {
	if there, err := s.Renew(digest); err != nil || there {
		return errors.Join(err, os.Remove(half))
	}
	path, err := s.path(digest)
	if err != nil {
		return err
	}
	if err := os.Rename(half, path); err != nil {
		return s.fault(err)
	}
	_ = s.ledger.Claim(digest)
	return durable.Sync(s.blobs)
}

func (s *Store) fault(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("%w on the disk of %s", ErrNoSpace, filepath.Dir(filepath.Dir(s.blobs)))
	}
	return fmt.Errorf("keep a file: %w", err)
}

// roomyWriter checks the free disk space at intervals, so that a large file never uses the last of it.
type roomyWriter struct {
	file    *os.File
	folder  string
	free    int64
	unasked int64
	asked   bool
}

const askEvery = 8 << 20

func (w *roomyWriter) Write(p []byte) (int, error) {
	if w.unasked += int64(len(p)); w.free > 0 && (!w.asked || w.unasked >= askEvery) {
		w.asked, w.unasked = true, 0
		var disk syscall.Statfs_t
		if err := syscall.Statfs(w.folder, &disk); err == nil && int64(disk.Bavail)*int64(disk.Bsize) < w.free { //nolint:unconvert // narrower on 32 bits
			return 0, syscall.ENOSPC
		}
	}
	return w.file.Write(p)
}
