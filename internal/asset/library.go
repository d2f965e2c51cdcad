package asset

import (
	"bytes"
	"log/slog"
	"net/http"
	"path/filepath"
	"time"

	"tend.dev/tend/internal/blob"
	"tend.dev/tend/internal/retention"
)

// Options make a Library. Blobs and Cache are needed.
type Options struct {
	Blobs *blob.Store
	// Ledger says which blobs may be deleted; default: none.
	Ledger *retention.Ledger
	// Cache is the folder that remembers what was fetched.
	Cache string
	// HTTP fetches; default a client without a timeout of its own that takes the proxy from the environment.
	HTTP *http.Client
	// Now is the clock; default time.Now.
	Now func() time.Time
	// Logger defaults to slog.Default().
	Logger *slog.Logger
}

// Library keeps the bytes of assets. Safe for concurrent use.
type Library struct {
	opts  Options
	cache cache
}

// NewLibrary makes a Library; nothing is read or written yet.
func NewLibrary(o Options) *Library {
	if o.HTTP == nil {
		o.HTTP = &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return &Library{opts: o, cache: cache{folder: filepath.Clean(o.Cache)}}
}

// Keep stores bytes that came with a manifest.
func (l *Library) Keep(content []byte) (digest string, err error) {
	return l.opts.Blobs.Put(bytes.NewReader(content), blob.MaxBytes)
}

// Has says whether the bytes of a digest are there. Unless it is for a dry run, they stay for another hour, whether
// something refers to them or not.
func (l *Library) Has(digest string, dry bool) (bool, error) {
	if dry {
		return l.opts.Blobs.Has(digest)
	}
	return l.opts.Blobs.Renew(digest)
}
