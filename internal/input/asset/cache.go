package asset

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/renameio/v2"
)

// cache records, in one small file per URL, which bytes the URL returned last and how to ask whether they changed. The
// bytes themselves are blobs.
type cache struct{ folder string }

// remembered holds the last response for a URL.
type remembered struct {
	// URL is the fetched URL, with the prefix "confined " if only confined fetches may use the entry.
	URL          string    `json:"url"`
	Digest       string    `json:"digest"`
	ETag         string    `json:"etag,omitempty"`
	LastModified string    `json:"lastModified,omitempty"`
	FetchedAt    time.Time `json:"fetchedAt"`
}

const cacheSuffix = ".json"

func (c cache) path(url string) string {
	sum := sha256.Sum256([]byte(url))
	return filepath.Join(c.folder, hex.EncodeToString(sum[:])+cacheSuffix)
}

// read returns the record of a URL. An unreadable record counts as missing, since it only saves a download.
func (c cache) read(url string) (remembered, bool) {
	known, ok := readRemembered(c.path(url))
	return known, ok && known.URL == url
}

func readRemembered(path string) (remembered, bool) {
	content, err := os.ReadFile(path)
	if err != nil {
		return remembered{}, false
	}
	var known remembered
	return known, json.Unmarshal(content, &known) == nil && known.Digest != ""
}

// write stores the record atomically.
func (c cache) write(known remembered) error {
	content, err := json.Marshal(known)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(c.folder, 0o700); err != nil {
		return fmt.Errorf("remember %s: %w", known.URL, err)
	}
	if err := renameio.WriteFile(c.path(known.URL), content, 0o600, renameio.WithTempDir(c.folder)); err != nil {
		return fmt.Errorf("remember %s: %w", known.URL, err)
	}
	return nil
}

// forget removes the records of blobs that no longer exist.
func (c cache) forget(there func(digest string) bool) error {
	entries, err := os.ReadDir(c.folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var faults []error
	for _, entry := range entries {
		path := filepath.Join(c.folder, entry.Name())
		if !entry.Type().IsRegular() || !strings.HasSuffix(path, cacheSuffix) {
			continue
		}
		known, ok := readRemembered(path)
		if known.URL != "" && path != c.path(known.URL) {
			continue // a copy that a user put here
		}
		if !ok || !there(known.Digest) {
			faults = append(faults, os.Remove(path))
		}
	}
	return errors.Join(faults...)
}
