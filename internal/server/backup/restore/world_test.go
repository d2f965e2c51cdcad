package restore

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/server/backup"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/etcd"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/secret"
)

func TestMain(m *testing.M) {
	child()
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("go.etcd.io/etcd/client/pkg/v3/logutil.(*mergeLogger).outputLoop"))
}

const cluster = "c0ffee00c0ffee00"

// source is the root of a stopped server, and a backup of it.
type source struct {
	entries  map[string]string
	revision int64
	key      []byte
	parts    []part
	header   backup.Header
}

type part struct{ name, content string }

func digestOf(content string) string {
	sum := sha256.Sum256([]byte(content))
	return "sha256:" + hex.EncodeToString(sum[:])
}

func openStore(t *testing.T, dir string) *etcd.Store {
	t.Helper()
	s, err := etcd.Open(context.Background(), etcd.Options{DataDir: dir, MinFree: -1, Ballast: -1})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// newSource makes a store with an asset of the file "hello", and the other files of a server.
func newSource(t *testing.T) source {
	t.Helper()
	root := t.TempDir()
	keys, err := secret.Open(filepath.Join(root, "secret.key"), "")
	if err != nil {
		t.Fatal(err)
	}
	s := openStore(t, filepath.Join(root, "state"))
	defer s.Close()
	asset := api.Object{Kind: api.KindAsset, Scope: "prod", Name: "conf"}
	files, _ := json.Marshal(map[string]string{"hello": digestOf("hello")})
	asset.Metadata.Stamps = map[string]string{api.StampFiles: string(files)}
	txn := records.NewTxn("test").Put(records.ClusterKey,
		map[string]string{"uid": cluster, "keyFingerprint": keys.Fingerprint()}).
		Put(records.ObjectKey(asset.Ref()), asset).Put("/config/old", "1")
	for range 3 {
		if _, err := txn.Commit(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := records.NewTxn("test").Delete("/config/old").Commit(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	var snapshot bytes.Buffer
	if err := s.Snapshot(t.Context(), &snapshot); err != nil {
		t.Fatal(err)
	}
	key, err := os.ReadFile(filepath.Join(root, "secret.key"))
	if err != nil {
		t.Fatal(err)
	}
	entries, revision := contentOf(t, s)
	return source{
		entries: entries, revision: revision, key: key,
		header: backup.Header{Tend: "test", Cluster: cluster, Revision: revision,
			TakenAt: time.Date(2026, 11, 23, 3, 0, 0, 0, time.UTC)},
		parts: []part{
			{backup.Store, snapshot.String()}, {"root/secret.key", string(key)}, {"root/token", "tend_0123456789abcdef\n"},
			{"root/node", "n1\n"},
			{backup.BlobFolder + strings.TrimPrefix(digestOf("hello"), "sha256:"), "hello"},
			{"root/server", "h1\n"},
		},
	}
}

func contentOf(t *testing.T, s store.Store) (map[string]string, int64) {
	t.Helper()
	page, err := s.List(t.Context(), "/", store.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, entry := range page.Entries {
		out[entry.Key] = string(entry.Value)
	}
	return out, page.Revision
}

// file returns the backup's bytes.
func (s source) file(t *testing.T) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := backup.NewWriter(&out, s.header)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range s.parts {
		if err := w.Add(p.name, int64(len(p.content)), strings.NewReader(p.content)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// with returns the source with a part replaced, or removed if content is nil.
func (s source) with(name string, content *string) source {
	old := s.parts
	s.parts = nil
	for _, p := range old {
		switch {
		case p.name != name:
			s.parts = append(s.parts, p)
		case content != nil:
			s.parts = append(s.parts, part{name, *content})
		}
	}
	return s
}

// tree returns every file below a folder with its content, and every folder.
func tree(t *testing.T, root string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		content := "folder"
		if !entry.IsDir() {
			raw, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			content = string(raw)
		}
		if name, _ := filepath.Rel(root, path); filepath.Base(name) != "tend.lock" {
			out[name] = content
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
