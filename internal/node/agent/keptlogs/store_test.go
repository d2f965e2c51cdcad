package keptlogs_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/node/agent/keptlogs"
	"tend.dev/tend/internal/node/runtime"
)

var (
	web   = api.Ref{Kind: api.KindDeployment, Scope: "prod", Name: "web"}
	began = time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
)

// output is a log of n lines of a text; it ends with end.
type output struct {
	text string
	n    int
	end  error
}

func (o *output) Next() (runtime.LogLine, error) {
	if o.n == 0 {
		return runtime.LogLine{}, o.end
	}
	o.n--
	return runtime.LogLine{Stream: "stdout", At: began.Add(-time.Duration(o.n) * time.Second),
		Text: fmt.Sprint(o.text, o.n)}, nil
}

func (o *output) Close() error { return nil }

func logOf(container, uid string, after int) node.KeptLog {
	return node.KeptLog{Container: container, Owner: web, OwnerUID: uid, Slot: container,
		KeptAt: began.Add(time.Duration(after) * time.Minute)}
}

// seal and unseal stand for encryption.
func seal(plain []byte) ([]byte, error) { return append([]byte("sealed:"), turned(plain)...), nil }

func unseal(sealed []byte) ([]byte, error) {
	sealed, whole := bytes.CutPrefix(sealed, []byte("sealed:"))
	if !whole {
		return nil, errors.New("not sealed")
	}
	return turned(sealed), nil
}

func turned(text []byte) []byte {
	out := make([]byte, len(text))
	for i, b := range text {
		out[i] = ^b
	}
	return out
}

func open(t *testing.T, opts keptlogs.Options) *keptlogs.Store {
	t.Helper()
	opts.Seal, opts.Unseal = seal, unseal
	store, err := keptlogs.Open(opts)
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func keep(t *testing.T, store *keptlogs.Store, log node.KeptLog, from runtime.LogReader) {
	t.Helper()
	if err := store.Keep(log, from); err != nil {
		t.Fatal(err)
	}
}

func texts(t *testing.T, store *keptlogs.Store, container string, opts runtime.LogOptions) (out []string) {
	t.Helper()
	reader, err := store.Logs(container, opts)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	for {
		line, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, line.Text)
	}
}

// TestKept: a log is found again, also after a restart, and is read like that of a container.
func TestKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "logs")
	keep(t, open(t, keptlogs.Options{Dir: dir}), logOf("a", "u1", 0), &output{"line ", 3, io.EOF})
	store := open(t, keptlogs.Options{Dir: dir})
	if diff := cmp.Diff([]node.KeptLog{logOf("a", "u1", 0)}, store.Of(web)); diff != "" {
		t.Error(diff)
	}
	for name, tt := range map[string]struct {
		reason string
		opts   runtime.LogOptions
		want   []string
	}{
		"all":  {"every line, in order", runtime.LogOptions{Tail: -1}, []string{"line 2", "line 1", "line 0"}},
		"tail": {"the last ones", runtime.LogOptions{Tail: 1}, []string{"line 0"}},
		"since": {"none that is older", runtime.LogOptions{Tail: -1, Since: began.Add(-time.Second)},
			[]string{"line 1", "line 0"}},
	} {
		if diff := cmp.Diff(tt.want, texts(t, store, "a", tt.opts)); diff != "" {
			t.Errorf("%s: %s\n%s", name, tt.reason, diff)
		}
	}
	if _, err := store.Logs("../a", runtime.LogOptions{}); !errors.Is(err, runtime.ErrNotFound) {
		t.Errorf("an id that was never kept: %v", err)
	}
	if len(store.Of(api.Ref{Kind: api.KindDeployment, Scope: "prod", Name: "other"})) != 0 {
		t.Error("the log of another object was returned")
	}
}

// TestWhatIsKeptIsSealed: containers print their secrets, so no line of theirs lies in a file as it is.
func TestWhatIsKeptIsSealed(t *testing.T) {
	dir := t.TempDir()
	keep(t, open(t, keptlogs.Options{Dir: dir}), logOf("a", "u1", 0), &output{"s3cret ", 3, io.EOF})
	for _, path := range files(t, dir) {
		if content, err := os.ReadFile(path); err != nil || bytes.Contains(content, []byte("s3cret")) {
			t.Errorf("%s holds %s, %v", path, content, err)
		}
		if err := os.WriteFile(path, []byte(`{"container":"a"}`+"\nchanged"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, err := open(t, keptlogs.Options{Dir: dir}).Logs("a", runtime.LogOptions{})
	if err == nil || errors.Is(err, runtime.ErrNotFound) {
		t.Errorf("of a file that was changed: %v", err)
	}
}

// TestBounds: whatever containers print, what is kept stays within the limits, and the newest of it stays.
func TestBounds(t *testing.T) {
	limits := keptlogs.Limits{File: 4000, Object: 10_000, Files: 4, Node: 15_000}
	dir := t.TempDir()
	store := open(t, keptlogs.Options{Dir: dir, Limits: limits})
	keep(t, store, logOf("huge", "u1", 0), &output{strings.Repeat("x", 100), 100_000, io.EOF})
	if got := texts(t, store, "huge", runtime.LogOptions{Tail: -1}); len(got) < 15 ||
		!strings.HasSuffix(got[len(got)-1], "x0") {
		t.Errorf("%d lines of the huge log are kept, and the last is %.120q", len(got), got[len(got)-1])
	}
	keep(t, store, logOf("line", "u1", 1), &output{strings.Repeat("x", 64<<10), 1, io.EOF}) // no line of it fits
	for i := range 9 {
		keep(t, store, logOf(fmt.Sprint("small", i), "u2", 2+i), &output{"x", 1, io.EOF})
	}
	for i := range 5 {
		keep(t, store, logOf(fmt.Sprint("large", i), "u3", 20+i), &output{strings.Repeat("y", 100), 1000, io.EOF})
	}
	count, size := map[string]int{}, int64(0)
	for _, log := range store.Of(web) {
		count[log.OwnerUID]++
	}
	for _, path := range files(t, dir) {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		size += info.Size()
	}
	if diff := cmp.Diff(map[string]int{"u1": 1, "u2": 4, "u3": 2}, count); diff != "" || size > limits.Node {
		t.Errorf("files by object (-want +got):\n%s%d bytes", diff, size)
	}
	if newest := store.Of(web)[0].Container; newest != "large4" {
		t.Errorf("the newest is %s", newest)
	}
}

func files(t *testing.T, dir string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "*"))
	hidden, _ := filepath.Glob(filepath.Join(dir, ".*"))
	if err != nil {
		t.Fatal(err)
	}
	return append(found, hidden...)
}

// TestNotKept: a log that can't be read to its end, an empty one, and one that the disk has no room for leave nothing.
func TestNotKept(t *testing.T) {
	dir := t.TempDir()
	for name, tt := range map[string]struct {
		from runtime.LogReader
		room int64
		want error
	}{
		"cut":   {&output{"x", 5, runtime.ErrUnavailable}, 1 << 20, runtime.ErrUnavailable},
		"empty": {&output{"x", 0, io.EOF}, 1 << 20, nil},
		"full":  {&output{"x", 5, io.EOF}, 10, keptlogs.ErrNoRoom},
	} {
		store := open(t, keptlogs.Options{Dir: dir, Room: func(*os.File) (int64, error) { return tt.room, nil }})
		if err := store.Keep(logOf("a", "u1", 0), tt.from); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", name, err, tt.want)
		}
		if left := files(t, dir); len(left) != 0 {
			t.Errorf("%s left %v", name, left)
		}
	}
}

// TestOpenRemovesWhatItCantRead: a crash in the midst of a write, and a damaged file, take no room for good.
func TestOpenRemovesWhatItCantRead(t *testing.T) {
	dir := t.TempDir()
	keep(t, open(t, keptlogs.Options{Dir: dir}), logOf("a", "u1", 0), &output{"x", 5, io.EOF})
	torn, other := strings.Repeat("1", 64)+".log", strings.Repeat("2", 64)+".log"
	for _, name := range []string{".new-123", torn, other} {
		content := map[string]string{other: `{"container":"a"}`}[name]
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	store := open(t, keptlogs.Options{Dir: dir})
	if left := files(t, dir); len(left) != 1 || len(store.Of(web)) != 1 {
		t.Errorf("left: %v", left)
	}
	// What was kept before a crash is kept once, when its container is removed after it.
	keep(t, store, logOf("a", "u1", 1), &output{"x", 5, io.EOF})
	if got := store.Of(web); len(got) != 1 || len(files(t, dir)) != 1 {
		t.Errorf("kept twice: %v", got)
	}
}

// TestSweep: the logs of an object go with it, not those of one with the same name, and none goes without an answer.
func TestSweep(t *testing.T) {
	dir := t.TempDir()
	store := open(t, keptlogs.Options{Dir: dir})
	keep(t, store, logOf("old", "u1", 0), &output{"x", 1, io.EOF})
	keep(t, store, logOf("new", "u2", 1), &output{"x", 1, io.EOF})
	away := errors.New("no server")
	if err := store.Sweep(t.Context(),
		func(context.Context, []string) (map[string]bool, error) { return nil, away }); !errors.Is(err, away) {
		t.Errorf("got %v", err)
	}
	if err := store.Sweep(t.Context(),
		func(context.Context, []string) (map[string]bool, error) { return map[string]bool{}, nil }); err != nil {
		t.Error(err)
	}
	if got := store.Of(web); len(got) != 2 {
		t.Fatalf("logs went without an answer: %v", got)
	}
	err := store.Sweep(t.Context(), func(_ context.Context, uids []string) (map[string]bool, error) {
		return map[string]bool{"u1": false, "u2": true}, nil
	})
	if got := store.Of(web); err != nil || len(got) != 1 || got[0].Container != "new" || len(files(t, dir)) != 1 {
		t.Errorf("left: %v, %v", got, err)
	}
}
