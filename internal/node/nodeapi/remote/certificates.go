package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/caddyserver/certmagic"

	"tend.dev/tend/internal/node/nodeapi/local"
	"tend.dev/tend/internal/node/nodeapi/wire"
)

// stored is a request to the certificates' storage; its answer has what was requested.
type stored struct {
	Key       string            `json:"key,omitempty"`
	Value     []byte            `json:"value,omitempty"`
	Recursive bool              `json:"recursive,omitempty"`
	Exists    bool              `json:"exists,omitempty"`
	Keys      []string          `json:"keys,omitempty"`
	Info      certmagic.KeyInfo `json:"info,omitzero"`
}

func (h *Handler) certificates(c *local.Control, w http.ResponseWriter, r *http.Request) error {
	var asked, answer stored
	if err := readBody(w, r, &asked); err != nil {
		return err
	}
	storage, ctx := c.Certificates(), r.Context()
	var err error
	switch do := r.PathValue("do"); do {
	case "load":
		answer.Value, err = storage.Load(ctx, asked.Key)
	case "store":
		err = storage.Store(ctx, asked.Key, asked.Value)
	case "delete":
		err = storage.Delete(ctx, asked.Key)
	case "exists":
		answer.Exists = storage.Exists(ctx, asked.Key)
	case "list":
		answer.Keys, err = storage.List(ctx, asked.Key, asked.Recursive)
	case "stat":
		answer.Info, err = storage.Stat(ctx, asked.Key)
	default:
		err = fmt.Errorf("certificates/%s: %w", do, wire.ErrBadRequest)
	}
	if err != nil {
		return err
	}
	return wire.Write(w, answer)
}

// signed is a request for a certificate by the cluster's own authority, in DER, and its answer, in PEM.
type signed struct {
	Request     []byte `json:"request,omitempty"`
	Certificate []byte `json:"certificate,omitempty"`
}

func (h *Handler) sign(c *local.Control, w http.ResponseWriter, r *http.Request) error {
	var asked signed
	if err := readBody(w, r, &asked); err != nil {
		return err
	}
	certificate, err := c.Sign(r.Context(), asked.Request)
	if err != nil {
		return err
	}
	return wire.Write(w, signed{Certificate: certificate})
}

// maxLockTime limits the time for which a node holds a lock: the others wait for it.
const maxLockTime = 15 * time.Minute

// lock holds a lock while its request lasts, so that it is released with the connection of a node that died, and no
// longer than maxLockTime. The answer begins once the lock is held.
func (h *Handler) lock(c *local.Control, w http.ResponseWriter, r *http.Request) error {
	storage, name := c.Certificates(), r.PathValue("name")
	if err := storage.Lock(r.Context(), name); err != nil {
		return err
	}
	defer func() {
		if err := storage.Unlock(context.WithoutCancel(r.Context()), name); err != nil {
			h.Logger.Warn("a lock stays until its lease ends", "lock", name, "error", err)
		}
	}()
	w.WriteHeader(http.StatusOK)
	stream := http.NewResponseController(w)
	if err := errors.Join(stream.Flush(),
		stream.SetReadDeadline(time.Now().Add(cmp.Or(h.lockTime, maxLockTime)))); err != nil {
		return nil
	}
	_, _ = io.Copy(io.Discard, r.Body) // the node keeps its end open as long as it wants the lock
	return nil
}

// storage is the client's side of the server's storage of certificates.
type storage struct {
	client *Client

	mu    sync.Mutex
	locks map[string]func() // ends the request that holds it
}

var _ certmagic.Storage = (*storage)(nil)

func (s *storage) ask(ctx context.Context, do string, asked stored) (answer stored, err error) {
	return answer, s.client.caller.Post(ctx, "certificates/"+do, asked, &answer)
}

// Load implements certmagic.Storage.
func (s *storage) Load(ctx context.Context, key string) ([]byte, error) {
	answer, err := s.ask(ctx, "load", stored{Key: key})
	return answer.Value, err
}

// Store implements certmagic.Storage.
func (s *storage) Store(ctx context.Context, key string, value []byte) error {
	_, err := s.ask(ctx, "store", stored{Key: key, Value: value})
	return err
}

// Delete implements certmagic.Storage.
func (s *storage) Delete(ctx context.Context, key string) error {
	_, err := s.ask(ctx, "delete", stored{Key: key})
	return err
}

// Exists implements certmagic.Storage.
func (s *storage) Exists(ctx context.Context, key string) bool {
	answer, err := s.ask(ctx, "exists", stored{Key: key})
	return err == nil && answer.Exists
}

// List implements certmagic.Storage.
func (s *storage) List(ctx context.Context, folder string, recursive bool) ([]string, error) {
	answer, err := s.ask(ctx, "list", stored{Key: folder, Recursive: recursive})
	return answer.Keys, err
}

// Stat implements certmagic.Storage.
func (s *storage) Stat(ctx context.Context, key string) (certmagic.KeyInfo, error) {
	answer, err := s.ask(ctx, "stat", stored{Key: key})
	return answer.Info, err
}

// Lock implements certmagic.Storage.
func (s *storage) Lock(ctx context.Context, name string) error {
	body, open := io.Pipe()
	// The request outlives the call, since it holds the lock.
	holding, cancel := context.WithCancel(context.WithoutCancel(ctx))
	end := func() {
		_ = open.Close()
		cancel()
	}
	// a caller that gives up before it has the lock
	stop := context.AfterFunc(ctx, end)
	answer, err := s.client.caller.Send(holding, http.MethodPost, "locks/"+url.PathEscape(name), body) //nolint:bodyclose // Unlock closes it
	if !stop() && err == nil {
		_ = answer.Body.Close()
		err = ctx.Err()
	}
	if err != nil {
		end()
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.locks[name] = func() {
		_ = open.Close()
		_, _ = io.Copy(io.Discard, answer.Body) // the server has released it then
		_ = answer.Body.Close()
		cancel()
	}
	return nil
}

// Unlock implements certmagic.Storage.
func (s *storage) Unlock(_ context.Context, name string) error {
	s.mu.Lock()
	end := s.locks[name]
	delete(s.locks, name)
	s.mu.Unlock()
	if end == nil {
		return fmt.Errorf("the lock %s is not held", name)
	}
	end()
	return nil
}
