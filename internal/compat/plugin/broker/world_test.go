package broker_test

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/compat/plugin"
	"tend.dev/tend/internal/compat/plugin/broker"
	"tend.dev/tend/internal/control/verbs"
	"tend.dev/tend/internal/core/env"
	"tend.dev/tend/internal/input/manifest"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// world is a broker over a store in memory, with plugins that are shell scripts.
type world struct {
	*testing.T
	dir    string
	view   *view.View
	verbs  *verbs.Service
	broker *broker.Broker
	env    map[string]string
}

func newWorld(t *testing.T, files map[string]string) *world {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	store := memory.New()
	w := &world{T: t, dir: filepath.Join(t.TempDir(), "plugins"), env: map[string]string{}}
	w.lay(files)
	w.view = view.New(store, view.Options{Decode: records.Decode, Indexes: records.Indexes, Logger: quiet})
	ctx, cancel := context.WithCancel(context.Background())
	var wait sync.WaitGroup
	wait.Go(func() { _ = w.view.Run(ctx) })
	<-w.view.Synced()
	t.Cleanup(func() { cancel(); wait.Wait(); store.Close() })
	w.verbs = verbs.New(verbs.Options{Store: store, Reader: verbs.FromView{Store: store, View: w.view},
		Validate: manifest.Validate, Logger: quiet,
		Seal:    func(b []byte) ([]byte, error) { return append([]byte("sealed "), b...), nil },
		Open:    func(b []byte) ([]byte, error) { return bytes.TrimPrefix(b, []byte("sealed ")), nil },
		EnvHash: func(records.Snapshot, api.Object, env.Change) (string, error) { return "hash", nil }})
	root, err := plugin.Open(plugin.Options{Dir: w.dir, Timeout: 20 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	w.broker = broker.New(broker.Options{Root: root, Verbs: w.verbs, Snapshot: w.snapshot, Decode: manifest.Decode,
		Getenv: func(name string) string { return w.env[name] }})
	return w
}

func (w *world) snapshot() records.Snapshot { return records.Snapshot{Reader: w.view.Snapshot()} }

// lay writes files of plugins; those in bin are executable.
func (w *world) lay(files map[string]string) {
	w.Helper()
	for name, text := range files {
		path := filepath.Join(w.dir, name)
		mode := os.FileMode(0o644)
		if strings.Contains(name, "/bin/") {
			text, mode = "#!/bin/sh\n"+text, 0o755
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			w.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			w.Fatal(err)
		}
	}
}

// answers returns a plugin's program that answers data.
func answers(data string) string {
	return "cat > seen\ncat <<'EOF'\n{\"status\":\"ok\",\"data\":" + data + "}\nEOF\n"
}

// objects reads manifests as the API does.
func (w *world) objects(text string) []api.Object {
	w.Helper()
	objects, err := manifest.Decode([]byte(text), "application/yaml")
	if err != nil {
		w.Fatal(err)
	}
	return objects
}

func (w *world) apply(text string, opts verbs.ApplyOptions) (api.ApplyResult, error) {
	w.Helper()
	opts.Actor = "tester"
	result, err := w.broker.Apply(context.Background(), w.objects(text), opts, nil)
	if err == nil {
		w.settle(result.Revision)
	}
	return result, err
}

func (w *world) settle(revision int64) {
	if err := w.view.WaitFor(context.Background(), revision); err != nil {
		w.Fatal(err)
	}
}

// stored returns the keys of everything stored, with the revision of the last write.
func (w *world) stored() map[string]int64 {
	w.Helper()
	out := map[string]int64{}
	snap, err := intentsReader(w)
	if err != nil {
		w.Fatal(err)
	}
	for record := range snap.Prefix("") {
		out[record.Key] = record.Modified
	}
	return out
}

func intentsReader(w *world) (records.Snapshot, error) {
	// A read of config waits for every commit made before.
	_, err := w.verbs.ConfigValues(context.Background(), verbs.Bucket{Scope: "prod"}, verbs.ConfigReader{Actor: "tester"})
	return w.snapshot(), err
}

func (w *world) config(scope, name string) map[string]string {
	w.Helper()
	values, err := w.verbs.ConfigValues(context.Background(), verbs.Bucket{Scope: scope, Name: name},
		verbs.ConfigReader{Actor: "tester"})
	if err != nil {
		w.Fatal(err)
	}
	return values
}
