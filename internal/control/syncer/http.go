package syncer

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pattern"
	"tend.dev/tend/internal/core/source"
	"tend.dev/tend/internal/input/build/tree"
	"tend.dev/tend/internal/platform/confine"
)

// answerTime bounds a request from its start to the last byte, maxRedirects the redirects that are followed.
const (
	answerTime   = 2 * time.Minute
	maxRedirects = 5
)

func newClient() *http.Client {
	return &http.Client{
		Timeout: answerTime,
		CheckRedirect: func(request *http.Request, before []*http.Request) error {
			switch {
			case len(before) > maxRedirects:
				return fmt.Errorf("it redirects more than %d times", maxRedirects)
			case request.URL.Scheme != "https" && before[0].URL.Scheme == "https":
				return errors.New("it redirects from https to " + request.URL.Scheme)
			}
			return confine.WithoutReferer(request, before)
		},
	}
}

// client returns the client for a URL. A source that is not trusted leads neither to this machine nor to its link, by a
// redirect or by the address of its name, unless its URL itself says that it is there.
func (s *Syncer) client(spec api.SyncSpec, host string) *http.Client {
	if spec.Trusted {
		return s.HTTP
	}
	client := *s.HTTP
	if !here(host) {
		client.Transport = s.outside
		return &client
	}
	own := cmp.Or[http.RoundTripper](client.Transport, http.DefaultTransport)
	client.Transport = redirecting{host: host, own: own, others: s.outside}
	return &client
}

// here reports whether a host, with its port or without, is written as an address of this machine or its link: what a
// name leads to changes as its owner likes.
func here(host string) bool {
	name := (&url.URL{Host: host}).Hostname()
	address, err := netip.ParseAddr(name)
	return err == nil && errors.Is(confine.Check(address), confine.ErrRefused) || strings.EqualFold(name, "localhost")
}

// redirecting sends requests to one host by own, and those to others by others.
type redirecting struct {
	host        string
	own, others http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (r redirecting) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.URL.Host == r.host {
		return r.own.RoundTrip(request)
	}
	return r.others.RoundTrip(request)
}

// answer holds what is kept of the last good answer, beside its body.
type answer struct {
	URL          string `json:"url"`
	ETag         string `json:"etag,omitempty"`
	LastModified string `json:"lastModified,omitempty"`
	// Name is the file's name, which says its language.
	Name string `json:"name"`
	// Digest is the digest of the body: sha256:<hex>.
	Digest string `json:"digest"`
}

// pollHTTP asks for what a URL gives, if it has changed.
func (s *Syncer) pollHTTP(ctx context.Context, f *fetched, spec api.SyncSpec) error {
	last := f.lastAnswer(spec.HTTP)
	now, err := s.get(ctx, f, spec, last)
	if err != nil {
		return err
	}
	if spec.Checksum != "" && now.Digest != spec.Checksum {
		return source.NewFault(api.ReasonNotVerified, "see whether the change is wanted, and set checksum to it",
			"%s has the checksum %s, not %s", spec.Source(), now.Digest, spec.Checksum)
	}
	if now.Digest == f.revision {
		return nil
	}
	return f.replace(ctx, now.Digest, false, func(folder string) error { return s.unpack(ctx, f, now.Name, folder) })
}

// lastAnswer returns the last good answer of a URL; a zero one if its body is not here.
func (f *fetched) lastAnswer(address string) (last answer) {
	text, err := os.ReadFile(filepath.Join(f.folder, "answer.json"))
	if err != nil || json.Unmarshal(text, &last) != nil || last.URL != digestText(address) {
		return answer{}
	}
	if have, err := digestOf(filepath.Join(f.folder, "body")); err != nil || "sha256:"+have != last.Digest {
		return answer{}
	}
	return last
}

func digestText(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// get sends the request and keeps the body of a new answer.
func (s *Syncer) get(ctx context.Context, f *fetched, spec api.SyncSpec, last answer) (answer, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, spec.HTTP, nil)
	if err != nil {
		return answer{}, plain(err)
	}
	request.Header.Set("User-Agent", "tend")
	switch {
	case spec.Username != "":
		request.SetBasicAuth(spec.Username, spec.Password)
	case spec.Password != "":
		request.Header.Set("Authorization", "Bearer "+spec.Password)
	}
	if last.ETag != "" {
		request.Header.Set("If-None-Match", last.ETag)
	}
	if last.LastModified != "" {
		request.Header.Set("If-Modified-Since", last.LastModified)
	}
	response, err := s.client(spec, request.URL.Host).Do(request)
	if errors.Is(err, confine.ErrRefused) {
		return answer{}, source.NewFault(api.ReasonFetchFailed, nextHere, "%s", plain(err))
	}
	if err != nil {
		return answer{}, plain(err)
	}
	defer response.Body.Close()
	switch {
	case response.StatusCode == http.StatusNotModified && last.Digest != "":
		return last, nil
	case response.StatusCode != http.StatusOK:
		return answer{}, fmt.Errorf("the server answered %s", response.Status)
	}
	now := answer{
		URL: digestText(spec.HTTP), ETag: response.Header.Get("ETag"),
		LastModified: response.Header.Get("Last-Modified"),
		Name:         nameOf(request.URL, response.Header.Get("Content-Type")),
	}
	err = s.keep(f, response.Body, &now)
	return now, err
}

// keep writes a body and what is known of it.
func (s *Syncer) keep(f *fetched, body io.Reader, now *answer) error {
	at := filepath.Join(f.folder, "body")
	file, err := os.OpenFile(at+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	hash := sha256.New()
	n, err := io.Copy(io.MultiWriter(file, hash), io.LimitReader(body, s.MaxBytes+1))
	if err = errors.Join(plain(err), file.Close()); err == nil && n > s.MaxBytes {
		err = s.tooLarge()
	}
	if err != nil {
		return errors.Join(err, os.Remove(at+".new"))
	}
	now.Digest = "sha256:" + hex.EncodeToString(hash.Sum(nil))
	text, err := json.Marshal(now)
	return errors.Join(err, os.Rename(at+".new", at), os.WriteFile(filepath.Join(f.folder, "answer.json"), text, 0o600))
}

var fileName = pattern.Lazy(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)

// languages are the endings of manifests.
var languages = []string{".hcl", ".tend", ".yaml", ".yml", ".json"}

// nameOf returns the name that an answer's body has as a file.
func nameOf(address *url.URL, contentType string) string {
	name := path.Base(address.Path)
	if !fileName().MatchString(name) {
		name = "manifest"
	}
	media, _, _ := mime.ParseMediaType(contentType)
	switch {
	case slices.Contains(languages, path.Ext(name)):
		return name
	case strings.HasSuffix(media, "yaml"):
		return name + ".yaml"
	case strings.HasSuffix(media, "json"):
		return name + ".json"
	}
	return name
}

// unpack writes the body into a folder: the files of an archive, or the one file that it is.
func (s *Syncer) unpack(ctx context.Context, f *fetched, name, folder string) error {
	body, err := os.Open(filepath.Join(f.folder, "body"))
	if err != nil {
		return err
	}
	defer body.Close()
	reader := bufio.NewReader(body)
	if head, _ := reader.Peek(2); !bytes.Equal(head, []byte{0x1f, 0x8b}) { // gzip
		if !slices.Contains(languages, path.Ext(name)) {
			return source.NewFault(api.ReasonInvalidManifests,
				"have the URL end in .hcl, .yaml or .json, or serve it as application/yaml or application/json",
				"neither the URL nor the Content-Type says in which language %s is", name)
		}
		file, err := os.OpenFile(filepath.Join(folder, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		_, err = io.Copy(file, reader)
		return errors.Join(err, file.Close())
	}
	archive, err := gzip.NewReader(reader)
	if err != nil {
		return fmt.Errorf("it is not a .tar.gz: %w", err)
	}
	return s.untar(ctx, archive, folder)
}

// untar writes the files of an archive, within the bounds of a source.
func (s *Syncer) untar(ctx context.Context, archive io.Reader, folder string) error {
	err := tree.Unpack(ctx, io.LimitReader(archive, 4*s.MaxBytes), folder,
		tree.Limits{Bytes: s.MaxBytes, Entries: maxFiles})
	if _, ok := errors.AsType[*tree.HostileError](err); ok {
		return source.NewFault(api.ReasonNotAllowed,
			"take the entry out of the source; nothing of the revision was applied", "%s", err)
	}
	return err
}

// plain removes the URL, which may hold a secret, from an error that quotes it.
func plain(err error) error {
	if quoted, ok := errors.AsType[*url.Error](err); ok {
		return quoted.Err
	}
	return err
}
