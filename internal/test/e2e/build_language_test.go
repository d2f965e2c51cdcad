//go:build integration

package e2e

import (
	"archive/tar"
	"bytes"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"tend.dev/tend/api"
)

// interpreter replaces a language in a base image made FROM scratch: it is the shell of RUN, and the interpreter of
// CMD.
const interpreter = `package main

import (
	"fmt"
	"net/http"
	"os"
	"strings"
)

func main() {
	if strings.HasSuffix(os.Args[0], "sh") {
		fmt.Println("the shell is asked for:", strings.Join(os.Args[2:], " "))
		if !strings.Contains(os.Args[len(os.Args)-1], "pip install") {
			return
		}
		needs, err := os.ReadFile("requirements.txt")
		if err == nil {
			err = os.WriteFile("/installed", needs, 0o644)
		}
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return
	}
	program, _ := os.ReadFile(os.Args[1])
	installed, _ := os.ReadFile("/installed")
	fmt.Printf("%s runs %s with %s\n", os.Args[0], program, installed)
	_ = http.ListenAndServe(":8080", nil)
}
`

// baseRegistry starts a registry on loopback with python:V-slim made FROM scratch, and returns the prefix of its
// images.
func (m *machine) baseRegistry(version string) string {
	m.Helper()
	folder := m.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "main.go"), []byte(interpreter), 0o644); err != nil {
		m.Fatal(err)
	}
	compile := exec.CommandContext(m.Context(), "go", "build", "-o", "interpreter", "main.go")
	compile.Dir, compile.Env = folder, append(os.Environ(), "CGO_ENABLED=0")
	if output, err := compile.CombinedOutput(); err != nil {
		m.Fatalf("%v: %s", err, output)
	}
	binary, err := os.ReadFile(filepath.Join(folder, "interpreter"))
	if err != nil {
		m.Fatal(err)
	}
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	m.T.Cleanup(server.Close)
	base := strings.TrimPrefix(server.URL, "http://") + "/"
	tag, err := name.NewTag(base + "python:" + version + "-slim")
	if err != nil {
		m.Fatal(err)
	}
	// With the scope in it no other run has built upon the same base: the engine would take the steps from its cache.
	files := map[string][]byte{"bin/sh": binary, "bin/python": binary, "etc/scope": []byte(m.scope)}
	if err := remote.Write(tag, m.scratch(files)); err != nil {
		m.Fatal(err)
	}
	m.afterwards(func() { m.engine("image", "rm", tag.String()).ignored() })
	return base
}

// scratch returns an image that only has the files.
func (m *machine) scratch(files map[string][]byte) v1.Image {
	m.Helper()
	var packed bytes.Buffer
	writer := tar.NewWriter(&packed)
	for name, content := range files {
		if err := writer.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(content)),
			Typeflag: tar.TypeReg}); err != nil {
			m.Fatal(err)
		}
		if _, err := writer.Write(content); err != nil {
			m.Fatal(err)
		}
	}
	if err := writer.Close(); err != nil {
		m.Fatal(err)
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser,
		error) {
		return io.NopCloser(bytes.NewReader(packed.Bytes())), nil
	})
	if err != nil {
		m.Fatal(err)
	}
	made, err := mutate.AppendLayers(empty.Image, layer)
	if err == nil {
		made, err = mutate.ConfigFile(made, &v1.ConfigFile{
			Architecture: runtime.GOARCH, OS: "linux", Config: v1.Config{Env: []string{"PATH=/bin"}},
			RootFS: v1.RootFS{Type: "layers", DiffIDs: m.diffIDs(layer)},
		})
	}
	if err != nil {
		m.Fatal(err)
	}
	return made
}

func (m *machine) diffIDs(layer v1.Layer) []v1.Hash {
	m.Helper()
	id, err := layer.DiffID()
	if err != nil {
		m.Fatal(err)
	}
	return []v1.Hash{id}
}

// TestBuildOfALanguage: a tree without a Dockerfile gets one, whose base image is pulled from a registry of one's own,
// and whose steps run in it.
func TestBuildOfALanguage(t *testing.T) {
	m := newMachine(t)
	base := m.baseRegistry("3.12")
	m.env = append(m.env, "TEND_BUILD_BASE="+base)
	m.start()
	folder := t.TempDir()
	for name, text := range map[string]string{
		"main.py": "print()", "requirements.txt": "flask", ".python-version": "3.12\n",
		"tend.hcl": strings.ReplaceAll(sourceManifest, "SCOPE", m.scope),
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	m.afterwards(func() { m.removeBuilt("app") })
	m.wantSaid(m.tend("apply", "-f", folder), 0, "building as python 3.12: requirements.txt says so", ": FROM "+
		base+"python:3.12-slim",
		"the shell is asked for: pip install -r requirements.txt", "run v1")
	if t.Failed() {
		t.FailNow()
	}
	said := m.engine("logs", m.pods("app")[0].Name).must()
	if want := "python runs print() with flask"; said != want {
		t.Errorf("it says %q, want %q", said, want)
	}
	// A missing base image is reported as such, and the running pods stay.
	before := m.containers("app")
	if err := os.WriteFile(filepath.Join(folder, ".python-version"), []byte("3.99\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	m.wantSaid(m.tend("apply", "-f", folder), 1, "python:3.99-slim", "push it")
	m.degraded("app", "ImageNotFound")
	if after := m.containers("app"); len(after) != 1 || after[0] != before[0] {
		t.Errorf("containers %v, were %v", after, before)
	}
	if m.status("app").Rollout.Phase != api.RolloutComplete {
		t.Error("a build that can't begin began a rollout")
	}
}
