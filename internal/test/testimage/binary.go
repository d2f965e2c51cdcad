package testimage

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
)

// source is the server's own text: built from a copy, the image needs neither this module nor a working directory.
//
//go:embed server/*.go
var source embed.FS

// Binary returns the path of the compiled server (static, stripped). It compiles only what this machine has not
// compiled before: the file's name is the hash of its source, its architecture and the toolchain.
func Binary(ctx context.Context) (string, error) {
	id, err := sourceHash()
	if err != nil {
		return "", err
	}
	dir, err := cacheDir()
	if err != nil {
		return "", err
	}
	unlock, err := lock(filepath.Join(dir, "lock"))
	if err != nil {
		return "", err
	}
	defer unlock()
	path := filepath.Join(dir, id, "server")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if err := compile(ctx, path); err != nil {
		return "", fmt.Errorf("compile the test server: %w", err)
	}
	return path, nil
}

func sourceHash() (string, error) {
	hash := sha256.New()
	fmt.Fprintln(hash, runtime.Version(), runtime.GOARCH)
	err := fs.WalkDir(source, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := source.ReadFile(path)
		fmt.Fprintf(hash, "%s %d\n%s", path, len(data), data)
		return err
	})
	return hex.EncodeToString(hash.Sum(nil))[:16], err
}

func cacheDir() (string, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		base = os.TempDir() // no home directory: an unprivileged service, a bare container
	}
	dir := filepath.Join(base, "tend-testimage")
	return dir, os.MkdirAll(dir, 0o755)
}

// lock keeps other processes of this machine from compiling the same binary at the same time.
func lock(path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), file.Close())
	}
	return func() { _ = file.Close() }, nil
}

// compile builds in a temporary folder and renames, so that an interrupted build leaves no incomplete binary.
func compile(ctx context.Context, path string) error {
	work, err := os.MkdirTemp("", "tend-testimage-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if err := os.CopyFS(work, source); err != nil {
		return err
	}
	module := []byte("module testserver\n\ngo 1.24\n")
	if err := os.WriteFile(filepath.Join(work, "go.mod"), module, 0o644); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	partial := filepath.Join(filepath.Dir(path), "partial")
	command := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", partial, "./server")
	command.Dir = work
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off", "GOOS=linux")
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w: %s", err, output)
	}
	return os.Rename(partial, path)
}
