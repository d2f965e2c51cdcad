package tree

import (
	"archive/tar"
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
	"strings"
	"time"
)

// DefaultMaxBytes bounds a tree: the sum of its files.
const DefaultMaxBytes = 500 << 20

// PackOptions decide what becomes part of a tree.
type PackOptions struct {
	// Keep are files that are included even if they are ignored: the Dockerfile.
	Keep []string
	// MaxBytes bounds the sum of the files. Default DefaultMaxBytes.
	MaxBytes int64
}

// Packed describes what was packed.
type Packed struct {
	// Digest is sha256:<hex> of the tar: the same for the same content, independent of where and when it was packed.
	Digest string
	Files  int
	Bytes  int64
}

// TooLargeError means that a tree exceeds a limit.
type TooLargeError struct {
	Max int64
	// File is the file at which the limit was exceeded.
	File string
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the tree is larger than %s (at %s): name what isn't needed in .dockerignore, or raise TEND_BUILD_MAX_SIZE (here and at the server)",
		sizeText(e.Max), e.File)
}

// sizeText writes a limit in MiB, or in bytes (B) if it is not a whole number of them.
func sizeText(size int64) string {
	if size%(1<<20) != 0 {
		return fmt.Sprintf("%d B", size)
	}
	return fmt.Sprintf("%d MiB", size>>20)
}

// Pack writes a folder as a tar. It leaves out times and owners, and of modes everything but the executable bit;
// entries are sorted by name. Links must lead to a place in the folder; sockets and pipes are left out.
func Pack(ctx context.Context, folder string, to io.Writer, opts PackOptions) (Packed, error) {
	if opts.MaxBytes <= 0 {
		opts.MaxBytes = DefaultMaxBytes
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return Packed{}, fmt.Errorf("open the source folder: %w", err)
	}
	defer root.Close()
	ignored, err := readIgnored(ctx, root, opts.Keep)
	if err != nil {
		return Packed{}, err
	}
	hash := sha256.New()
	p := &packer{ctx: ctx, root: root, ignored: ignored, tar: tar.NewWriter(io.MultiWriter(to, hash)), max: opts.MaxBytes}
	if err := fs.WalkDir(root.FS(), ".", p.visit); err != nil {
		return Packed{}, err
	}
	if err := p.tar.Close(); err != nil {
		return Packed{}, err
	}
	p.packed.Digest = "sha256:" + hex.EncodeToString(hash.Sum(nil))
	return p.packed, nil
}

// packer writes one tree as a tar.
type packer struct {
	ctx     context.Context
	root    *os.Root
	ignored *ignored
	tar     *tar.Writer
	max     int64
	entries int
	packed  Packed
}

// visit packs one entry. It packs folders with their content, and also empty ones.
func (p *packer) visit(name string, entry fs.DirEntry, err error) error {
	switch {
	case err != nil:
		return unreadable(name, err)
	case p.ctx.Err() != nil:
		return p.ctx.Err()
	case name == ".":
		return nil
	}
	out, inside, err := p.ignored.match(name, entry.IsDir())
	switch {
	case err != nil:
		return err
	case out && entry.IsDir() && !inside:
		return fs.SkipDir
	case out:
		return nil
	}
	if err := p.fits(name); err != nil {
		return err
	}
	info, err := entry.Info()
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	switch mode := info.Mode(); {
	case mode.IsDir():
		return p.tar.WriteHeader(header(name+"/", tar.TypeDir, 0o755, 0))
	case mode&fs.ModeSymlink != 0:
		return p.link(name)
	case mode.IsRegular():
		return p.file(name, info)
	case mode&(fs.ModeSocket|fs.ModeNamedPipe) != 0:
		return nil
	}
	return fmt.Errorf("%s is neither a file, a folder nor a link: name it in .dockerignore", name)
}

// fits refuses what Unpack would refuse, while the file's name is still known.
func (p *packer) fits(name string) error {
	if why := unusable(name); why != "" {
		return fmt.Errorf("%.100q %s: rename it, or name it in .dockerignore", name, why)
	}
	if p.entries++; p.entries > maxEntries {
		return fmt.Errorf("the folder holds more than %d files, folders and links (at %.100q): name what isn't needed in .dockerignore", maxEntries, name)
	}
	return nil
}

func unreadable(name string, err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%s may not be read by this user: change that, or name it in .dockerignore: %w", name, err)
	}
	return fmt.Errorf("read %s: %w", name, err)
}

func (p *packer) file(name string, info fs.FileInfo) error {
	p.packed.Files++
	if p.packed.Bytes += info.Size(); p.packed.Bytes > p.max {
		return &TooLargeError{Max: p.max, File: name}
	}
	mode := int64(0o644)
	if info.Mode()&0o111 != 0 {
		mode = 0o755
	}
	if err := p.tar.WriteHeader(header(name, tar.TypeReg, mode, info.Size())); err != nil {
		return fmt.Errorf("pack %s: %w", name, err)
	}
	file, err := p.root.Open(name)
	if err != nil {
		return unreadable(name, err)
	}
	defer file.Close()
	switch n, err := io.Copy(p.tar, file); {
	case err != nil:
		return fmt.Errorf("pack %s, which changed or can't be read: %w", name, err)
	case n != info.Size():
		return fmt.Errorf("%s changed while it was read: try again", name)
	}
	return nil
}

func (p *packer) link(name string) error {
	target, err := p.root.Readlink(name)
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	target = filepath.ToSlash(target)
	if len(target) > maxPath {
		return fmt.Errorf("%.100q leads to a path of more than %d bytes: name it in .dockerignore", name, maxPath)
	}
	if !staysInside(name, target) {
		return fmt.Errorf("%s leads to %s, which is not in the folder: replace the link by what it leads to, or name it in .dockerignore",
			name, target)
	}
	h := header(name, tar.TypeSymlink, 0o777, 0)
	h.Linkname = target
	return p.tar.WriteHeader(h)
}

// staysInside reports whether a link at name to a target leads to a place in the tree, judged only by the names.
func staysInside(name, target string) bool {
	if target == "" || path.IsAbs(target) {
		return false
	}
	joined := path.Join(path.Dir(name), target)
	return joined != ".." && !strings.HasPrefix(joined, "../")
}

func header(name string, kind byte, mode, size int64) *tar.Header {
	return &tar.Header{Name: name, Typeflag: kind, Mode: mode, Size: size, ModTime: time.Unix(0, 0)}
}
