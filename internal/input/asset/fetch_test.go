package asset

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/platform/retention"
	"tend.dev/tend/internal/store/blob"
)

// site is a web server of one file, and a library that fetches from it.
type site struct {
	t       *testing.T
	library *Library
	root    string
	url     string
	// content and status are what it answers; etag marks its version. sent counts bodies.
	content, etag string
	status        int
	stuck         chan struct{}
	sent          int
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{t: t, root: t.TempDir(), content: "one", etag: `"1"`, status: http.StatusOK}
	server := httptest.NewServer(http.HandlerFunc(s.answer))
	t.Cleanup(server.Close)
	s.url = server.URL
	ledger := retention.Open(s.root, "blobs", "a")
	blobs, err := blob.Open(blob.Options{Root: s.root, MinFree: -1, Ledger: ledger})
	if err != nil {
		t.Fatal(err)
	}
	s.library = NewLibrary(Options{Blobs: blobs, Ledger: ledger, Cache: filepath.Join(s.root, "cache"),
		HTTP:   server.Client(),
		Logger: slog.New(slog.DiscardHandler)})
	return s
}

func (s *site) answer(w http.ResponseWriter, r *http.Request) {
	if s.stuck != nil {
		<-s.stuck
		return
	}
	if s.etag != "" {
		w.Header().Set("ETag", s.etag)
		if r.Header.Get("If-None-Match") == s.etag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	w.WriteHeader(s.status)
	s.sent++
	_, _ = io.WriteString(w, s.content)
}

func (s *site) fetch(change ...func(*api.AssetFile)) (digest, warning string, err error) {
	return s.fetchAs(false, change...)
}

func (s *site) fetchAs(dry bool, change ...func(*api.AssetFile)) (digest, warning string, err error) {
	file := api.AssetFile{Source: api.AssetURL, URL: s.url}
	for _, c := range change {
		c(&file)
	}
	return s.library.Fetch(s.t.Context(), file, false, dry)
}

func (s *site) want(text string, change ...func(*api.AssetFile)) (warning string) {
	s.t.Helper()
	digest, warning, err := s.fetch(change...)
	if err != nil || digest != sha256Of([]byte(text)) {
		s.t.Fatalf("%s, %v; want the digest of %q", digest, err, text)
	}
	if there, err := s.library.Has(digest, false); !there || err != nil {
		s.t.Errorf("its bytes are not kept: %v", err)
	}
	return warning
}

func orError(f *api.AssetFile) { f.OnFailure = api.OnFailureError }

func TestOnlyWhatChangedIsSentAgain(t *testing.T) {
	s := newSite(t)
	for _, content := range []string{"one", "one", "two", "two"} {
		s.content, s.etag = content, `"`+content+`"`
		if warning := s.want(content); warning != "" {
			t.Error(warning)
		}
	}
	if s.sent != 2 {
		t.Errorf("%d bodies were sent for 2 versions", s.sent)
	}
}

func TestAServerWithoutETagsIsAskedInFull(t *testing.T) {
	s := newSite(t)
	s.etag = ""
	s.want("one")
	s.content = "two"
	s.want("two")
}

func TestWhatAFailingURLComesTo(t *testing.T) {
	for reason, tc := range map[string]struct {
		before bool
		fail   func(*site)
		change func(*api.AssetFile)
		fault  string
		warns  string
	}{
		"the last bytes count": {before: true, fail: func(s *site) { s.status, s.etag = 500, "" },
			warns: "500 Internal Server Error"},
		"none are there": {fail: func(s *site) { s.status = 404 }, fault: "404 Not Found"},
		"on_error = error, and they are": {before: true, fail: func(s *site) { s.status, s.etag = 500, "" },
			change: orError, fault: "500"},
		"no server answers, and they are": {before: true,
			fail: func(s *site) { s.url, s.etag = s.url+"\x00", "" }, fault: "invalid"},
		"a redirect to nowhere is a fault": {fail: func(s *site) { s.status = 302 }, fault: "302"},
	} {
		s := newSite(t)
		if tc.before {
			s.want("one")
		}
		tc.fail(s)
		if tc.change == nil {
			tc.change = func(*api.AssetFile) {}
		}
		digest, warning, err := s.fetch(tc.change)
		switch {
		case tc.fault != "" && (err == nil || !strings.Contains(err.Error(), tc.fault)):
			t.Errorf("%s: %s, %v; want a fault with %q", reason, digest, err, tc.fault)
		case tc.warns != "" && (err != nil || !strings.Contains(warning, tc.warns) || digest != sha256Of([]byte("one"))):
			t.Errorf("%s: %s, %q, %v", reason, digest, warning, err)
		}
	}
}

// TestConfined: the server is on this machine. What another fetch got from it is not known to a confined one either.
func TestConfined(t *testing.T) {
	s := newSite(t)
	s.want("one")
	file := api.AssetFile{Source: api.AssetURL, URL: s.url}
	for _, timeout := range []api.Duration{"", "1ns"} {
		file.Timeout = timeout
		if digest, _, err := s.library.Fetch(t.Context(), file, true, false); err == nil || s.sent != 1 ||
			timeout == "" && strings.Count(err.Error(), "have an admin apply it") != 1 {
			t.Errorf("timeout %q: fetched %s, sent %d times, %v", timeout, digest, s.sent, err)
		}
	}
}

func TestASilentServerIsGivenUp(t *testing.T) {
	s := newSite(t)
	s.want("one")
	s.stuck = make(chan struct{})
	t.Cleanup(func() { close(s.stuck) })
	short := func(f *api.AssetFile) { f.Timeout = "20ms" }
	if warning := s.want("one", short); !strings.Contains(warning, "no answer within 20ms") {
		t.Errorf("the warning is %q", warning)
	}
	if _, _, err := s.fetch(short, orError); err == nil || !strings.Contains(err.Error(), "no answer within 20ms") {
		t.Error(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := s.library.Fetch(ended, api.AssetFile{URL: s.url}, false, false); err == nil {
		t.Error("an apply that was given up got the last bytes")
	}
}

func TestSecretsInAURLAreNotShown(t *testing.T) {
	s := newSite(t)
	s.status = 403
	for _, address := range []string{s.url + "/?token=hunter2", strings.Replace(s.url, "//", "//me:hunter2@", 1),
		"http://127.0.0.1:1/?a=hunter2"} {
		_, _, err := s.fetch(func(f *api.AssetFile) { f.URL = address })
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%v", err)
		}
	}
}

func TestADryRunKeepsNothing(t *testing.T) {
	s := newSite(t)
	digest, _, err := s.fetchAs(true)
	if err != nil || digest != sha256Of([]byte("one")) {
		t.Fatalf("%s, %v", digest, err)
	}
	if left := tree(t, s.root); len(left) != 0 {
		t.Errorf("left are %v", left)
	}
	s.want("one")
	before := tree(t, s.root)
	s.content, s.etag = "two", `"2"`
	if digest, _, err := s.fetchAs(true); err != nil || digest != sha256Of([]byte("two")) {
		t.Fatalf("%s, %v", digest, err)
	}
	if diff := cmp.Diff(before, tree(t, s.root)); diff != "" {
		t.Error(diff)
	}
}

// tree returns every file of a folder with its content and age.
func tree(t *testing.T, root string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Name() == retention.Folder {
			return filepath.SkipDir
		}
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		content, err := os.ReadFile(path)
		out[path] = info.ModTime().Format(time.RFC3339Nano) + " " + string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// sha256Of returns the digest of content, computed apart from the store.
func sha256Of(content []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(content)) }
