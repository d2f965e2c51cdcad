//go:build integration

package e2e

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	layers "github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/test/testimage"
)

// shop is a registry on loopback that requires a password, and holds layers back until it is released.
type shop struct {
	t         *testing.T
	shelves   http.Handler
	open      atomic.Bool // no password is required
	proceed   chan struct{}
	once      sync.Once
	reference string
}

func newShop(t *testing.T) *shop {
	t.Helper()
	s := &shop{t: t, shelves: registry.New(registry.Logger(log.New(io.Discard, "", 0))), proceed: make(chan struct{})}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.reference = strings.TrimPrefix(server.URL, "http://") + "/tendtest/goods:v1"
	s.open.Store(true)
	s.stock()
	s.open.Store(false)
	return s
}

// release lets layers pass.
func (s *shop) release() { s.once.Do(func() { close(s.proceed) }) }

func (s *shop) stock() {
	s.t.Helper()
	archive, err := testimage.Archive(s.t.Context(), "pulled-"+random(), "goods:v1")
	if err != nil {
		s.t.Fatal(err)
	}
	path := filepath.Join(s.t.TempDir(), "image.tar")
	if err := os.WriteFile(path, archive, 0o600); err != nil {
		s.t.Fatal(err)
	}
	image, err := tarball.ImageFromPath(path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	// A new layer: one that this engine pulled for another test would not be pulled again.
	fresh, err := layers.Layer(2<<20, types.DockerLayer)
	if err == nil {
		image, err = mutate.AppendLayers(image, fresh)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	tag, err := name.NewTag(s.reference)
	if err == nil {
		err = remote.Write(tag, image)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if user, password, _ := r.BasicAuth(); !s.open.Load() && (user != "ann" || password != "right") {
		w.Header().Set("WWW-Authenticate", `Basic realm="shop"`)
		http.Error(w, `{"errors":[{"code":"UNAUTHORIZED","message":"authentication required"}]}`, http.StatusUnauthorized)
		return
	}
	if r.Method != http.MethodGet || !strings.Contains(r.URL.Path, "/blobs/") {
		s.shelves.ServeHTTP(w, r)
		return
	}
	blob := httptest.NewRecorder()
	s.shelves.ServeHTTP(blob, r)
	data := blob.Body.Bytes()
	w.Header().Set("Content-Length", blob.Header().Get("Content-Length"))
	_, _ = w.Write(data[:len(data)/2])
	if len(data) > 1<<20 { // the layer, not the configuration
		w.(http.Flusher).Flush()
		select {
		case <-s.proceed:
		case <-r.Context().Done():
		}
	}
	_, _ = w.Write(data[len(data)/2:])
}

// TestPull from a registry through the whole product: refused in plain words, with a login progress that moves, then
// containers.
func TestPull(t *testing.T) {
	s := newShop(t)
	config := t.TempDir()
	m := newMachine(t)
	t.Cleanup(s.release) // before the registry waits for its requests
	m.env = []string{"DOCKER_CONFIG=" + config}
	m.start()
	m.afterwards(func() { m.engine("rmi", "-f", s.reference).ignored() })
	goods := func(o *api.DeploymentSpec) { o.Image = s.reference }
	m.apply(m.manifest("app", goods))
	host, _, _ := strings.Cut(s.reference, "/")
	said := m.degraded("app", "Unauthorized", host)
	t.Logf("without a login: %s", said.Message)
	login := `{"auths":{"` + host + `":{"auth":"YW5uOnJpZ2h0"}}}` // ann:right
	if err := os.WriteFile(filepath.Join(config, "config.json"), []byte(login), 0o600); err != nil {
		t.Fatal(err)
	}
	result, err := m.client.Apply(t.Context(),
		api.ApplyRequest{Objects: []api.Object{m.manifest("app", goods)}, Force: true})
	if err != nil {
		t.Fatal(err)
	}
	m.until("the condition shows how far the pull is", func() bool {
		c := api.FindCondition(m.status("app").Conditions, api.ConditionProgressing)
		return c != nil && strings.Contains(c.Message, "pulling "+s.reference) && strings.Contains(c.Message, "%")
	})
	m.deploy(m.manifest("other"))
	s.release()
	m.converged("app", result.Objects[0].Revision)
	pod := m.pods("app")[0]
	if pod.ImageID != m.imageID(s.reference) {
		t.Errorf("%s runs %s, want what was pulled", pod.Name, pod.ImageID)
	}
}
