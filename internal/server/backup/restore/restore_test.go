package restore

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/internal/server/backup"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/etcd"
	"tend.dev/tend/internal/store/secret"
)

// wantRestored checks a root as its server would find it.
func wantRestored(t *testing.T, root string, from source) {
	t.Helper()
	s := openStore(t, filepath.Join(root, "state"))
	defer s.Close()
	entries, revision := contentOf(t, s)
	if diff := cmp.Diff(from.entries, entries); diff != "" {
		t.Errorf("the store (-before +after):\n%s", diff)
	}
	if revision < from.revision+etcd.RevisionRaise {
		t.Errorf("the revision is %d, it was %d", revision, from.revision)
	}
	if _, err := s.List(t.Context(), "/", store.ListOptions{Revision: from.revision + 1}); !errors.Is(err,
		store.ErrCompacted) {
		t.Errorf("a revision of between then and now is answered: %v", err)
	}
	if next, err := s.Commit(t.Context(),
		store.Txn{Site: "test", Do: []store.Op{{Key: "/x", Value: []byte("1")}}}); err != nil || next <= revision {
		t.Errorf("it takes no writes: %d, %v", next, err)
	}
	key, err := os.ReadFile(filepath.Join(root, "secret.key"))
	if err != nil || !bytes.Equal(key, from.key) {
		t.Errorf("secret.key: %v", err)
	}
	if _, err := secret.Token(filepath.Join(root, "token")); err != nil {
		t.Error(err)
	}
	blob, err := os.ReadFile(filepath.Join(root, "blobs", "sha256", strings.TrimPrefix(digestOf("hello"), "sha256:")))
	if err != nil || string(blob) != "hello" {
		t.Errorf("the file: %q, %v", blob, err)
	}
	var progress struct{ Restored bool }
	text, err := os.ReadFile(filepath.Join(root, "clusters", cluster))
	if err != nil || json.Unmarshal(text, &progress) != nil || !progress.Restored {
		t.Errorf("the server would not start paused: %s, %v", text, err)
	}
}

func TestRestore(t *testing.T) {
	from := newSource(t)
	file := from.file(t)
	report, err := Verify(t.Context(), bytes.NewReader(file), t.TempDir())
	if err != nil || report.Objects["asset"] != 1 || report.Revision != from.revision {
		t.Fatalf("%+v, %v", report, err)
	}
	for name, root := range map[string]string{"a new root": filepath.Join(t.TempDir(), "a", "root"),
		"an empty one": t.TempDir()} {
		t.Run(name, func(t *testing.T) {
			if _, err := Restore(t.Context(), bytes.NewReader(file), Options{Root: root}); err != nil {
				t.Fatal(err)
			}
			if err := CheckRoot(root, filepath.Join(root, "state")); err != nil {
				t.Error(err)
			}
			for _, left := range []string{partial, ready, replaced, "state/" + member} {
				if _, err := os.Stat(filepath.Join(root, left)); err == nil {
					t.Errorf("%s is left", left)
				}
			}
			for _, private := range []string{"secret.key", "token", "clusters/" + cluster, "state/member/snap/db"} {
				if info, err := os.Stat(filepath.Join(root, private)); err != nil || info.Mode().Perm() != 0o600 {
					t.Errorf("%s: %v, %v", private, info, err)
				}
			}
			wantRestored(t, root, from)
		})
	}
}

// TestBackupOfARestoredStore: a restored store is like any other, its raised revision included.
func TestBackupOfARestoredStore(t *testing.T) {
	from, root := newSource(t), filepath.Join(t.TempDir(), "root")
	if _, err := Restore(t.Context(), bytes.NewReader(from.file(t)), Options{Root: root}); err != nil {
		t.Fatal(err)
	}
	s := openStore(t, filepath.Join(root, "state"))
	var snapshot bytes.Buffer
	if err := s.Snapshot(t.Context(), &snapshot); err != nil {
		t.Fatal(err)
	}
	_, from.revision = contentOf(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	text := snapshot.String()
	from = from.with(backup.Store, &text)
	from.header.Revision = from.revision
	again := filepath.Join(t.TempDir(), "again")
	if _, err := Restore(t.Context(), bytes.NewReader(from.file(t)), Options{Root: again}); err != nil {
		t.Fatal(err)
	}
	wantRestored(t, again, from)
}

// TestTheServersName: a restored server is called as the one that the backup was taken at, or as is asked for; one of a
// backup without a name has none.
func TestTheServersName(t *testing.T) {
	from := newSource(t)
	for reason, test := range map[string]struct {
		of         source
		name, want string
	}{
		"as it was":                        {from, "", "h1\n"},
		"as asked":                         {from, "h2", "h2\n"},
		"a backup of an earlier version":   {from.with("root/server", nil), "", ""},
		"one of an earlier version, asked": {from.with("root/server", nil), "h2", "h2\n"},
	} {
		root := filepath.Join(t.TempDir(), "root")
		if _, err := Restore(t.Context(), bytes.NewReader(test.of.file(t)),
			Options{Root: root, Name: test.name}); err != nil {
			t.Fatalf("%s: %v", reason, err)
		}
		if got, err := os.ReadFile(filepath.Join(root, "server")); string(got) != test.want || err != nil && test.want != "" {
			t.Errorf("%s: %q, %v, want %q", reason, got, err, test.want)
		}
	}
}

// TestWhatIsRefusedChangesNothing: after any refusal a used root with --force, or an empty one, is as it was.
func TestWhatIsRefusedChangesNothing(t *testing.T) {
	from := newSource(t)
	file, other := from.file(t), newSource(t)
	otherKey, cut := string(other.key), from.parts[0].content[:len(from.parts[0].content)-512]
	flipped := []byte(from.parts[0].content)
	flipped[len(flipped)/2] ^= 1
	damaged := string(flipped)
	late := from
	late.header.Revision++
	missing := from.with(from.parts[4].name, nil)
	cases := map[string]struct {
		in   io.Reader
		want error
	}{
		"no key":                   {bytes.NewReader(from.with("root/secret.key", nil).file(t)), ErrIncomplete},
		"another cluster's key":    {bytes.NewReader(from.with("root/secret.key", &otherKey).file(t)), ErrIncomplete},
		"no store":                 {bytes.NewReader(from.with(backup.Store, nil).file(t)), ErrIncomplete},
		"a store that was cut":     {bytes.NewReader(from.with(backup.Store, &cut).file(t)), etcd.ErrSnapshot},
		"a store that was changed": {bytes.NewReader(from.with(backup.Store, &damaged).file(t)), etcd.ErrSnapshot},
		"a file is missing":        {bytes.NewReader(missing.file(t)), ErrIncomplete},
		"another revision":         {bytes.NewReader(late.file(t)), backup.ErrDamaged},
		"not a backup":             {strings.NewReader("hello"), backup.ErrNoBackup},
		"the disk can't be read": {io.MultiReader(bytes.NewReader(file[:len(file)/2]), iotest.ErrReader(io.ErrNoProgress)),
			backup.ErrDamaged},
	}
	for at := 0; at < len(file); at += len(file)/21 + 1 {
		changed := bytes.Clone(file)
		changed[at] ^= 0x10
		cases["flipped at "+time.Duration(at).String()] = struct {
			in   io.Reader
			want error
		}{bytes.NewReader(changed), nil}
		cases["cut at "+time.Duration(at).String()] = struct {
			in   io.Reader
			want error
		}{bytes.NewReader(file[:at]), nil}
	}
	used := filepath.Join(t.TempDir(), "used")
	if _, err := Restore(t.Context(), bytes.NewReader(other.file(t)), Options{Root: used}); err != nil {
		t.Fatal(err)
	}
	before, empty := tree(t, used), t.TempDir()
	for name, tc := range cases {
		text, readErr := io.ReadAll(tc.in)
		in := func() io.Reader {
			if readErr != nil {
				return io.MultiReader(bytes.NewReader(text), iotest.ErrReader(readErr))
			}
			return bytes.NewReader(text)
		}
		for _, root := range []string{used, empty, filepath.Join(empty, "new")} {
			_, err := Restore(t.Context(), in(), Options{Root: root, Force: true})
			if err == nil || tc.want != nil && !errors.Is(err, tc.want) {
				t.Errorf("%s: %v, want %v", name, err, tc.want)
			}
		}
		if _, err := Verify(t.Context(), in(), empty); err == nil {
			t.Errorf("%s: verify finds nothing", name)
		}
		if diff := cmp.Diff(before, tree(t, used)); diff != "" {
			t.Fatalf("%s: the used root (-before +after):\n%s", name, diff)
		}
		if left := tree(t, empty); len(left) != 1 {
			t.Fatalf("%s: left is %v", name, left)
		}
	}
}

// TestAMissingFileThatWasMissedBefore: the server had lost it when the backup was taken: that is said, and no reason to
// have no backup.
func TestAMissingFileThatWasMissedBefore(t *testing.T) {
	from := newSource(t)
	from = from.with(from.parts[4].name, nil)
	from.header.MissingBlobs = []string{digestOf("hello")}
	report, err := Verify(t.Context(), bytes.NewReader(from.file(t)), t.TempDir())
	if err != nil || len(report.MissingBlobs) != 1 {
		t.Errorf("%+v, %v", report.MissingBlobs, err)
	}
}

// TestAUsedRoot: it is refused; with force the replaced files are moved aside, and the others stay.
func TestAUsedRoot(t *testing.T) {
	from, other, root := newSource(t), newSource(t), filepath.Join(t.TempDir(), "root")
	if _, err := Restore(t.Context(), bytes.NewReader(other.file(t)), Options{Root: root}); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.MkdirAll(filepath.Join(root, "process", "containers"), 0o700),
		os.WriteFile(filepath.Join(root, "process", "containers", "record"), []byte("runs"), 0o600)); err != nil {
		t.Fatal(err)
	}
	before := tree(t, root)
	if _, err := Restore(t.Context(), bytes.NewReader(from.file(t)), Options{Root: root}); !errors.Is(err, ErrUsed) ||
		!strings.Contains(err.Error(), "--force") {
		t.Errorf("%v", err)
	}
	if diff := cmp.Diff(before, tree(t, root)); diff != "" {
		t.Fatal(diff)
	}
	held := openStore(t, filepath.Join(root, "state"))
	if _, err := Restore(t.Context(), bytes.NewReader(from.file(t)),
		Options{Root: root, Force: true}); !errors.Is(err, etcd.ErrInUse) {
		t.Errorf("below a running server: %v", err)
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	before = tree(t, root)
	result, err := Restore(t.Context(), bytes.NewReader(from.file(t)), Options{Root: root, Force: true})
	if err != nil || result.Aside == "" {
		t.Fatalf("%+v, %v", result.Aside, err)
	}
	after, aside := tree(t, root), tree(t, result.Aside)
	for name, content := range before {
		if content == "folder" || strings.HasPrefix(name, "blobs") {
			continue
		}
		if name == "process/containers/record" {
			if after[name] != "runs" {
				t.Error("what belongs to a running container was moved")
			}
			continue
		}
		if aside[name] != content && after[name] != content {
			t.Errorf("%s is gone", name)
		}
	}
	wantRestored(t, root, from)
}
