package blob

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"
)

func open(t *testing.T) *Store {
	t.Helper()
	s, err := Open(Options{Root: t.TempDir(), MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func put(t *testing.T, s *Store, text string) string {
	t.Helper()
	digest, err := s.Put(strings.NewReader(text), MaxBytes)
	if err != nil {
		t.Fatal(err)
	}
	return digest
}

// files returns all files and folders below the store's root.
func files(t *testing.T, s *Store) (out []string) {
	t.Helper()
	err := filepath.WalkDir(filepath.Dir(s.links), func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			out = append(out, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestBytesComeBackByTheirDigest(t *testing.T) {
	s := open(t)
	digest := put(t, s, "hello")
	if digest != "sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824" ||
		digest != sha256Of([]byte("hello")) {
		t.Errorf("the digest is %s", digest)
	}
	file, err := s.Open(digest)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if content, err := io.ReadAll(file); err != nil || string(content) != "hello" {
		t.Errorf("%q, %v", content, err)
	}
	if put(t, s, "hello") != digest || len(files(t, s)) != 1 {
		t.Errorf("the same bytes were kept twice: %v", files(t, s))
	}
}

func TestWhatFailsLeavesNothing(t *testing.T) {
	s := open(t)
	full, err := Open(Options{Root: filepath.Dir(s.links), MinFree: 1 << 62})
	if err != nil {
		t.Fatal(err)
	}
	for reason, tc := range map[string]struct {
		put  func() error
		want error
	}{
		"larger than the limit": {func() error { _, err := s.Put(strings.NewReader("12345"), 4); return err }, ErrTooLarge},
		"other bytes": {func() error { return s.PutAs(sha256Of([]byte("a")), strings.NewReader("b"), 10) },
			ErrMismatch},
		"cut off": {func() error {
			_, err := s.Put(io.MultiReader(strings.NewReader("12"), iotest.ErrReader(io.ErrUnexpectedEOF)), 10)
			return err
		}, io.ErrUnexpectedEOF},
		"a full disk":  {func() error { _, err := full.Put(strings.NewReader("a"), 10); return err }, ErrNoSpace},
		"not a digest": {func() error { return s.PutAs("sha256:../../x", strings.NewReader("b"), 10) }, ErrDigest},
	} {
		if err := tc.put(); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want %v", reason, err, tc.want)
		}
		if left := files(t, s); len(left) > 0 {
			t.Errorf("%s left %v", reason, left)
		}
	}
}

func TestExactlyTheLimitIsTaken(t *testing.T) {
	s := open(t)
	if _, err := s.Put(strings.NewReader("1234"), 4); err != nil {
		t.Error(err)
	}
}

func TestTwoWritersOfTheSameBytes(t *testing.T) {
	s := open(t)
	content := bytes.Repeat([]byte("x"), 1<<20)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if err := s.PutAs(sha256Of(content), bytes.NewReader(content), MaxBytes); err != nil {
				t.Error(err)
			}
			if _, err := s.Link(sha256Of(content), "conf"); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if got := files(t, s); len(got) != 2 {
		t.Errorf("left are %v; want the blob and its link", got)
	}
}

func TestALinkKeepsItsBytes(t *testing.T) {
	s := open(t)
	digest := put(t, s, "one")
	path, err := s.Link(digest, "nginx_conf")
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o644 || filepath.Base(path) != "nginx_conf" {
		t.Errorf("%s: %v, %v", path, info, err)
	}
	put(t, s, "one")
	again, err := s.Link(digest, "nginx_conf")
	if err != nil || again != path {
		t.Errorf("%s, %v; the path of a digest never moves", again, err)
	}
	after, err := os.Stat(path)
	if err != nil || !os.SameFile(info, after) {
		t.Error("the file a container has mounted was replaced")
	}
}

func TestALinkOverAFolderAnEngineMade(t *testing.T) {
	s := open(t)
	digest := put(t, s, "one")
	path, err := s.Link(digest, "conf")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Remove(path), os.Mkdir(path, 0o755)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Link(digest, "conf"); err != nil {
		t.Error(err)
	}
	if content, err := os.ReadFile(path); string(content) != "one" {
		t.Errorf("%q, %v", content, err)
	}
}

func TestNoLinkToWhatIsNotThere(t *testing.T) {
	s := open(t)
	if _, err := s.Link(sha256Of([]byte("gone")), "conf"); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	for _, key := range []string{"", "../x", "a/b", "a.b"} {
		if _, err := s.Link(put(t, s, "one"), key); err == nil {
			t.Errorf("the key %q was taken", key)
		}
	}
}

func TestRemoveAndList(t *testing.T) {
	s := open(t)
	one, two := put(t, s, "one"), put(t, s, "two!")
	if _, err := s.Link(one, "conf"); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Remove(one, time.Now()), s.Remove(one, time.Now()),
		s.Remove(two, time.Now().Add(-time.Hour))); err != nil {
		t.Fatal(err)
	}
	list, err := s.List()
	if err != nil || len(list) != 1 || list[0].Digest != two || list[0].Size != 4 || time.Since(list[0].At) > time.Minute {
		t.Errorf("%v, %v", list, err)
	}
	if there, err := s.Renew(one); there || err != nil {
		t.Errorf("the removed one: %v, %v", there, err)
	}
	if _, err := s.Open(one); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
}

func TestRenewingMakesYoung(t *testing.T) {
	s := open(t)
	digest := put(t, s, "one")
	old := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(filepath.Join(s.blobs, digest[len(algorithm):]), old, old); err != nil {
		t.Fatal(err)
	}
	if there, err := s.Renew(digest); !there || err != nil {
		t.Fatalf("%v, %v", there, err)
	}
	if list, err := s.List(); err != nil || time.Since(list[0].At) > time.Minute {
		t.Errorf("%v, %v", list, err)
	}
}

func TestACrashsHalvesGoWhenTheyAreOld(t *testing.T) {
	s := open(t)
	old, young := filepath.Join(s.blobs, ".half-1"), filepath.Join(s.blobs, ".half-2")
	if err := errors.Join(os.WriteFile(old, nil, 0o600), os.WriteFile(young, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	past := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(old, past, past); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(Options{Root: filepath.Dir(s.links)}); err != nil {
		t.Fatal(err)
	}
	if left := files(t, s); len(left) != 1 || left[0] != young {
		t.Errorf("left are %v", left)
	}
	if list, err := s.List(); err != nil || len(list) != 0 {
		t.Errorf("halves are listed: %v, %v", list, err)
	}
}

// sha256Of returns the digest of content, computed apart from the store.
func sha256Of(content []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(content)) }
