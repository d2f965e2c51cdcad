//go:build integration

package e2e

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/test/testimage"
)

// mounted is where the tests mount a file.
const mounted = "/data/app.conf"

// mounts uses a file of an asset.
func mounts(reference string) func(*api.DeploymentSpec) {
	return func(s *api.DeploymentSpec) { s.Volumes = append(s.Volumes, "${asset."+reference+"}:"+mounted) }
}

// texts returns the manifest of an asset of text files.
func (m *machine) texts(name, files string) string {
	return m.file(name+".hcl", fmt.Sprintf("asset \"SCOPE\" %q {\n%s\n}\n", name, files))
}

// reads returns a file's content as a container sees it.
func (m *machine) reads(container, path string) string {
	m.Helper()
	return m.engine("exec", container, testimage.Program, "cat", path).must()
}

// sees returns the content of the mounted file in each container of an object, sorted.
func (m *machine) sees(name string) []string {
	m.Helper()
	var out []string
	for id := range m.running(name) {
		result := m.engine("exec", id, testimage.Program, "cat", mounted)
		if result.err == nil { // it may have gone meanwhile
			out = append(out, result.output)
		}
	}
	slices.Sort(out)
	return out
}

// TestAssetChanges: containers that run keep their file, those that replace them have the new one, and a rollback
// brings the old one back.
func TestAssetChanges(t *testing.T) {
	m := newMachine(t).start()
	m.wantSaid(m.tend("apply", "-f", m.texts("conf", `main = "one"`)), 0, "asset/"+m.scope+"/conf created")
	m.deploy(m.manifest("app", replicas(2), mounts("conf.main"), env(map[string]string{"CONF": "${asset.conf.main}"})))
	m.apply(m.manifest("app", replicas(2), mounts("conf.main"), env(map[string]string{"CONF": "${asset.conf.main}"}),
		func(s *api.DeploymentSpec) { s.Strategy.Pause = "10m" })) // the next rollout's; it makes no release
	if got := m.sees("app"); !slices.Equal(got, []string{"one", "one"}) {
		t.Fatalf("the containers see %v", got)
	}
	said := m.tend("diff", "-f", m.texts("conf", `main = "two"`))
	m.wantSaid(said, 0, "~ deployment/"+m.scope+"/app", "assets[", "actions for deployment/"+m.scope+"/app")

	m.wantSaid(m.tend("apply", "--no-wait", "-f", m.texts("conf", `main = "two"`)), 0, "deployment/"+
		m.scope+"/app configured")
	m.until("one container is replaced, the other one kept",
		func() bool { return slices.Equal(m.sees("app"), []string{"one", "two"}) })
	for id := range m.running("app") {
		for _, mount := range m.mountsOf(id) {
			if mount.RW || !strings.HasSuffix(mount.Source, "/main") ||
				m.engine("exec", id, testimage.Program, "write", mounted, "x").err == nil {
				t.Errorf("a container may write its file: %+v", mount)
			}
		}
	}
	m.apply(m.manifest("app", replicas(2), mounts("conf.main"), env(map[string]string{"CONF": "${asset.conf.main}"})))
	m.until("both are replaced", func() bool { return slices.Equal(m.sees("app"), []string{"two", "two"}) })

	m.wantSaid(m.tend("rollback", m.scope+"/app", "v1"), 0)
	m.until("the old file is back", func() bool { return slices.Equal(m.sees("app"), []string{"one", "one"}) })
	m.wantSaid(m.tend("apply", "-f", m.texts("conf", `main = "three"`)), 0)
	m.until("a new file ends the rollback", func() bool { return slices.Equal(m.sees("app"), []string{"three", "three"}) })
}

type mountPoint struct {
	Source, Destination string
	RW                  bool
}

func (m *machine) mountsOf(container string) []mountPoint {
	m.Helper()
	var seen struct{ Mounts []mountPoint }
	m.ask("/containers/"+container+"/json", &seen)
	return seen.Mounts
}

// TestAssetLarge: tens of megabytes go once, before the apply, and a dry run leaves the disk alone.
func TestAssetLarge(t *testing.T) {
	m := newMachine(t).start()
	manifest := m.texts("model", `weights = file("weights.bin")`)
	weights := make([]byte, 30<<20)
	_, _ = rand.Read(weights) // never fails
	if err := os.WriteFile(filepath.Join(filepath.Dir(manifest), "weights.bin"), weights, 0o600); err != nil {
		t.Fatal(err)
	}
	before := m.blobs()
	m.wantSaid(m.tend("diff", "-f", manifest), 0, "+ asset/"+m.scope+"/model")
	if after := m.blobs(); !slices.Equal(before, after) {
		t.Errorf("a dry run left %v", after)
	}
	m.wantSaid(m.tend("apply", "-f", manifest), 0, "uploading", "31.5 MB", "created")
	if again := m.tend("apply", "-f", manifest); strings.Contains(again.output, "uploading") ||
		!strings.Contains(again.output, "unchanged") {
		t.Errorf("applied again:\n%s", again.output)
	}
	m.deploy(m.manifest("app", mounts("model.weights")))
	for id := range m.running("app") {
		content, err := exec.Command("docker", "exec", id, testimage.Program, "cat", mounted).Output()
		if got, want := sha256.Sum256(content), sha256.Sum256(weights); err != nil || got != want {
			t.Errorf("%d bytes came, %v", len(content), err)
		}
	}
	if len(m.blobs()) != len(before)+1 {
		t.Errorf("kept are %v", m.blobs())
	}
}

// blobs returns the files of assets that the server keeps.
func (m *machine) blobs() (out []string) {
	m.Helper()
	for _, folder := range []string{"blobs", "cache"} {
		err := filepath.WalkDir(filepath.Join(m.root, folder), func(path string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() {
				out = append(out, path)
			}
			return err
		})
		if err != nil && !os.IsNotExist(err) {
			m.Fatal(err)
		}
	}
	return out
}

// TestAssetURL: only changed files are sent again; if a server fails, the present files stay or the apply is refused,
// as configured.
func TestAssetURL(t *testing.T) {
	m := newMachine(t).start()
	var content atomic.Value
	var bodies atomic.Int32
	content.Store("one")
	far := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text := content.Load().(string)
		sum := sha256.Sum256([]byte(text))
		w.Header().Set("ETag", `"`+hex.EncodeToString(sum[:4])+`"`)
		switch {
		case text == "":
			w.WriteHeader(http.StatusBadGateway)
		case r.Header.Get("If-None-Match") == w.Header().Get("ETag"):
			w.WriteHeader(http.StatusNotModified)
		default:
			bodies.Add(1)
			_, _ = io.WriteString(w, text)
		}
	}))
	t.Cleanup(far.Close)
	stale := m.texts("far", `main = url("`+far.URL+`/conf", { timeout = "5s" })`)
	strict := m.texts("far", `main = url("`+far.URL+`/conf", { on_failure = "error" })`)
	m.wantSaid(m.tend("apply", "-f", stale), 0, "created")
	m.deploy(m.manifest("app", mounts("far.main")))
	m.wantSaid(m.tend("apply", "-f", stale), 0, "unchanged")
	if n := bodies.Load(); n != 1 {
		t.Errorf("%d bodies were sent of one version", n)
	}
	content.Store("two")
	m.wantSaid(m.tend("apply", "-f", stale), 0, "deployment/"+m.scope+"/app configured")
	m.until("the container has what the URL gives now",
		func() bool { return slices.Equal(m.sees("app"), []string{"two"}) })
	content.Store("")
	m.wantSaid(m.tend("apply", "-f", stale), 0, "warning: asset/"+m.scope+"/far: files.main", "502", "are used")
	m.wantSaid(m.tend("apply", "-f", strict), 1, "files.main", "502 Bad Gateway")
	if got := m.sees("app"); !slices.Equal(got, []string{"two"}) {
		t.Errorf("the container sees %v", got)
	}
}
