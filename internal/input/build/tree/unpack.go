package tree

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
)

// Limits bound what a tar may unpack to.
type Limits struct {
	// Bytes is the sum of the files. Default DefaultMaxBytes.
	Bytes int64
	// Entries is the most files, folders and links there may be. Default 200,000.
	Entries int
}

// Limits on one name, and on the number of entries.
const (
	maxPath    = 1024
	maxDepth   = 64
	maxEntries = 200_000
)

// HostileError holds the entry for which a tar is refused, and the reason. The caller removes the files that were
// unpacked before it.
type HostileError struct{ Entry, Why string }

func (e *HostileError) Error() string {
	return fmt.Sprintf("the tree is refused: entry %.100q %s", e.Entry, e.Why)
}

// Unpack writes a tar into an empty folder. It refuses the whole tar if an entry could lead out of the folder or is not
// part of a valid tree: absolute names, parent folders, links that lead elsewhere, devices, duplicate
// names. A hard link to a file that came before, which tar writes for a file with two names, is a copy of it.
func Unpack(ctx context.Context, from io.Reader, folder string, limits Limits) error {
	if limits.Bytes <= 0 {
		limits.Bytes = DefaultMaxBytes
	}
	if limits.Entries <= 0 {
		limits.Entries = maxEntries
	}
	root, err := os.OpenRoot(folder) // also keeps links that were unpacked from leading out
	if err != nil {
		return fmt.Errorf("open %s: %w", folder, err)
	}
	defer root.Close()
	u := &unpacker{root: root, left: limits.Bytes, limits: limits, seen: map[string]bool{}, files: map[string]int64{},
		implied: map[string]bool{}}
	tail := &zeros{from: from}
	reader := tar.NewReader(tail)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		tail.n = 0
		entry, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return tail.isEnd()
		}
		if err != nil {
			return fmt.Errorf("read the tree: %w", err)
		}
		if err := u.entry(entry, reader); err != nil {
			return err
		}
	}
}

// zeros counts the trailing zeros that a reader returned.
type zeros struct {
	from io.Reader
	n    int
	any  bool
}

func (z *zeros) Read(p []byte) (int, error) {
	n, err := z.from.Read(p)
	z.any = z.any || n > 0
	last := n
	for last > 0 && p[last-1] == 0 {
		last--
	}
	if last > 0 {
		z.n = 0
	}
	z.n += n - last
	return n, err
}

// isEnd returns an error unless a tar without a further entry has reached its end, which is a block of zeros. A tar
// whose sender died between two entries lacks that block and holds only part of a tree. Empty input is an empty tree.
func (z *zeros) isEnd() error {
	if z.any && z.n < tarBlock {
		return fmt.Errorf("read the tree: it was cut off: %w", io.ErrUnexpectedEOF)
	}
	return nil
}

const tarBlock = 512 // the padding of the last entry is shorter

// unpacker writes one tar into a folder, and tracks what the limits leave.
type unpacker struct {
	root   *os.Root
	left   int64
	limits Limits
	seen   map[string]bool
	files  map[string]int64 // the modes of the files that came, by their names
	// implied are folders that were needed before an entry named them.
	implied map[string]bool
}

func (u *unpacker) entry(h *tar.Header, content io.Reader) error {
	if h.Typeflag == tar.TypeXGlobalHeader {
		return nil // a comment such as git's, with the commit
	}
	name := within(h.Name)
	if why := u.refused(h, name); why != "" {
		return &HostileError{Entry: h.Name, Why: why}
	}
	if name == "." {
		return nil
	}
	delete(u.implied, name)
	u.seen[name] = true
	if parent := path.Dir(name); parent != "." {
		if !u.room(parent) {
			return &HostileError{Entry: h.Name, Why: fmt.Sprintf("makes the tree hold more than %d", u.limits.Entries)}
		}
		if err := u.root.MkdirAll(parent, 0o755); err != nil {
			return u.failed(name, err)
		}
	}
	switch h.Typeflag {
	case tar.TypeDir:
		return u.failed(name, u.root.MkdirAll(name, 0o755))
	case tar.TypeSymlink:
		return u.failed(name, u.root.Symlink(h.Linkname, name))
	}
	if h.Typeflag == tar.TypeLink {
		return u.again(name, h)
	}
	u.files[name] = h.Mode
	return u.file(name, h, content)
}

// again writes a second name of an earlier file, as a copy of it.
func (u *unpacker) again(name string, h *tar.Header) error {
	first := within(h.Linkname)
	content, err := u.root.Open(first)
	if err != nil {
		return u.failed(name, err)
	}
	defer content.Close()
	about, err := content.Stat()
	if err != nil {
		return u.failed(name, err)
	}
	same := *h
	same.Mode, same.Size = u.files[first], about.Size()
	u.files[name] = same.Mode
	return u.file(name, &same, content)
}

// within returns the path in the tree that a tar's name stands for.
func within(name string) string { return strings.TrimPrefix(strings.TrimSuffix(name, "/"), "./") }

// room counts the folders that an entry creates implicitly: they count towards the limit too.
func (u *unpacker) room(folder string) bool {
	for ; folder != "." && !u.seen[folder] && !u.implied[folder]; folder = path.Dir(folder) {
		u.implied[folder] = true
	}
	return len(u.seen)+len(u.implied) <= u.limits.Entries
}

// unusable returns the reason why a name is invalid in a tree, or "".
func unusable(name string) string {
	switch {
	case name == "" || strings.ContainsRune(name, 0):
		return "has no usable name"
	case strings.ContainsRune(name, '\\'):
		return "has a backslash in its name"
	case len(name) > maxPath:
		return fmt.Sprintf("has a name of more than %d bytes", maxPath)
	case strings.Count(name, "/") >= maxDepth:
		return fmt.Sprintf("lies deeper than %d folders", maxDepth)
	}
	return ""
}

// refused returns the reason why an entry is invalid in a tree, or "".
func (u *unpacker) refused(h *tar.Header, name string) string {
	switch {
	case len(u.seen)+len(u.implied) >= u.limits.Entries && !u.implied[name]:
		return fmt.Sprintf("is one of more than %d", u.limits.Entries)
	case path.IsAbs(name) || path.Clean(name) != name || name == ".." || strings.HasPrefix(name, "../"):
		return "leads out of the tree"
	case unusable(name) != "":
		return unusable(name)
	case u.seen[name]:
		return "is there twice"
	}
	switch h.Typeflag {
	case tar.TypeReg, tar.TypeDir:
	case tar.TypeSymlink:
		if len(h.Linkname) > maxPath || strings.ContainsRune(h.Linkname, 0) || !staysInside(name, h.Linkname) {
			return fmt.Sprintf("is a link to %.100q, out of the tree", h.Linkname)
		}
	case tar.TypeLink:
		if _, there := u.files[within(h.Linkname)]; !there {
			return fmt.Sprintf("is a hard link to %.100q, which is not a file that came before", h.Linkname)
		}
	default:
		return "is neither a file, a folder nor a symbolic link"
	}
	return ""
}

// file writes one file: never through a link, and never over an existing file.
func (u *unpacker) file(name string, h *tar.Header, content io.Reader) error {
	if h.Size > u.left {
		return &HostileError{Entry: h.Name, Why: "makes the tree larger than " + sizeText(u.limits.Bytes)}
	}
	mode := fs.FileMode(0o644)
	if h.Mode&0o111 != 0 {
		mode = 0o755
	}
	file, err := u.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return u.failed(name, err)
	}
	n, err := io.Copy(file, io.LimitReader(content, u.left+1))
	u.left -= n
	if closed := file.Close(); err == nil {
		err = closed
	}
	return u.failed(name, err)
}

// failed separates errors caused by the tar from those caused by the disk.
func (u *unpacker) failed(name string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrExist):
		return &HostileError{Entry: name, Why: "is there already"}
	case strings.Contains(err.Error(), "path escapes from parent"):
		return &HostileError{Entry: name, Why: "leads out of the tree"}
	}
	return fmt.Errorf("unpack %s: %w", name, err)
}
