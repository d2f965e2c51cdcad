package plugin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// copyTree copies a folder without its .git. A link is copied as a link, which must stay inside the folder.
func copyTree(ctx context.Context, from source, into string) error {
	c := copying{ctx: ctx, from: from.where, into: into, left: maxPlugin}
	err := filepath.WalkDir(from.where, c.visit)
	var fault *Error
	if err == nil || errors.As(err, &fault) {
		return err
	}
	return badSource(from.text, "the server has to be able to read all of it", "%s", err)
}

// copying is a copy in progress, with the bytes and entries that it may still copy.
type copying struct {
	ctx        context.Context
	from, into string
	left       int64
	entries    int
}

func (c *copying) visit(path string, entry fs.DirEntry, err error) error {
	if err == nil {
		err = context.Cause(c.ctx)
	}
	if err != nil {
		return err
	}
	name, err := filepath.Rel(c.from, path)
	if err != nil || name == "." {
		return err
	}
	if name == ".git" { // a file in a worktree, where SkipDir would mean all the rest
		if entry.IsDir() {
			return filepath.SkipDir
		}
		return nil
	}
	if c.entries++; c.entries > maxEntries {
		return badSource(c.from, "name the plugin's own folder", "it holds more than %d files", maxEntries)
	}
	target := filepath.Join(c.into, name)
	switch entry.Type() {
	case fs.ModeDir:
		return os.Mkdir(target, 0o755)
	case fs.ModeSymlink:
		return c.link(path, name, target)
	case 0:
		return c.file(path, target)
	}
	return badSource(c.from, "take it out of the folder", "%s is neither a file, a folder nor a link", name)
}

func (c *copying) link(path, name, target string) error {
	to, err := os.Readlink(path)
	if err != nil {
		return err
	}
	if filepath.IsAbs(to) || !filepath.IsLocal(filepath.Join(filepath.Dir(name), to)) {
		return badSource(c.from, "copy what it leads to into the folder", "the link %s leads out of it", name)
	}
	return os.Symlink(to, target)
}

func (c *copying) file(path, target string) error {
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	mode := fs.FileMode(0o644) | info.Mode()&0o111
	out, err := os.OpenFile(target, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	n, err := io.Copy(out, io.LimitReader(in, c.left+1))
	if c.left -= n; c.left < 0 {
		err = badSource(c.from, "name the plugin's own folder", "it is larger than %s", size(maxPlugin))
	}
	if err := errors.Join(err, out.Close()); err != nil {
		return fmt.Errorf("copy %s: %w", path, err)
	}
	return nil
}
