package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/blob"
)

const (
	// maxUploads bounds the bytes of unreferenced files that an access token may have stored, and smallestUpload is the
	// size at which an empty file counts.
	maxUploads     = 1 << 30
	smallestUpload = 4096
	// manyUploads are looked through once in a minute, fewer once in a second.
	manyUploads = 1000
)

// uploads counts the unreferenced files that each access token has stored. Only this server counts them, since they are
// on its disk.
type uploads struct {
	mu sync.Mutex
	of map[string]*account
}

// account holds the files that an access token has stored, by digest, and their bytes, including uploads in progress.
type account struct {
	mu    sync.Mutex
	kept  map[string]int64
	bytes int64
	seen  time.Time
	// sent are the digests of which the token sent the bytes, also those that something refers to by now.
	sent map[string]bool
}

// maxSent bounds the digests that are remembered of one token. A token whose digests are forgotten sends the
// bytes again.
const maxSent = 1 << 16

// has reports whether the token sent the bytes of a digest.
func (a *account) has(digest string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.sent[digest]
}

// account returns that of the caller's token; nil for an admin, who has no bound.
func (s *Server) account(ctx context.Context) *account {
	grant := callerOf(ctx).grant
	if grant.Role == api.Admin || grant.Name == "" {
		return nil
	}
	s.uploads.mu.Lock()
	defer s.uploads.mu.Unlock()
	if s.uploads.of == nil {
		s.uploads.of = map[string]*account{}
	}
	if s.uploads.of[grant.Name] == nil {
		s.uploads.of[grant.Name] = &account{kept: map[string]int64{}, sent: map[string]bool{}}
	}
	return s.uploads.of[grant.Name]
}

// review removes files that are referenced by now, or that no longer exist.
func (s *Server) review(a *account) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	pause := time.Second
	if len(a.kept) > manyUploads {
		pause = time.Minute
	}
	if len(a.kept) == 0 || time.Since(a.seen) < pause {
		return nil
	}
	snap, err := s.snapshot()
	if err != nil {
		return err
	}
	a.seen = time.Now()
	used := snap.ReferredFiles()
	for digest, size := range a.kept {
		file, err := s.Blobs.Open(digest)
		if err == nil {
			err = file.Close()
		}
		if used[digest] || errors.Is(err, blob.ErrNotFound) {
			delete(a.kept, digest)
			a.bytes -= size
		}
	}
	return nil
}

// upload is a file that is being received.
type upload struct {
	io.Reader
	of    *account
	most  int64
	bytes int64
}

// Read implements io.Reader.
func (u *upload) Read(p []byte) (int, error) {
	n, err := u.Reader.Read(p)
	if full := u.add(int64(n)); full != nil {
		return 0, full
	}
	return n, err
}

// add counts bytes, unless there are too many.
func (u *upload) add(n int64) error {
	u.of.mu.Lock()
	defer u.of.mu.Unlock()
	if u.of.bytes+n > u.most {
		return &api.Problem{Status: http.StatusRequestEntityTooLarge,
			Detail: fmt.Sprintf("nothing refers to %d MiB of files that were uploaded with this token, and it may have %d MiB of them", u.of.bytes>>20, u.most>>20),
			Next:   "apply what refers to them, or wait a day: what nothing refers to is removed then"}
	}
	u.bytes += n
	u.of.bytes += n
	return nil
}

// end finishes the upload. Unless the file was stored and is new, its bytes no longer count for the token.
func (u *upload) end(digest string, stored bool) {
	u.of.mu.Lock()
	defer u.of.mu.Unlock()
	if _, twice := u.of.kept[digest]; stored && !twice {
		u.of.kept[digest] = u.bytes
	} else {
		u.of.bytes -= u.bytes
	}
	if stored {
		if len(u.of.sent) >= maxSent {
			clear(u.of.sent)
		}
		u.of.sent[digest] = true
	}
}

// putCounted stores a file, and counts it for the caller.
func (s *Server) putCounted(ctx context.Context, digest string, body io.Reader) error {
	of := s.account(ctx)
	if of == nil {
		return s.Blobs.PutAs(digest, body, s.MaxBlob)
	}
	if err := s.review(of); err != nil {
		return err
	}
	counted := &upload{Reader: body, of: of, most: max(s.MaxUploads, 2*s.MaxBlob)}
	if err := counted.add(smallestUpload); err != nil {
		return err
	}
	err := s.Blobs.PutAs(digest, counted, s.MaxBlob)
	counted.end(digest, err == nil)
	return err
}
