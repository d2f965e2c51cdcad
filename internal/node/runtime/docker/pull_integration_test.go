//go:build integration

package docker_test

import (
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	randomimage "github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/node/runtime/docker"
)

// shop is a registry on loopback with one image, and a handler that a test may put in front of it.
type shop struct {
	*testing.T
	runtime.Runtime
	override  atomic.Pointer[http.HandlerFunc]
	shelves   http.Handler
	reference string
	digest    string
	auth      docker.Auth
}

func newShop(t *testing.T) *shop {
	t.Helper()
	t.Parallel()
	return newQuietShop(t)
}

// newQuietShop returns a shop for a test that sets variables of the environment, and so runs alone.
func newQuietShop(t *testing.T) *shop {
	t.Helper()
	s := &shop{T: t, shelves: registry.New(registry.Logger(log.New(io.Discard, "", 0)))}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if override := s.override.Load(); override != nil {
			(*override)(w, r)
			return
		}
		s.shelves.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	s.reference = strings.TrimPrefix(server.URL, "http://") + "/tendtest/goods:v1"
	s.stock()
	rt, err := docker.New(t.Context(), docker.Options{
		Cluster: "tendtest-shop", Node: "n",
		Auth: func(context.Context, string) (docker.Auth, bool, error) { return s.auth, s.auth != docker.Auth{}, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Runtime = rt
	t.Cleanup(func() {
		_ = exec.Command("docker", "image", "rm", s.reference).Run() // there is no image if the pull was meant to fail
		if err := rt.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// stock pushes an image of two layers of 1 MiB.
func (s *shop) stock() {
	s.Helper()
	image, err := randomimage.Image(1<<20, 2)
	if err != nil {
		s.Fatal(err)
	}
	tag, err := name.NewTag(s.reference)
	if err != nil {
		s.Fatal(err)
	}
	if err := remote.Write(tag, image); err != nil {
		s.Fatal(err)
	}
	digest, err := image.Digest()
	if err != nil {
		s.Fatal(err)
	}
	s.digest = digest.String()
}

func (s *shop) put(override http.HandlerFunc) { s.override.Store(&override) }

func isBlob(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/blobs/")
}

func (s *shop) wantPulled(image runtime.Image, err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
	if image.ID == "" || image.Digest != s.digest || image.Reference != s.reference {
		s.Errorf("pulled %+v, want %s at %s", image, s.reference, s.digest)
	}
}

func TestPull(t *testing.T) {
	s := newShop(t)
	events, err := s.Events(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var seen []int
	image, err := s.Pull(t.Context(), runtime.PullSpec{Reference: s.reference}, func(percent int) {
		seen = append(seen, percent)
	})
	s.wantPulled(image, err)
	if len(seen) == 0 || seen[len(seen)-1] != 100 {
		t.Errorf("progress %v does not end with 100", seen)
	}
	for i := 1; i < len(seen); i++ {
		if seen[i] < seen[i-1] {
			t.Errorf("progress %v falls", seen)
		}
	}
	var reported []runtime.Event
	deadline := time.After(patience)
	for {
		select {
		case event := <-events:
			if reported = append(reported, event); event.Kind == runtime.EventImage && event.Image == s.reference {
				return
			}
		case <-deadline:
			t.Fatalf("no event reported the image: %v", reported)
		}
	}
}

func TestPullWithCredentials(t *testing.T) {
	s := newShop(t)
	s.put(func(w http.ResponseWriter, r *http.Request) {
		if user, password, ok := r.BasicAuth(); !ok || user != "ann" || password != "right" {
			w.Header().Set("WWW-Authenticate", `Basic realm="shop"`)
			http.Error(w, `{"errors":[{"code":"UNAUTHORIZED","message":"authentication required"}]}`, http.StatusUnauthorized)
			return
		}
		s.shelves.ServeHTTP(w, r)
	})
	for name, auth := range map[string]docker.Auth{"none": {}, "wrong": {Username: "ann", Password: "wrong"}} {
		s.auth = auth
		_, err := s.Pull(t.Context(), runtime.PullSpec{Reference: s.reference}, nil)
		var rejected *runtime.RejectedError
		if !errors.As(err, &rejected) || rejected.Reason != "Unauthorized" || !strings.Contains(rejected.Next, "127.0.0.1:") {
			t.Errorf("credentials %s: %v, want Unauthorized that names the registry", name, err)
		}
		if strings.Contains(err.Error(), "wrong") {
			t.Errorf("credentials %s: the error shows them: %v", name, err)
		}
	}
	s.auth = docker.Auth{Username: "ann", Password: "right"}
	image, err := s.Pull(t.Context(), runtime.PullSpec{Reference: s.reference}, nil)
	s.wantPulled(image, err)
}

func TestPullOfWhatIsNotThere(t *testing.T) {
	s := newShop(t)
	for _, reference := range []string{strings.Replace(s.reference, ":v1", ":v2", 1),
		strings.Replace(s.reference, "goods", "nothing", 1)} {
		_, err := s.Pull(t.Context(), runtime.PullSpec{Reference: reference}, nil)
		var rejected *runtime.RejectedError
		if !errors.As(err, &rejected) || rejected.Reason != "ImageNotFound" || rejected.Next == "" {
			t.Errorf("pull %s: %v, want ImageNotFound", reference, err)
		}
	}
	_, err := s.Pull(t.Context(), runtime.PullSpec{Reference: "Not A Reference"}, nil)
	var rejected *runtime.RejectedError
	if !errors.As(err, &rejected) || rejected.Reason != "InvalidReference" {
		t.Errorf("pull of no reference: %v, want InvalidReference", err)
	}
}

func TestPullFromARegistryInTrouble(t *testing.T) {
	s := newShop(t)
	_, err := s.Pull(t.Context(), runtime.PullSpec{Reference: "127.0.0.1:1/tendtest/goods:v1"}, nil)
	wantTransient(t, err, "RegistryUnreachable")
	s.put(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "on fire", http.StatusServiceUnavailable) })
	_, err = s.Pull(t.Context(), runtime.PullSpec{Reference: s.reference}, nil)
	wantTransient(t, err, "RegistryFailed")
	s.override.Store(nil)
	image, err := s.Pull(t.Context(), runtime.PullSpec{Reference: s.reference}, nil)
	s.wantPulled(image, err)
}

func wantTransient(t *testing.T, err error, reason string) {
	t.Helper()
	var transient *runtime.TransientError
	if !errors.As(err, &transient) || transient.Reason != reason || transient.Next == "" {
		t.Errorf("error %#v (%v), want a TransientError %s with a next step", err, err, reason)
	}
}

// TestPullSlowly delays the layers half way until the progress shows it.
func TestPullSlowly(t *testing.T) {
	s := newShop(t)
	shown := make(chan struct{})
	s.put(func(w http.ResponseWriter, r *http.Request) {
		if !isBlob(r) {
			s.shelves.ServeHTTP(w, r)
			return
		}
		blob := s.blob(r)
		w.Header().Set("Content-Length", blob.Header().Get("Content-Length"))
		data := blob.Body.Bytes()
		_, _ = w.Write(data[:len(data)/2])
		if len(data) > 1<<20 { // a layer, not the configuration
			w.(http.Flusher).Flush()
			select {
			case <-shown:
			case <-r.Context().Done():
			}
		}
		_, _ = w.Write(data[len(data)/2:])
	})
	var seen []int
	image, err := s.Pull(t.Context(), runtime.PullSpec{Reference: s.reference}, func(percent int) {
		if seen = append(seen, percent); percent > 0 && percent < 60 {
			select {
			case <-shown:
			default:
				close(shown)
			}
		}
	})
	s.wantPulled(image, err)
	if seen[0] != -1 {
		t.Errorf("progress %v does not begin unknown", seen)
	}
}

func (s *shop) blob(r *http.Request) *httptest.ResponseRecorder {
	recorder := httptest.NewRecorder()
	s.shelves.ServeHTTP(recorder, r)
	return recorder
}

func TestPullIsCancelled(t *testing.T) {
	s := newShop(t)
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan struct{})
	t.Cleanup(func() { close(over) }) // the engine may hold on to its request for longer than we do
	s.put(func(w http.ResponseWriter, r *http.Request) {
		if isBlob(r) {
			cancel()
			select {
			case <-r.Context().Done():
			case <-over:
			}
			return
		}
		s.shelves.ServeHTTP(w, r)
	})
	if _, err := s.Pull(ctx, runtime.PullSpec{Reference: s.reference}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled pull: %v", err)
	}
}

// TestPullBrokenInMidLayer: the engine fetches a layer again that was cut off; one with wrong bytes fails at once, and
// works when the registry is repaired.
func TestPullBrokenInMidLayer(t *testing.T) {
	s := newShop(t)
	s.put(func(w http.ResponseWriter, r *http.Request) {
		if !isBlob(r) {
			s.shelves.ServeHTTP(w, r)
			return
		}
		data := s.blob(r).Body.Bytes()
		data[len(data)/2] ^= 0xff
		_, _ = w.Write(data)
	})
	_, err := s.Pull(t.Context(), runtime.PullSpec{Reference: s.reference}, nil)
	wantTransient(t, err, "BrokenImage")
	var cuts atomic.Int32
	s.put(func(w http.ResponseWriter, r *http.Request) {
		if !isBlob(r) || cuts.Add(1) > 2 {
			s.shelves.ServeHTTP(w, r)
			return
		}
		data := s.blob(r).Body.Bytes()
		_, _ = w.Write(data[:len(data)/2])
		panic(http.ErrAbortHandler)
	})
	image, err := s.Pull(t.Context(), runtime.PullSpec{Reference: s.reference}, nil)
	s.wantPulled(image, err)
	if cuts.Load() < 3 {
		t.Errorf("%d fetches: nothing was cut", cuts.Load())
	}
}

// TestATagThatIsNotHere: for an image that is built locally the error names the other tags, whatever its registry
// answers.
func TestATagThatIsNotHere(t *testing.T) {
	repository, tag, _ := strings.Cut(image, ":")
	_, err := newCluster(t).Pull(t.Context(), runtime.PullSpec{Reference: repository + ":v99"}, func(int) {})
	if want := " has no image " + repository + ":v99 (its tags: " + tag + "), and docker.io "; err == nil ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
}
