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
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pattern"
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
}

// fetched holds what is known of a source in this process. mu is held while the source is polled or applied.
type fetched struct {
	mu     sync.Mutex
	folder string
	// spec is the spec that it was fetched for; with another one it is fetched again.
	spec     string
	revision string
	files    []source.File
	// id is the target of a repository's ref when revision was fetched and verified: a commit, or a tag of it.
	id string
	// tidied is the size of a repository's copy when it held nothing but what a revision needs; 0 if that is not known.
	tidied int64
}

func (f *fetched) tree() string { return filepath.Join(f.folder, "tree") }

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
	return &Syncer{Options: o, outside: outside, known: map[string]*fetched{}}
}

var uidForm = pattern.Lazy(`^[A-Za-z0-9][A-Za-z0-9-]{0,63}$`)

// of returns what is known of a sync's source, locked. Its folder is made by a poll.
func (s *Syncer) of(uid string) (*fetched, error) {
	if !uidForm().MatchString(uid) {
		return nil, fmt.Errorf("%q is not a uid", uid)
	}
	s.mu.Lock()
	f := s.known[uid]
	if f == nil {
		f = &fetched{folder: filepath.Join(s.Folder, uid)}
		s.known[uid] = f
	}
	s.mu.Unlock()
	f.mu.Lock()
	return f, nil
}

// Keep removes what was fetched for any other sync.
func (s *Syncer) Keep(uids []string) {
	entries, _ := os.ReadDir(s.Folder) // there is none before the first fetch
	for _, entry := range entries {
		if !slices.Contains(uids, entry.Name()) {
			s.Drop(entry.Name())
		}
	}
}

// Drop removes what was fetched for a sync.
func (s *Syncer) Drop(uid string) {
	f, err := s.of(uid)
	if err != nil {
		return
	}
	defer f.mu.Unlock()
	f.forget("")
	_ = os.RemoveAll(f.folder) // what is left is removed at the next start
	s.mu.Lock()
	delete(s.known, uid)
	s.mu.Unlock()
}

// forget has the next poll fetch for a spec from the beginning.
func (f *fetched) forget(spec string) {
	f.spec, f.revision, f.files, f.id = spec, "", nil, ""
}

// Poll fetches the source of a sync, if it has changed, and returns its revision and its files.
func (s *Syncer) Poll(ctx context.Context, object api.Object) (string, []source.File, error) {
	spec, err := s.spec(object)
	if err != nil {
		return "", nil, source.NewFault(api.ReasonInvalidSpec, "apply the sync again", "%s", err)
	}
	f, err := s.of(object.Metadata.UID)
	if err != nil {
		return "", nil, err
	}
	defer f.mu.Unlock()
	if err := os.MkdirAll(f.folder, 0o700); err != nil {
		return "", nil, err
	}
	if f.spec != string(object.Spec) {
		f.forget(string(object.Spec))
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
		next := "see that the source is there and that the server may read it; Tend polls it again"
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		fault = source.NewFault(api.ReasonFetchFailed, next, "%s: %s", strings.TrimPrefix(spec.Source(), "http "),
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

// replace makes the tree of a revision by fill, which writes into an empty folder. If it fails, the tree before stays.
func (f *fetched) replace(revision string, stamped bool, fill func(folder string) error) error {
	fresh := filepath.Join(f.folder, "tree.new")
	if err := errors.Join(os.RemoveAll(fresh), os.Mkdir(fresh, 0o700)); err != nil {
		return err
	}
	if err := fill(fresh); err != nil {
		return errors.Join(err, os.RemoveAll(fresh))
	}
	files, err := list(fresh, stamped)
	if err != nil {
		return err
	}
	if err := errors.Join(os.RemoveAll(f.tree()), os.Rename(fresh, f.tree())); err != nil {
		f.revision = ""
		return err
	}
	f.revision, f.files = revision, files
	return nil
}
