package rootfs

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

type bench struct {
	*testing.T
	base  string
	store *Store
}

func newBench(t *testing.T) *bench {
	t.Helper()
	base := t.TempDir()
	store, err := Open(filepath.Join(t.TempDir(), "images"), base)
	if err != nil {
		t.Fatal(err)
	}
	return &bench{T: t, base: base, store: store}
}

func (b *bench) write(name, content string, mode os.FileMode) {
	b.Helper()
	path := filepath.Join(b.base, name)
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte(content), mode)
	}
	if err == nil {
		err = os.Chmod(path, mode)
	}
	if err != nil {
		b.Fatal(err)
	}
}

func (b *bench) resolve(reference string) Image {
	b.Helper()
	image, err := b.store.Resolve(b.Context(), reference)
	if err != nil {
		b.Fatal(err)
	}
	return image
}

// TestIDs: an id depends on everything that is part of an image, and on nothing else.
func TestIDs(t *testing.T) {
	tests := map[string]struct {
		reason string
		change func(b *bench)
		same   bool
	}{
		"nothing": {"the same content", func(*bench) {}, true},
		"content": {"same size, other bytes", func(b *bench) { b.write("app/bin/run", "two", 0o755) }, false},
		"mode":    {"no longer executable", func(b *bench) { b.write("app/bin/run", "one", 0o644) }, false},
		"name":    {"a file moved", func(b *bench) { _ = os.Rename(b.base+"/app/bin/run", b.base+"/app/bin/ran") }, false},
		"more":    {"a file came", func(b *bench) { b.write("app/etc", "", 0o644) }, false},
		"link":    {"a link came", func(b *bench) { _ = os.Symlink("bin/run", b.base+"/app/link") }, false},
		"time": {"modification times are not part of an image", func(b *bench) {
			_ = os.Chtimes(b.base+"/app/bin/run", time.Unix(1, 0), time.Unix(1, 0))
		}, true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.write("app/bin/run", "one", 0o755)
			before := b.resolve("app")
			tc.change(b)
			after := b.resolve(filepath.Join(b.base, "app"))
			if (before.ID == after.ID) != tc.same {
				t.Errorf("%s: %s, then %s", tc.reason, before.ID, after.ID)
			}
			raw, err := os.ReadFile(filepath.Join(before.Root, "bin/run"))
			if err != nil || string(raw) != "one" {
				t.Errorf("the first image holds %q, %v", raw, err)
			}
		})
	}
}

func TestNotFound(t *testing.T) {
	b := newBench(t)
	b.write("file", "", 0o644)
	b.write("app/x", "", 0o644)
	references := map[string]string{
		"nothing there": "absent", "a file instead of a folder": "file", "a plain folder has no tags": "app:v1", "empty": "",
		"an unknown id": "sha256:" + string(bytes.Repeat([]byte("0"), 64)), "an id that is a path": "sha256:../../../etc",
	}
	for reason, reference := range references {
		if image, err := b.store.Resolve(t.Context(), reference); !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: %+v, %v", reason, image, err)
		}
	}
}

// TestPrune: pruning keeps used images, the newest unused ones, and those that are not due.
func TestPrune(t *testing.T) {
	b := newBench(t)
	var images []Image
	for i, name := range []string{"a", "b", "c", "d"} {
		b.write(name+"/run", name, 0o755)
		image := b.resolve(name)
		at := time.Unix(int64(i), 0)
		if err := os.Chtimes(image.Root+".json", at, at); err != nil {
			t.Fatal(err)
		}
		images = append(images, image)
	}
	due := func(id string) bool { return id != images[1].ID }
	if err := b.store.Prune(map[string]bool{images[0].ID: true}, 1, due); err != nil {
		t.Fatal(err)
	}
	for i, kept := range []bool{true, true, false, true} {
		if _, err := b.store.ByID(images[i].ID); (err == nil) != kept {
			t.Errorf("image %d: %v, want it kept %v", i, err, kept)
		}
		if _, err := os.Stat(images[i].Root); (err == nil) != kept {
			t.Errorf("folder of image %d: %v", i, err)
		}
	}
}

// archive returns a layer with the entries given.
func archive(t *testing.T, entries ...tar.Header) []byte {
	t.Helper()
	var out bytes.Buffer
	writer := tar.NewWriter(&out)
	for _, header := range entries {
		content := ""
		if header.Typeflag == tar.TypeReg {
			content = "content of " + header.Name
			header.Size = int64(len(content))
		}
		err := writer.WriteHeader(&header)
		if err == nil {
			_, err = io.WriteString(writer, content)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func (b *bench) layout(name string, tags ...string) {
	b.Helper()
	path, err := layout.Write(filepath.Join(b.base, name), empty.Index)
	if err != nil {
		b.Fatal(err)
	}
	for _, tag := range tags {
		raw := archive(b.T, tar.Header{Name: "bin/run-" + tag, Typeflag: tar.TypeReg, Mode: 0o755})
		opener := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(raw)), nil }
		layer, err := tarball.LayerFromOpener(opener)
		if err != nil {
			b.Fatal(err)
		}
		image, err := mutate.AppendLayers(empty.Image, layer)
		if err == nil {
			image, err = mutate.Config(image, v1.Config{
				Env: []string{"A=" + tag}, Entrypoint: []string{"/bin/run-" + tag}, Cmd: []string{"x"}, WorkingDir: "/srv", User: "1:2",
			})
		}
		if err == nil {
			err = path.AppendImage(image, layout.WithAnnotations(map[string]string{refName: tag}))
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}

// TestLayout unpacks an OCI image. It keeps its configuration, and its id is the configuration's digest.
func TestLayout(t *testing.T) {
	b := newBench(t)
	b.layout("one", "v1")
	b.layout("two", "v1", "v2")
	image := b.resolve("one")
	want := Config{Env: []string{"A=v1"}, Entrypoint: []string{"/bin/run-v1"}, Cmd: []string{"x"}, WorkingDir: "/srv", User: "1:2"}
	if diff := cmp.Diff(want, image.Config); diff != "" {
		t.Error(diff)
	}
	if info, err := os.Stat(filepath.Join(image.Root, "bin/run-v1")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("program: %v, %v", info, err)
	}
	if again, err := b.store.ByID(image.ID); err != nil || cmp.Diff(image, again) != "" {
		t.Errorf("by id: %+v, %v", again, err)
	}
	if same := b.resolve("two:v1"); same.ID != image.ID {
		t.Errorf("the same image in another layout is %s", same.ID)
	}
	if other := b.resolve("two:v2"); other.ID == image.ID {
		t.Error("another image has the same id")
	}
	for _, reference := range []string{"two", "one:v9"} {
		if _, err := b.store.Resolve(t.Context(), reference); !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: %v", reference, err)
		}
	}
}

// TestEscapes: an archive can't write outside of its folder.
func TestEscapes(t *testing.T) {
	file := func(name string) tar.Header { return tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644} }
	link := func(name, to string) tar.Header {
		return tar.Header{Name: name, Linkname: to, Typeflag: tar.TypeSymlink}
	}
	outside := t.TempDir()
	tests := map[string]struct {
		reason  string
		entries []tar.Header
		fails   bool
	}{
		"absolute":      {"a leading slash is the image's root", []tar.Header{file("/etc/x")}, false},
		"parent":        {"up and out", []tar.Header{file("../x")}, true},
		"hidden parent": {"up and out, later", []tar.Header{file("a/../../x")}, true},
		"through link":  {"into a link that leads out", []tar.Header{link("out", outside), file("out/x")}, true},
		"onto a link":   {"a link that leads out is replaced, not followed", []tar.Header{link("x", outside+"/x"), file("x")}, false},
		"hard link": {"a second name for a file outside", []tar.Header{
			link("out", outside), {Name: "y", Linkname: "out/secret", Typeflag: tar.TypeLink},
		}, true},
		"device": {"left out", []tar.Header{{Name: "dev", Typeflag: tar.TypeChar}}, false},
	}
	if err := os.WriteFile(filepath.Join(outside, "secret"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			parent := t.TempDir()
			dir := filepath.Join(parent, "root")
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			err := fillFolder(dir, func(root *os.Root) error {
				return unpack(context.Background(), tar.NewReader(bytes.NewReader(archive(t, tc.entries...))), root)
			})
			if (err != nil) != tc.fails {
				t.Errorf("%s: %v", tc.reason, err)
			}
			for _, place := range []string{parent, outside} {
				if entries, _ := os.ReadDir(place); len(entries) != 1 {
					t.Errorf("%s: %s holds %v", tc.reason, place, entries)
				}
			}
		})
	}
}

// TestSetuid: setuid and setgid bits don't reach the host.
func TestSetuid(t *testing.T) {
	dir := t.TempDir()
	header := tar.Header{Name: "su", Typeflag: tar.TypeReg, Mode: 0o4755}
	err := fillFolder(dir, func(root *os.Root) error {
		return unpack(t.Context(), tar.NewReader(bytes.NewReader(archive(t, header))), root)
	})
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(dir, "su")); err != nil || info.Mode() != 0o755 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}
