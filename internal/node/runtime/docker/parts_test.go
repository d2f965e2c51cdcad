package docker

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/events"
	"github.com/moby/moby/api/types/jsonstream"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime"
)

func TestParseProcLimits(t *testing.T) {
	got := parseProcLimits([]byte("Limit   Soft Limit   Hard Limit   Units\nMax processes   96365   unlimited   processes\nMax open files   1024   20000   files\n"))
	if diff := cmp.Diff(hardLimits{"nofile": 20000}, got); diff != "" {
		t.Errorf("limits (-want +got):\n%s", diff)
	}
	if got.clamp("nofile", 65536) != 20000 || got.clamp("nofile", 100) != 100 || got.clamp("nproc", 4096) != 4096 {
		t.Error("a limit is clamped where it is above the hard one, and only there")
	}
	if warnings := limitWarnings(got); len(warnings) != 1 {
		t.Errorf("warnings %q, want one of nofile", warnings)
	}
}

func TestPullProgress(t *testing.T) {
	var seen []int
	progress := newPullProgress(func(percent int) { seen = append(seen, percent) })
	for _, message := range []jsonstream.Message{
		{Status: "Pulling from goods", ID: "v1"},
		{Status: "Pulling fs layer", ID: "a"}, {Status: "Pulling fs layer", ID: "b"},
		{Status: "Downloading", ID: "a", Progress: &jsonstream.Progress{Current: 5, Total: 10}},
		{Status: "Already exists", ID: "b"},
		{Status: "Downloading", ID: "a", Progress: &jsonstream.Progress{Current: 1, Total: 10}}, // fetched again
		{Status: "Extracting", ID: "a", Progress: &jsonstream.Progress{Current: 10, Total: 10}},
		{Status: "Pull complete", ID: "a"},
	} {
		progress.add(message)
	}
	progress.done()
	if want := []int{-1, 20, 70, 99, 100}; !slices.Equal(seen, want) {
		t.Errorf("progress %v, want %v", seen, want)
	}
	for i := range 2 * maxLayers {
		progress.add(jsonstream.Message{Status: "Waiting", ID: time.Duration(i).String()})
	}
	if len(progress.layers) > maxLayers {
		t.Errorf("%d layers remembered", len(progress.layers))
	}
}

func TestReadEvent(t *testing.T) {
	rt := &Runtime{options: Options{Cluster: "c1"}, owned: newOwned()}
	ours := map[string]string{api.LabelCluster: "c1", api.LabelTask: "t1", "name": "web", "exitCode": "3", "signal": "15"}
	tests := map[string]struct {
		reason  string
		message events.Message
		want    runtime.Event
		ours    bool
	}{
		"die": {
			"an end has its code", events.Message{Type: "container", Action: "die",
				Actor: events.Actor{ID: "i", Attributes: ours}},
			runtime.Event{Kind: runtime.EventDie, Container: "i", Name: "web", Task: "t1", Signal: "SIGTERM", ExitCode: 3}, true,
		},
		"other": {"another cluster's is not ours",
			events.Message{Type: "container", Action: "die", Actor: events.Actor{ID: "j"}}, runtime.Event{}, false},
		"unknown": {"nor is an unknown event",
			events.Message{Type: "container", Action: "top", Actor: events.Actor{Attributes: ours}}, runtime.Event{}, false},
		"pull": {
			"a pull names the reference as id",
			events.Message{Type: "image", Action: "pull",
				Actor: events.Actor{ID: "shop/web:2", Attributes: map[string]string{"name": "shop/web"}}},
			runtime.Event{Kind: runtime.EventImage, Image: "shop/web:2"}, true,
		},
		"tag": {
			"a tag names it as name", events.Message{Type: "image", Action: "tag",
				Actor: events.Actor{ID: "sha256:1", Attributes: map[string]string{"name": "web:2"}}},
			runtime.Event{Kind: runtime.EventImage, Image: "web:2"}, true,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, isOurs := rt.readEvent(test.message)
			got.At = time.Time{}
			if diff := cmp.Diff(test.want, got); diff != "" || isOurs != test.ours {
				t.Errorf("%s (ours %v, want %v; -want +got):\n%s", test.reason, isOurs, test.ours, diff)
			}
		})
	}
}

func TestStatsOfBothCgroupVersions(t *testing.T) {
	tests := map[string]struct {
		reason, json string
		want         int64
	}{
		"v1": {"the whole tree's cache is left out",
			`{"usage":100,"stats":{"total_inactive_file":30,"inactive_file":10}}`, 70},
		"v2":    {"the name lost its prefix", `{"usage":100,"stats":{"inactive_file":10}}`, 90},
		"small": {"never below zero", `{"usage":5,"stats":{"inactive_file":10}}`, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var stats container.MemoryStats
			if err := json.Unmarshal([]byte(test.json), &stats); err != nil {
				t.Fatal(err)
			}
			if got := usedMemory(stats); got != test.want {
				t.Errorf("%s: %d, want %d", test.reason, got, test.want)
			}
		})
	}
}

func TestConfigAuth(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	write("docker-credential-box",
		"#!/bin/sh\nread server\necho \"{\\\"Username\\\":\\\"<token>\\\",\\\"Secret\\\":\\\"of-$server\\\"}\"\n", 0o755)
	write("docker-credential-empty", "#!/bin/sh\necho credentials not found in native keychain\nexit 1\n", 0o755)
	write("config.json", `{
	  "auths": {"https://index.docker.io/v1/": {"auth": "YW5uOnI6aWdodA=="}, "shop.example:5000": {"identitytoken": "tok"}, "https://old.example/v1/": {"auth": "YW5uOng="}},
	  "credHelpers": {"box.example": "box", "empty.example": "empty", "escape.example": "../box"}}`, 0o600)
	tests := map[string]struct {
		reason, ref string
		want        Auth
		found, fail bool
	}{
		"hub": {"a name without a registry is docker hub's", "web",
			Auth{Username: "ann", Password: "r:ight", Server: dockerHub}, true, false},
		"token": {"an identity token is kept", "shop.example:5000/web:2",
			Auth{IdentityToken: "tok", Server: "shop.example:5000"}, true, false},
		"helper": {"a helper is asked", "box.example/web",
			Auth{IdentityToken: "of-box.example", Server: "box.example"}, true, false},
		"empty": {"a helper may have none", "empty.example/web", Auth{}, false, false},
		"other": {"another registry has none", "other.example/web", Auth{}, false, false},
		"old": {"a registry may be written as a URL", "old.example/web",
			Auth{Username: "ann", Password: "x", Server: "https://old.example/v1/"}, true, false},
		"escape": {"a helper is a name, not a path", "escape.example/web", Auth{}, false, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, found, err := ConfigAuth(dir)(t.Context(), test.ref)
			if diff := cmp.Diff(test.want, got); diff != "" || found != test.found || (err != nil) != test.fail {
				t.Errorf("%s: found %v, error %v (-want +got):\n%s", test.reason, found, err, diff)
			}
		})
	}
	if _, found, err := ConfigAuth(filepath.Join(dir, "absent"))(t.Context(), "web"); found || err != nil {
		t.Errorf("no config file: %v, %v", found, err)
	}
	write("config.json", `{"auths": {"bad.example": {"auth": "?"}}}`, 0o600)
	if _, found, err := ConfigAuth(dir)(t.Context(), "bad.example/web"); found || err == nil ||
		!strings.Contains(err.Error(), dir) {
		t.Errorf("a broken entry: %v, %v, want the file's name", found, err)
	}
}

func TestOutputIsBounded(t *testing.T) {
	pipe := newOutput()
	written := make(chan error, 1)
	go func() {
		var err error
		for i := 0; err == nil && i < 3; i++ {
			_, err = pipe.Write(make([]byte, maxBuffered))
		}
		pipe.end(nil)
		written <- err
	}()
	if n, err := io.Copy(io.Discard, pipe); n != 3*maxBuffered || err != nil {
		t.Errorf("read %d, %v", n, err)
	}
	if err := <-written; err != nil {
		t.Error(err)
	}
	full := newOutput()
	go func() {
		_, _ = full.Write(make([]byte, maxBuffered))
		_, err := full.Write([]byte("more"))
		written <- err
	}()
	full.abandon()
	if err := <-written; !errors.Is(err, errOutputClosed) {
		t.Errorf("a writer without a reader: %v", err)
	}
}

func TestNewNeedsNoEngine(t *testing.T) {
	rt, err := New(t.Context(), Options{Host: "unix:///nonexistent.sock", Cluster: "c", Node: "n"})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	if _, err := rt.Info(context.Background()); !errors.Is(err, runtime.ErrUnavailable) {
		t.Errorf("info: %v, want ErrUnavailable", err)
	}
	if _, err := New(t.Context(), Options{Host: "nonsense", Cluster: "c", Node: "n"}); err == nil {
		t.Error("an address that can't be read was taken")
	}
}
