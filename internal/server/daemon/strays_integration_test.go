//go:build integration

package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
)

// TestStraysKeepNothingFromStarting: with any stray files in any folder of a used root, the server starts, keeps its
// containers, and reports the files that it set aside. The same holds for a damaged record of one container and a
// damaged status of another.
func TestStraysKeepNothingFromStarting(t *testing.T) {
	t.Parallel()
	s := newSurvivor(t, buildTend(t), "store.cluster.found.before:99")
	s.use()
	before := s.processes("web-v1")
	s.terminate()

	containers, err := filepath.Glob(filepath.Join(s.root, "process", "containers", strings.Repeat("[0-9a-f]", 64)))
	if err != nil || len(containers) != 3 {
		t.Fatalf("%v, %v", containers, err)
	}
	put := s.litter()
	damage(t, filepath.Join(containers[0], "record.json"))
	damage(t, filepath.Join(containers[1], "status.json"))

	s.start()
	s.until("three run v1", func(ctx context.Context) bool { return slices.Equal(s.lives(ctx), []string{"v1", "v1", "v1"}) })
	if diff := cmp.Diff(before, s.processes("web-v1")); diff != "" {
		t.Errorf("the containers didn't just go on (-before +after):\n%s", diff)
	}
	s.until("the node shows what was set aside", func(ctx context.Context) bool {
		nodes, err := s.client.Nodes(ctx)
		if err != nil || len(nodes.Items) != 1 {
			return false
		}
		return !slices.ContainsFunc(put, func(path string) bool { return !slices.Contains(nodes.Items[0].Quarantined, path) })
	})
	for _, path := range put {
		if _, err := os.Lstat(path); err != nil {
			t.Errorf("what was set aside is gone: %v", err)
		}
	}
	s.declare("delete", func(ctx context.Context) error { _, err := s.client.Delete(ctx, web); return err })
	s.until("nothing is left of it", func(context.Context) bool { return len(s.processes("web-v1")) == 0 })
}

// use fills the root: containers, files, fetched files, a plugin.
func (s *survivor) use() {
	s.t.Helper()
	source := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter,
		_ *http.Request) {
		_, _ = w.Write([]byte("fetched"))
	}))
	s.t.Cleanup(source.Close)
	spec, err := json.Marshal(map[string]any{"files": map[string]any{"text": "one",
		"fetched": map[string]string{"_source": "url", "url": source.URL}}})
	if err != nil {
		s.t.Fatal(err)
	}
	conf := api.Object{Kind: api.KindAsset, Scope: "prod", Name: "conf", Spec: spec}
	s.declare("apply", func(ctx context.Context) error {
		_, err := s.client.Apply(ctx, api.ApplyRequest{Objects: []api.Object{conf, s.manifest("v1")}})
		return err
	})
	s.until("three run v1", func(ctx context.Context) bool { return slices.Equal(s.lives(ctx), []string{"v1", "v1", "v1"}) })
	program := filepath.Join(s.root, "plugins", "hello", "commands", "say")
	if err := errors.Join(os.MkdirAll(filepath.Dir(program), 0o755),
		os.WriteFile(program, []byte("#!/bin/sh\n"), 0o755)); err != nil {
		s.t.Fatal(err)
	}
}

func (s *survivor) terminate() {
	s.t.Helper()
	_ = s.server.Process.Signal(syscall.SIGTERM)
	<-s.ended
	if code := s.server.ProcessState.ExitCode(); code != 0 {
		s.t.Fatalf("after SIGTERM the server ended with %d", code)
	}
}

// litter puts a file, a folder, an empty file and a damaged copy of an existing file into every folder of the root but
// etcd's own and the images'. It returns those that the server must report: the others lie in folders where anything
// may be.
func (s *survivor) litter() (shown []string) {
	s.t.Helper()
	var folders []string
	others := []string{filepath.Join(s.root, "state", "member"), // etcd's own
		filepath.Join(s.root, "images")} // a person's: with other files in it an image is another one
	err := filepath.WalkDir(s.root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && slices.Contains(others, path) {
			return filepath.SkipDir
		}
		if err == nil && entry.IsDir() {
			folders = append(folders, path)
		}
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	checked := []string{"blobs", "blobs/sha256", "assets", "cache", "builds", "builds/logs", "clusters", "quarantine",
		"process", "process/images", "process/containers"}
	for _, folder := range folders {
		file, dir, empty := filepath.Join(folder, "stray.txt"), filepath.Join(folder, "stray"), filepath.Join(folder, "empty")
		fault := errors.Join(os.WriteFile(file, []byte("{"), 0o600), os.MkdirAll(filepath.Join(dir, "x"), 0o700),
			os.WriteFile(empty, nil, 0o600))
		if fault != nil {
			s.t.Fatal(fault)
		}
		s.copyDamaged(folder)
		below, err := filepath.Rel(s.root, folder)
		if err == nil && slices.Contains(checked, below) {
			shown = append(shown, file, dir, empty)
		}
	}
	return shown
}

// copyDamaged copies half of a file in a folder to a name of the same form.
func (s *survivor) copyDamaged(folder string) {
	s.t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, entry := range entries {
		name := entry.Name()
		if strings.HasPrefix(name, "stray") || name == "empty" {
			continue
		}
		twin := strings.Map(func(r rune) rune {
			if r >= '0' && r <= '8' {
				return r + 1
			}
			return r
		}, name)
		if twin == name {
			twin = name + ".copy"
		}
		if _, err := os.Lstat(filepath.Join(folder, twin)); err == nil {
			continue
		}
		if entry.IsDir() {
			err = os.Mkdir(filepath.Join(folder, twin), 0o700)
		} else if entry.Type().IsRegular() {
			var content []byte
			if content, err = os.ReadFile(filepath.Join(folder, name)); err == nil {
				err = os.WriteFile(filepath.Join(folder, twin), content[:len(content)/2], 0o600)
			}
		}
		if err != nil {
			s.t.Fatal(err)
		}
	}
}

// damage cuts a file in half.
func damage(t *testing.T, path string) {
	t.Helper()
	info, err := os.Stat(path)
	if err == nil {
		err = os.Truncate(path, info.Size()/2)
	}
	if err != nil {
		t.Fatal(err)
	}
}
