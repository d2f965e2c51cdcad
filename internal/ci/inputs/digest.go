package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// digest returns the digest of the inputs of a check of the repository in root.
func digest(ctx context.Context, root string, c check) (string, error) {
	files, err := c.files(ctx, root)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	fmt.Fprintln(sum, runtime.Version())
	for _, file := range files {
		if err := add(sum, root, file); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// add writes the name, mode and content of a file. A tracked file that was deleted counts as absent.
func add(to io.Writer, root, file string) error {
	path := filepath.Join(root, file)
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	var content []byte
	if info.Mode()&fs.ModeSymlink != 0 {
		var link string
		link, err = os.Readlink(path)
		content = []byte(link)
	} else {
		content, err = os.ReadFile(path)
	}
	if err != nil {
		return err
	}
	// Of the permissions git keeps only whether a file is executable.
	_, err = fmt.Fprintf(to, "%s %v %t %d\n%s", file, info.Mode().Type(), info.Mode()&0o100 != 0, len(content), content)
	return err
}

// files returns the inputs of the check, sorted, from the root of the repository.
func (c check) files(ctx context.Context, root string) ([]string, error) {
	named := c.paths
	if len(c.packages) > 0 {
		named = append(slices.Clone(named), "go.mod", "go.sum")
	}
	files, err := tracked(ctx, root, named...)
	if err != nil {
		return nil, err
	}
	folders, err := c.folders(ctx, root)
	if err != nil {
		return nil, err
	}
	if len(folders) > 0 {
		below, err := tracked(ctx, root, folders...)
		if err != nil {
			return nil, err
		}
		files = append(files, slices.DeleteFunc(below, func(file string) bool { return !belongs(file, folders) })...)
	}
	if len(files) == 0 {
		return nil, errors.New("the check has no inputs")
	}
	slices.Sort(files)
	return slices.Compact(files), nil
}

// belongs reports whether a file lies in one of the packages' folders itself, or in testdata or another folder without
// a package below it.
func belongs(file string, folders []string) bool {
	folder := filepath.Dir(file)
	if slices.Contains(folders, folder) {
		return true
	}
	at := strings.Index("/"+folder+"/", "/testdata/")
	return at > 0 && slices.Contains(folders, folder[:at-1])
}

// folders returns the folders of the packages and of all packages of this module that they and their tests import.
func (c check) folders(ctx context.Context, root string) ([]string, error) {
	if len(c.packages) == 0 {
		return nil, nil
	}
	const folder = `{{with .Module}}{{if .Main}}{{$.Dir}}{{end}}{{end}}`
	list := exec.CommandContext(ctx, "go",
		append([]string{"list", "-deps", "-test", "-tags", c.tags, "-f", folder}, c.packages...)...)
	list.Dir, list.Stderr = root, os.Stderr
	output, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("list the packages of %s: %w", c.packages, err)
	}
	top, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	var folders []string
	for _, dir := range strings.Fields(string(output)) {
		relative, err := filepath.Rel(top, dir)
		if err != nil {
			return nil, err
		}
		folders = append(folders, relative)
	}
	slices.Sort(folders)
	return slices.Compact(folders), nil
}

// tracked returns the files below paths that git tracks or would add.
func tracked(ctx context.Context, root string, paths ...string) ([]string, error) {
	list := exec.CommandContext(ctx, "git",
		append([]string{"ls-files", "-z", "--cached", "--others", "--exclude-standard", "--"}, paths...)...)
	list.Dir, list.Stderr = root, os.Stderr
	output, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("list the files of %s: %w", paths, err)
	}
	return strings.FieldsFunc(string(output), func(r rune) bool { return r == 0 }), nil
}
