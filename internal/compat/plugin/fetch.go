package plugin

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tend.dev/tend/internal/platform/confine"
	"tend.dev/tend/internal/platform/subprocess"
)

// The bounds of what is fetched.
const (
	maxPlugin  = 512 << 20
	maxEntries = 50_000
	fetchTime  = 5 * time.Minute
)

// fetch puts a plugin's files into an empty folder.
func (r *Root) fetch(ctx context.Context, from source, version, into string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, fetchTime, subprocess.ErrLate)
	defer cancel()
	if err := r.fetchFiles(ctx, from, version, into); err != nil {
		return err
	}
	return inside(from, into)
}

// inside refuses files with a link that leads out of the folder: the next step writes to the folder and runs programs
// in it.
func inside(from source, into string) error {
	root, err := os.OpenRoot(into)
	if err != nil {
		return err
	}
	defer root.Close()
	return filepath.WalkDir(into, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Type() != fs.ModeSymlink {
			return err
		}
		name, err := filepath.Rel(into, path)
		if err != nil {
			return err
		}
		if _, err := root.Stat(name); err != nil && strings.Contains(err.Error(), "path escapes from parent") {
			return badSource(from.text, "put what it leads to into the folder", "the link %s leads out of it", name)
		}
		return nil
	})
}

func (r *Root) fetchFiles(ctx context.Context, from source, version, into string) error {
	switch from.kind {
	case fromFolder:
		return copyTree(ctx, from, into)
	case fromFile:
		file, err := os.Open(from.where)
		if err != nil {
			return badSource(from.text, "the server has to be able to read it", "%s", err)
		}
		defer file.Close()
		return unpack(ctx, from, file, into)
	case fromWeb:
		return download(ctx, from, into)
	}
	return r.clone(ctx, from, version, into)
}

// pin returns the version to fetch: without its v, and "" for the newest.
func pin(version string) string {
	if version == "latest" {
		return ""
	}
	return strings.TrimPrefix(version, "v")
}

// download fetches an archive.
func download(ctx context.Context, from source, into string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, from.where, nil)
	if err != nil {
		return badSource(from.text, "correct the URL", "%s", err)
	}
	response, err := (&http.Client{CheckRedirect: confine.WithoutReferer}).Do(request)
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err // without the URL, since it may hold a token
	}
	if err != nil {
		return badSource(from.text, "see that the URL can be reached from the server", "%s", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return badSource(from.text, "see that the archive is there", "the answer is %s", response.Status)
	}
	return unpack(ctx, from, io.LimitReader(response.Body, maxPlugin), into)
}
