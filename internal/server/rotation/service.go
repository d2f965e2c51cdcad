package rotation

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/rekey"
	"tend.dev/tend/internal/core/suggest"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/records"
)

// Options holds the dependencies of a Service. All of them are required.
type Options struct {
	Store    Store
	Snapshot func() records.Snapshot
	// Server is the name of this server; Servers are all servers that take part in a rotation.
	Server  string
	Servers func() []api.Server
	Keys    []Key
	Now     func() time.Time
	Logger  *slog.Logger
}

// Store is the part of the store that rotations use.
type Store interface {
	records.Committer
	Get(ctx context.Context, key string) (store.Entry, error)
	List(ctx context.Context, prefix string, opts store.ListOptions) (store.Page, error)
}

// Key is a key that can be rotated.
type Key interface {
	// Info returns the key's name, purpose, and the fingerprint in use; its Note holds anything else a person should know.
	Info(snap records.Snapshot) api.Key
	// Begin makes a new key, adds its records to the transaction, and sets the fingerprints of both keys in r.
	Begin(snap records.Snapshot, r *records.Rotation, txn *records.Txn) error
	// Follow does this server's part of the rotation's phase, and returns the keys that the server has then.
	Follow(snap records.Snapshot, r *records.Rotation) (records.Holding, error)
	// Advance adds the writes that begin a phase to the transaction.
	Advance(snap records.Snapshot, r *records.Rotation, txn *records.Txn) error
	// Parties returns the parties besides the servers.
	Parties(snap records.Snapshot) []rekey.Party
	// Made describes what the old key made that nobody renews by itself, as of the last Renew; empty if there is none.
	Made() string
	// Renew renews what the old key made. It returns the number of items left.
	Renew(ctx context.Context, by Store, r records.Rotation) (left int, err error)
}

// Service rotates keys.
type Service struct {
	Options
	// used maps the name of a key in rotation to the time from which every party uses the new key.
	used map[string]time.Time
	// clean contains the keys whose old version has nothing left that it encrypted or signed.
	clean map[string]bool
}

// New returns a Service.
func New(o Options) *Service {
	return &Service{Options: o, used: map[string]time.Time{}, clean: map[string]bool{}}
}

// List returns the keys, with the progress of their rotations.
func (s *Service) List() []api.Key {
	snap := s.Snapshot()
	out := make([]api.Key, 0, len(s.Keys))
	for _, key := range s.Keys {
		info := key.Info(snap)
		if r := snap.Rotation(info.Name); r.Exists() {
			info.Rotation = &r.Value.KeyRotation
		}
		out = append(out, info)
	}
	return out
}

// Begin begins the rotation of a key, unless one is running. It returns the revision that shows it.
func (s *Service) Begin(ctx context.Context, name, by string) (int64, error) {
	snap := s.Snapshot()
	at := slices.IndexFunc(s.Keys, func(k Key) bool { return k.Info(snap).Name == name })
	if at < 0 {
		detail := "there is no key " + name
		if question := suggest.Question(name, s.names(snap)); question != "" {
			detail += "; " + question
		}
		return 0, &api.Problem{Status: http.StatusNotFound, Title: "NoSuchKey", Detail: detail, Next: "tend keys lists them"}
	}
	if info := s.Keys[at].Info(snap); info.Fingerprint == "" {
		return 0, &api.Problem{Status: http.StatusConflict, Title: "NoSuchKey", Detail: "this cluster has no key " + name +
			": " + info.Note, Next: "tend keys"}
	}
	if running := snap.Rotation(name); running.Exists() {
		return running.Modified, nil
	}
	now := s.Now().UTC()
	r := &records.Rotation{KeyRotation: api.KeyRotation{Phase: api.KeySpreads, StartedAt: now, PhaseSince: now, By: by}}
	txn := records.NewTxn("key.rotate").If(records.RotationKey(name), 0)
	if err := s.Keys[at].Begin(snap, r, txn); err != nil {
		return 0, err
	}
	revision, err := txn.Put(records.RotationKey(name), *r).Commit(ctx, s.Store)
	if errors.Is(err, store.ErrConflict) {
		return 0, &api.Problem{Status: http.StatusConflict, Title: "Conflict", Detail: "the keys were changed at this moment",
			Next: "try once more"}
	}
	if err != nil {
		return 0, fmt.Errorf("rotate the key %s: %w", name, err)
	}
	return revision, nil
}

func (s *Service) names(snap records.Snapshot) (names []string) {
	for _, key := range s.Keys {
		names = append(names, key.Info(snap).Name)
	}
	return names
}

// Running returns the name of a key that is being rotated; empty if none is.
func (s *Service) Running() string {
	for _, key := range s.List() {
		if key.Rotation != nil {
			return key.Name
		}
	}
	return ""
}
