package rootfs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// The size limits of a folder used as an image. A larger one is a mistake, such as a home folder.
const (
	maxEntries = 200_000
	maxBytes   = 8 << 30
)

// ErrTooLarge means that a folder exceeds the limits.
var ErrTooLarge = fmt.Errorf("the folder holds more than %d entries or %d GiB", maxEntries, maxBytes>>30)

// fingerprint identifies the state of a folder without reading contents: names, modes, sizes and change times.
type fingerprint struct {
	sum [sha256.Size]byte
	id  string
}

// entry is one file, folder or link in a folder.
type entry struct {
	path string // relative, with slashes
	info fs.FileInfo
	link string
}

func (s *Store) folder(ctx context.Context, path string) (Image, error) {
	entries, err := walk(ctx, path)
	if err != nil {
		return Image{}, fmt.Errorf("image %s: %w", path, err)
	}
	sum := surface(entries)
	if seen := s.seen[path]; seen.sum == sum {
		if image, err := s.ByID(seen.id); err == nil {
			return image, nil
		}
	}
	id, err := digest(ctx, path, entries)
	if err != nil {
		return Image{}, fmt.Errorf("image %s: %w", path, err)
	}
	image, err := s.add(id, Config{}, func(root *os.Root) error { return copyAll(ctx, path, entries, root, id) })
	if err != nil {
		return Image{}, fmt.Errorf("image %s: copy: %w", path, err)
	}
	s.seen[path] = fingerprint{sum: sum, id: id}
	return image, nil
}

// walk lists folders, files and links, sorted by name. Sockets, pipes and devices are not part of an image.
func walk(ctx context.Context, dir string) ([]entry, error) {
	var out []entry
	var bytes int64
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		item := entry{path: filepath.ToSlash(name), info: info}
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			if item.link, err = os.Readlink(path); err != nil {
				return err
			}
		case info.Mode().IsRegular():
			bytes += info.Size()
		case !info.IsDir():
			return nil
		}
		out = append(out, item)
		if len(out) > maxEntries || bytes > maxBytes {
			return ErrTooLarge
		}
		return ctx.Err()
	})
	return out, err
}

func surface(entries []entry) (sum [sha256.Size]byte) {
	h := sha256.New()
	for _, item := range entries {
		fmt.Fprintf(h, "%q %v %d %d %q %v\n", item.path, item.info.Mode(), item.info.Size(),
			item.info.ModTime().UnixNano(), item.link, changeTime(item.info))
	}
	h.Sum(sum[:0])
	return sum
}

// digest returns the id of a folder's content.
func digest(ctx context.Context, dir string, entries []entry) (string, error) {
	h := sha256.New()
	for _, item := range entries {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		if err := digestEntry(h, dir, item); err != nil {
			return "", err
		}
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), nil
}

func digestEntry(h hash.Hash, dir string, item entry) error {
	switch {
	case item.info.IsDir():
		fmt.Fprintf(h, "dir %q %o\n", item.path, item.info.Mode().Perm())
	case item.link != "":
		fmt.Fprintf(h, "link %q %q\n", item.path, item.link)
	default:
		fmt.Fprintf(h, "file %q %o %d\n", item.path, item.info.Mode().Perm(), item.info.Size())
		return readEntry(dir, item, h)
	}
	return nil
}

// readEntry reads a file only if it still lies in the folder. Since the listing, the file's owner may have replaced it
// by a link, and this process may be root.
func readEntry(dir string, item entry, into io.Writer) error {
	file, err := os.OpenInRoot(dir, filepath.FromSlash(item.path))
	if err != nil {
		return err
	}
	defer file.Close()
	return limitedCopy(into, file, item.info.Size())
}

// errChanged means that another program wrote into the folder while it was copied.
var errChanged = errors.New("the folder changed while it was read; apply again when it is complete")

// copyAll copies a folder and checks that the copy has the expected id.
func copyAll(ctx context.Context, dir string, entries []entry, root *os.Root, id string) error {
	h := sha256.New()
	for _, item := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := copyEntry(h, dir, item, root); err != nil {
			return err
		}
	}
	if "sha256:"+hex.EncodeToString(h.Sum(nil)) != id {
		return errChanged
	}
	return nil
}

func copyEntry(h hash.Hash, dir string, item entry, root *os.Root) error {
	name, mode := filepath.FromSlash(item.path), item.info.Mode().Perm()
	switch {
	case item.info.IsDir():
		fmt.Fprintf(h, "dir %q %o\n", item.path, mode)
		return errors.Join(root.Mkdir(name, 0o700), root.Chmod(name, mode|0o700))
	case item.link != "":
		fmt.Fprintf(h, "link %q %q\n", item.path, item.link)
		return root.Symlink(item.link, name)
	}
	fmt.Fprintf(h, "file %q %o %d\n", item.path, mode, item.info.Size())
	return writeFile(root, name, mode, func(file io.Writer) error {
		return readEntry(dir, item, io.MultiWriter(file, h))
	})
}

// writeFile creates a file with a mode that doesn't depend on the umask.
func writeFile(root *os.Root, name string, mode fs.FileMode, fill func(io.Writer) error) error {
	file, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(fill(file), file.Chmod(mode), file.Close())
}
