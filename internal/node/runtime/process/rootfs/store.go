package rootfs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/renameio/v2"
)

// ErrNotFound means that there is no such image.
var ErrNotFound = errors.New("image not found")

// NoFolderError is an ErrNotFound: a path is neither a folder nor an OCI image layout.
type NoFolderError struct{ Path string }

func (e *NoFolderError) Error() string { return "neither a folder nor an OCI layout at " + e.Path }

// Is reports whether target is ErrNotFound.
func (e *NoFolderError) Is(target error) bool { return target == ErrNotFound }

// Image is an image in the store.
type Image struct {
	// ID is sha256:<hex>.
	ID string
	// Root is the image's folder.
	Root   string
	Config Config
}

// Config holds the settings with which an image runs. A plain folder has none.
type Config struct {
	Env        []string `json:"env,omitempty"`
	Entrypoint []string `json:"entrypoint,omitempty"`
	Cmd        []string `json:"cmd,omitempty"`
	WorkingDir string   `json:"workingDir,omitempty"`
	User       string   `json:"user,omitempty"`
	StopSignal string   `json:"stopSignal,omitempty"`
}

// Store keeps images under a folder. Several stores, even of several processes, may share it.
type Store struct {
	dir string
	// base is the folder that relative references start from.
	base string
	mu   sync.Mutex
	seen map[string]fingerprint // the state of each folder when it was last hashed
}

// Open creates a store. Every user may read it: containers run as unprivileged users.
func Open(dir, base string) (*Store, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	return &Store{dir: dir, base: base, seen: map[string]fingerprint{}}, nil
}

// ByID returns an image the store has.
func (s *Store) ByID(id string) (Image, error) {
	hex, ok := strings.CutPrefix(id, "sha256:")
	if !ok || len(hex) != 64 || strings.Trim(hex, "0123456789abcdef") != "" {
		return Image{}, fmt.Errorf("image %s: %w", id, ErrNotFound)
	}
	image := Image{ID: id, Root: filepath.Join(s.dir, hex)}
	config, err := os.ReadFile(s.configPath(hex))
	if err != nil {
		return Image{}, fmt.Errorf("image %s: %w", id, ErrNotFound)
	}
	if err := json.Unmarshal(config, &image.Config); err != nil {
		return Image{}, fmt.Errorf("image %s: %w", id, err)
	}
	return image, nil
}

func (s *Store) configPath(hex string) string { return filepath.Join(s.dir, hex+".json") }

// Resolve adds the image of a reference to the store, if it isn't there, and returns it. It is cheap as long as nothing
// changed.
func (s *Store) Resolve(ctx context.Context, reference string) (Image, error) {
	if strings.HasPrefix(reference, "sha256:") {
		return s.ByID(reference)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	path, tag, err := s.locate(reference)
	if err != nil {
		return Image{}, err
	}
	if isLayout(path) {
		return s.layout(ctx, path, tag)
	}
	if tag != "" {
		return Image{}, fmt.Errorf("%w: %s is a plain folder, which has no tags, so there is no %s", ErrNotFound, path, reference)
	}
	return s.folder(ctx, path)
}

// locate finds the folder of a reference: PATH, or PATH:TAG for a layout with several images. A relative path starts
// from the base.
func (s *Store) locate(reference string) (path, tag string, err error) {
	absolute := func(path string) string {
		if filepath.IsAbs(path) {
			return filepath.Clean(path)
		}
		return filepath.Join(s.base, path)
	}
	if !filepath.IsAbs(reference) && (!filepath.IsLocal(reference) || filepath.Clean(reference) == ".") {
		return "", "", &NoFolderError{reference}
	}
	if path := absolute(reference); reference != "" && isFolder(path) {
		return path, "", nil
	}
	if at := strings.LastIndex(reference, ":"); at > 0 && isFolder(absolute(reference[:at])) {
		return absolute(reference[:at]), reference[at+1:], nil
	}
	return "", "", &NoFolderError{absolute(reference)}
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// add fills a new image's folder and moves it into place atomically. It writes the configuration last, which marks the
// image as complete.
func (s *Store) add(id string, config Config, fill func(root *os.Root) error) (Image, error) {
	hex := strings.TrimPrefix(id, "sha256:")
	unlock, err := lock(s.dir)
	if err != nil {
		return Image{}, err
	}
	defer unlock()
	if image, err := s.ByID(id); err == nil {
		now := time.Now()
		_ = os.Chtimes(s.configPath(hex), now, now)
		return image, nil
	}
	fresh, err := os.MkdirTemp(s.dir, ".new-")
	if err != nil {
		return Image{}, err
	}
	defer os.RemoveAll(fresh)
	if err := fillFolder(fresh, fill); err != nil {
		return Image{}, err
	}
	target := filepath.Join(s.dir, hex)
	if err := errors.Join(os.RemoveAll(target), os.Rename(fresh, target)); err != nil {
		return Image{}, err
	}
	raw, err := json.Marshal(config)
	if err != nil {
		return Image{}, err
	}
	if err := renameio.WriteFile(s.configPath(hex), raw, 0o644, renameio.WithTempDir(s.dir)); err != nil {
		return Image{}, err
	}
	return Image{ID: id, Root: target, Config: config}, nil
}

func fillFolder(dir string, fill func(root *os.Root) error) error {
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return fill(root)
}

// Prune deletes the oldest unused images that due permits, but keeps the newest keep of the unused.
func (s *Store) Prune(used map[string]bool, keep int, due func(id string) bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	unlock, err := lock(s.dir)
	if err != nil {
		return err
	}
	defer unlock()
	configs, err := filepath.Glob(filepath.Join(s.dir, "*.json"))
	if err != nil {
		return err
	}
	type unused struct {
		hex string
		at  time.Time
	}
	var old []unused
	for _, path := range configs {
		hex := strings.TrimSuffix(filepath.Base(path), ".json")
		if info, err := os.Stat(path); err == nil && !used["sha256:"+hex] {
			old = append(old, unused{hex, info.ModTime()})
		}
	}
	slices.SortFunc(old, func(a, b unused) int { return b.at.Compare(a.at) })
	var errs []error
	for _, image := range old[min(keep, len(old)):] {
		if !due("sha256:" + image.hex) {
			continue
		}
		errs = append(errs, os.Remove(s.configPath(image.hex)), os.RemoveAll(filepath.Join(s.dir, image.hex)))
	}
	return errors.Join(errs...)
}

// limitedCopy copies a file's content, and at most the declared size.
func limitedCopy(into io.Writer, from io.Reader, size int64) error {
	n, err := io.Copy(into, io.LimitReader(from, size))
	if err == nil && n != size {
		err = io.ErrUnexpectedEOF
	}
	return err
}
