package asset

import (
	"bytes"
	"log/slog"
	"net/http"
	"path/filepath"
	"time"

	"tend.dev/tend/internal/platform/confine"
	"tend.dev/tend/internal/platform/retention"
	"tend.dev/tend/internal/store/blob"
)

// Options make a Library. Blobs and Cache are needed.
type Options struct {
	Blobs *blob.Store
	// Ledger decides which blobs may be deleted; default: none.
	Ledger *retention.Ledger
	// Cache is the folder for the records of fetched URLs.
	Cache string
	// HTTP makes the fetches, and Confined those that may not reach this machine. Default: a client without a timeout of
	// its own that uses the environment's proxy.
	HTTP, Confined *http.Client
	// Now is the clock; default time.Now.
	Now func() time.Time
	// Logger defaults to slog.Default().
	Logger *slog.Logger
}

// Library stores the bytes of assets. Safe for concurrent use.
type Library struct {
	opts  Options
	cache cache
}

// NewLibrary returns a Library. It reads and writes nothing yet.
func NewLibrary(o Options) *Library {
	if o.HTTP == nil {
		o.HTTP = &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone(),
			CheckRedirect: confine.WithoutReferer}
	}
	if o.Confined == nil {
		o.Confined = &http.Client{Transport: confine.Transport(http.DefaultTransport.(*http.Transport)),
			CheckRedirect: confine.WithoutReferer}
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

// Has reports whether the bytes of a digest are stored. Unless it is for a dry run, they are kept for another hour,
// even if nothing refers to them.
func (l *Library) Has(digest string, dry bool) (bool, error) {
	if dry {
		return l.opts.Blobs.Has(digest)
	}
	return l.opts.Blobs.Renew(digest)
}
