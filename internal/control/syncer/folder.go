package syncer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/source"
	"tend.dev/tend/internal/platform/delay"
)

// content is a file in memory.
type content struct {
	source.File
	bytes []byte
}

// settleTries bounds how often a folder that keeps changing is read.
const settleTries = 10

// pollFolder reads a folder of this machine.
func (s *Syncer) pollFolder(ctx context.Context, f *fetched, spec api.SyncSpec) error {
	files, err := s.settled(ctx, spec)
	if err != nil {
		return err
	}
	revision := revisionOf(files)
	if f.revision == revision {
		return nil
	}
	return f.replace(ctx, revision, true, func(folder string) error {
		for _, file := range files {
			if err := write(folder, file); err != nil {
				return err
			}
		}
		return nil
	})
}

// settled reads a folder once none of its files is being written: half a manifest could be read as a whole one that
// declares less.
func (s *Syncer) settled(ctx context.Context, spec api.SyncSpec) ([]content, error) {
	before := ""
	for range settleTries {
		files, err := s.read(spec)
		if err != nil {
			return nil, err
		}
		revision := revisionOf(files)
		if revision == before || !s.recent(files) {
			return files, nil
		}
		before = revision
		if err := delay.For(ctx, s.Settle); err != nil {
			return nil, err
		}
	}
	return nil, errors.New("its files keep changing")
}

// recent reports whether a file was changed a moment ago.
func (s *Syncer) recent(files []content) bool {
	now := s.Now()
	return slices.ContainsFunc(files, func(file content) bool {
		age := now.Sub(time.Unix(0, file.Modified))
		return age >= 0 && age < s.Settle
	})
}

// read reads the files below a folder, without hidden folders. os.Root keeps links from leading out.
func (s *Syncer) read(spec api.SyncSpec) ([]content, error) {
	root, err := os.OpenRoot(spec.Dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	var out []content
	room := s.MaxBytes
	start := path.Clean(spec.Path)
	err = fs.WalkDir(root.FS(), start, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != start && strings.HasPrefix(entry.Name(), "."):
			return fs.SkipDir
		case entry.IsDir():
			return nil
		}
		info, err := root.Stat(name)
		if err != nil && strings.Contains(err.Error(), "path escapes from parent") {
			return source.NewFault(api.ReasonNotAllowed, "put what it leads to into the folder",
				"the link %s leads out of the folder %s", name, spec.Dir)
		}
		if err != nil || !info.Mode().IsRegular() {
			return err
		}
		if len(out) >= maxFiles {
			return s.tooLarge()
		}
		file, err := readFile(root, name, room)
		if err != nil {
			return err
		}
		if room -= int64(len(file.bytes)); room < 0 {
			return s.tooLarge()
		}
		out = append(out, file)
		return nil
	})
	return out, err
}

func readFile(root *os.Root, name string, room int64) (content, error) {
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may have become a pipe
	if err != nil {
		return content{}, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return content{}, errors.Join(err, fmt.Errorf("%s is not a file", name))
	}
	bytes, err := io.ReadAll(io.LimitReader(file, room+1))
	sum := sha256.Sum256(bytes)
	return content{source.File{Path: name, Modified: info.ModTime().UnixNano(), Digest: hex.EncodeToString(sum[:])},
		bytes}, err
}

func (s *Syncer) tooLarge() error {
	return source.NewFault(api.ReasonNotAllowed,
		"name the folder of the manifests in path, or take out what they don't need",
		"the source is larger than %d MiB, or has more than %d files", s.MaxBytes>>20, maxFiles)
}

// revisionOf returns a digest of names and contents. A file that was only touched changes nothing.
func revisionOf(files []content) string {
	hash := sha256.New()
	for _, file := range files { // in lexical order
		fmt.Fprintf(hash, "%s %q\n", file.Digest, file.Path)
	}
	return "sha256:" + hex.EncodeToString(hash.Sum(nil))
}

func write(folder string, file content) error {
	at := filepath.Join(folder, filepath.FromSlash(file.Path))
	if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(at, file.bytes, 0o600); err != nil {
		return err
	}
	stamp := time.Unix(0, file.Modified)
	return os.Chtimes(at, stamp, stamp)
}

// list returns the files of a tree. Set stamped if their modification times come from the source.
func list(folder string, stamped bool) ([]source.File, error) {
	var out []source.File
	err := filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		digest, err := digestOf(name)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(folder, name)
		file := source.File{Path: filepath.ToSlash(relative), Digest: digest}
		if stamped {
			file.Modified = info.ModTime().UnixNano()
		}
		out = append(out, file)
		return err
	})
	return out, err
}

func digestOf(name string) (string, error) {
	file, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	hash := sha256.New()
	_, err = io.Copy(hash, file)
	return hex.EncodeToString(hash.Sum(nil)), err
}
