package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/node/nodeapi"
	"tend.dev/tend/internal/node/runtime"
)

// spoolAge is the time for which a received part of an image is kept for the rest.
const spoolAge = 24 * time.Hour

// copyImage copies an image from a node that has it. It has no name here: a name that moves on its own node would stay.
// What comes is written to a file first, so that a copy that was cut goes on where it was.
func (a *Agent) copyImage(ctx context.Context, task api.Task, release node.Release) error {
	file, err := a.openSpool(release.ImageID)
	if err != nil {
		return fmt.Errorf("copy image %s: %w", release.Image, err)
	}
	defer file.Close()
	if err := a.receive(ctx, task, release, file); err != nil {
		return err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("copy image %s: %w", release.Image, err)
	}
	err = a.runtime.LoadImage(ctx, release.ImageID, file)
	if errors.Is(err, runtime.ErrUnavailable) || ctx.Err() != nil {
		return err // it is loaded later
	}
	_ = os.Remove(file.Name()) // else another copy does, a day later
	return err
}

// receive adds to a file what it lacks of an image's archive.
func (a *Agent) receive(ctx context.Context, task api.Task, release node.Release, file *os.File) error {
	sum := sha256.New()
	size, err := io.Copy(sum, file)
	if err != nil {
		return fmt.Errorf("copy image %s: %w", release.Image, err)
	}
	has := node.Part{Size: size, Sum: hex.EncodeToString(sum.Sum(nil))}
	content, err := a.control.ReleaseImage(ctx, task, has)
	if err != nil {
		return err
	}
	defer content.Close()
	from, err := nodeapi.ReceiveFrom(content, has)
	if err == nil && from != size {
		_, seek := file.Seek(from, io.SeekStart)
		err = errors.Join(file.Truncate(from), seek)
	}
	if err == nil {
		_, err = io.Copy(&roomy{file: file, room: a.opts.Room}, content)
	}
	if errors.Is(err, errNoRoom) {
		_ = os.Remove(file.Name()) // the part that came takes the room
		return runtime.DiskFull("node "+a.opts.Node, "the copy of image "+release.Image+" from another node")
	}
	if err != nil {
		return &runtime.TransientError{
			Reason: "PullInterrupted", Detail: fmt.Sprintf("copy image %s from another node: %v", release.Image, err),
			Next: "Tend retries, and goes on where it was",
		}
	}
	return nil
}

// minFree is the room that an image on its way leaves free on its disk, and roomEvery after how many bytes that is
// looked at again.
const (
	minFree   = 256 << 20
	roomEvery = 32 << 20
)

var errNoRoom = fmt.Errorf("it is larger than what the disk has free but for %d MiB", minFree>>20)

// Room returns how many bytes more a file may have: the disk must keep some.
func Room(file *os.File) (int64, error) {
	var disk unix.Statfs_t
	if err := unix.Fstatfs(int(file.Fd()), &disk); err != nil {
		return 0, err
	}
	return int64(disk.Bavail)*int64(disk.Bsize) - minFree, nil //nolint:unconvert // narrower elsewhere
}

// roomy writes a file while there is room for it: another node may send bytes without an end.
type roomy struct {
	file *os.File
	room func(*os.File) (int64, error)
	left int64
}

// Write implements io.Writer.
func (r *roomy) Write(p []byte) (int, error) {
	if r.left < int64(len(p)) {
		free, err := r.room(r.file)
		if err != nil {
			return 0, fmt.Errorf("how much room its disk has: %w", err)
		}
		if free < int64(len(p)) {
			return 0, errNoRoom
		}
		r.left = min(free, roomEvery)
	}
	n, err := r.file.Write(p)
	r.left -= int64(n)
	return n, err
}

// openSpool opens the file of an image's archive, with what came of it so far, and removes old ones of others.
func (a *Agent) openSpool(id string) (*os.File, error) {
	dir := a.opts.Spool
	if dir == "" {
		file, err := os.CreateTemp("", "tend-image-")
		if err == nil {
			err = os.Remove(file.Name()) // it goes when it is closed
		}
		return file, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && a.now().Sub(info.ModTime()) > spoolAge {
			_ = os.Remove(filepath.Join(dir, entry.Name())) // the next one tries again
		}
	}
	return os.OpenFile(filepath.Join(dir, strings.TrimPrefix(filepath.Base(id), "sha256:")), os.O_RDWR|os.O_CREATE, 0o600)
}
