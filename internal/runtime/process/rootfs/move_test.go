package rootfs

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// TestAnImageMoves: what is built on one machine is the same image on another, with its modes and links, whatever umask and
// folders without write permission it was made with.
func TestAnImageMoves(t *testing.T) {
	here, there := newBench(t), newBench(t)
	here.write("app/bin/run", "one", 0o751)
	here.write("app/closed/notes", "x", 0o400)
	for path, mode := range map[string]os.FileMode{"app/bin": 0o775, "app/closed": 0o500} {
		if err := os.Chmod(filepath.Join(here.base, path), mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("bin/run", filepath.Join(here.base, "app/link")); err != nil {
		t.Fatal(err)
	}
	config := Config{Entrypoint: []string{"/bin/run"}, Env: []string{"A=b"}}
	built, err := here.store.Add(t.Context(), filepath.Join(here.base, "app"), config)
	if err != nil {
		t.Fatal(err)
	}
	content, err := here.store.Save(t.Context(), built.ID)
	if err != nil {
		t.Fatal(err)
	}
	archive, err := io.ReadAll(content)
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := there.store.Load(t.Context(), built.ID, bytes.NewReader(archive))
	if err != nil || loaded.ID != built.ID || loaded.Root == built.Root {
		t.Fatalf("%+v of %+v: %v", loaded, built, err)
	}
	if again, err := there.store.ByID(built.ID); err != nil || len(again.Config.Entrypoint) != 1 {
		t.Errorf("%+v %v", again, err)
	}
	for path, want := range map[string]os.FileMode{"bin/run": 0o751, "bin": 0o775, "closed": 0o700, "closed/notes": 0o400} {
		if info, err := os.Stat(filepath.Join(loaded.Root, path)); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v %v, want %v", path, info, err, want)
		}
	}
	if to, err := os.Readlink(filepath.Join(loaded.Root, "link")); to != "bin/run" || err != nil {
		t.Errorf("%q %v", to, err)
	}
	changed := bytes.Replace(archive, []byte("one"), []byte("two"), 1)
	if other, err := there.store.Load(t.Context(), built.ID, bytes.NewReader(changed)); err == nil && other.ID == built.ID {
		t.Error("an archive that was changed is taken for the image")
	}
	for _, cut := range []int{0, 100, len(archive) / 2} {
		if got, err := newBench(t).store.Load(t.Context(), built.ID, bytes.NewReader(archive[:cut])); err == nil && got.ID == built.ID {
			t.Errorf("cut after %d bytes it is taken for whole", cut)
		}
	}
	if _, err := there.store.Save(t.Context(), "sha256:"+string(bytes.Repeat([]byte("0"), 64))); !errors.Is(err, ErrNotFound) {
		t.Errorf("an image that isn't there: %v", err)
	}
}

// A folder that was never built is the same image on another machine too.
func TestAFolderMoves(t *testing.T) {
	here, there := newBench(t), newBench(t)
	here.write("app/bin/run", "one", 0o751)
	image, err := here.store.Resolve(t.Context(), "app")
	if err != nil {
		t.Fatal(err)
	}
	content, err := here.store.Save(t.Context(), image.ID)
	if err != nil {
		t.Fatal(err)
	}
	if loaded, err := there.store.Load(t.Context(), image.ID, content); err != nil || loaded.ID != image.ID {
		t.Errorf("%+v of %+v: %v", loaded, image, err)
	}
	if _, err := there.store.ByID(image.ID); err != nil {
		t.Error(err)
	}
}
