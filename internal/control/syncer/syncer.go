package syncer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control/verbs"
	"tend.dev/tend/internal/core/redact"
	"tend.dev/tend/internal/core/source"
	"tend.dev/tend/internal/platform/confine"
	"tend.dev/tend/internal/store/records"
)

// The bounds of what is fetched.
const (
	maxSource = 64 << 20
	maxFiles  = 10_000
	fetchTime = 4 * time.Minute
	// maxCopy bounds Tend's copy of a repository, in bytes.
	maxCopy = 1 << 30
)

// Options are the dependencies of a Syncer. Folder, Apply and Open are required.
type Options struct {
	// Folder contains a folder with the source of each sync.
	Folder string
	// Apply is the verb.
	Apply func(ctx context.Context, objects []api.Object, opts verbs.ApplyOptions) (api.ApplyResult, error)
	// Stored returns an object as it is stored; nil if it isn't. Default: none is.
	Stored func(api.Ref) *api.Object
	// PutBlob stores a large file of an asset. Default: such files are refused.
	PutBlob func(content io.Reader, digest string) error
	// Open decrypts what the verbs sealed.
	Open func(sealed []byte) ([]byte, error)
	// Git is the program. Default git. Environ is the environment it gets a part of. Default os.Environ.
	Git     string
	Environ func() []string
	// HTTP is the client. Default one of its own.
	HTTP *http.Client
	// Find looks up the hosts of repositories. Default that of the machine.
	Find confine.Find
	// Settle is the time for which a file of a folder must be unchanged: one that is being written is not read.
	// Default 1 s.
	Settle time.Duration
	// MaxBytes bounds a source. Default 64 MiB.
	MaxBytes int64
	// MaxCopy bounds the copy of a repository, of which only a part may be fetched. Default 1 GiB.
	MaxCopy int64
	// Now is the clock. Default time.Now.
	Now func() time.Time
}

// Syncer fetches and applies. Create it with New.
type Syncer struct {
	Options
	// outside sends what may not reach this machine.
	outside http.RoundTripper
	mu      sync.Mutex
	known   map[string]*fetched // by the uid of the sync
	// used has the folders of what was fetched in this process, by name.
	used map[string]bool
}

// New returns a Syncer. It creates its folder when it first fetches.
func New(o Options) *Syncer {
	o.Git = cmp.Or(o.Git, "git")
	if o.Environ == nil {
		o.Environ = os.Environ
	}
	if o.HTTP == nil {
		o.HTTP = newClient()
	}
	if o.Find == nil {
		o.Find = net.DefaultResolver.LookupNetIP
	}
	if o.Stored == nil {
		o.Stored = func(api.Ref) *api.Object { return nil }
	}
	o.Settle = cmp.Or(o.Settle, time.Second)
	o.MaxBytes = cmp.Or(o.MaxBytes, maxSource)
	o.MaxCopy = cmp.Or(o.MaxCopy, maxCopy)
	if o.Now == nil {
		o.Now = time.Now
	}
	outside := confine.Transport(http.DefaultTransport.(*http.Transport))
	return &Syncer{Options: o, outside: outside, known: map[string]*fetched{}, used: map[string]bool{}}
}

const nextSource = "see that the source is there and that the server may read it; Tend polls it again"

// Poll fetches the source of a sync, if it has changed, and returns its revision and its files.
func (s *Syncer) Poll(ctx context.Context, object api.Object) (string, []source.File, error) {
	spec, err := s.spec(object)
	if err != nil {
		return "", nil, source.NewFault(api.ReasonInvalidSpec, "apply the sync again", "%s", err)
	}
	f, err := s.begin(ctx, object, spec)
	if err != nil {
		return "", nil, err
	}
	defer s.end(f)
	if err := os.MkdirAll(f.folder, 0o700); err != nil {
		return "", nil, err
	}
	if err := s.fetch(ctx, f, spec); err != nil {
		return "", nil, err
	}
	return f.revision, slices.Clone(f.files), nil
}

// fetch brings what is known of a source up to date. Its error is a *source.Error that shows no secret of the spec,
// also where the source answers with one.
func (s *Syncer) fetch(ctx context.Context, f *fetched, spec api.SyncSpec) (err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, fetchTime, fmt.Errorf("it took longer than %s", fetchTime))
	defer cancel()
	switch {
	case spec.Git != "":
		err = s.pollGit(ctx, f, spec)
	case spec.HTTP != "":
		err = s.pollHTTP(ctx, f, spec)
	default:
		err = s.pollFolder(ctx, f, spec)
	}
	var fault *source.Error
	if err != nil && !errors.As(err, &fault) {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		fault = source.NewFault(api.ReasonFetchFailed, nextSource, "%s: %s", strings.TrimPrefix(spec.Source(), "http "),
			strings.ReplaceAll(err.Error(), f.folder+"/", ""))
	}
	if fault == nil {
		return nil
	}
	hidden := *fault
	hidden.Message = redact.Secrets(fault.Message, secretsOf(spec)...)
	return &hidden
}

// secretsOf returns what is secret of a spec: its password and key, and the credentials and the query of its URL.
func secretsOf(spec api.SyncSpec) []string {
	out := []string{spec.Password, spec.SSHKey}
	parsed, err := url.Parse(spec.Location())
	if err != nil || parsed.Scheme != "https" && parsed.Scheme != "http" {
		return out
	}
	password, known := parsed.User.Password()
	if out = append(out, password); !known {
		out = append(out, parsed.User.Username())
	}
	for _, values := range parsed.Query() {
		out = append(out, values...)
	}
	return append(out, parsed.RawQuery)
}

// spec returns the spec of a sync with its secrets.
func (s *Syncer) spec(object api.Object) (api.SyncSpec, error) {
	spec, err := api.DecodeSpec[api.SyncSpec](object)
	if err != nil {
		return spec, err
	}
	for _, secret := range []*string{&spec.Password, &spec.SSHKey} {
		if *secret == "" {
			continue
		}
		if *secret, err = records.OpenToken(*secret, s.Open); err != nil {
			return spec, err
		}
	}
	return spec, nil
}
