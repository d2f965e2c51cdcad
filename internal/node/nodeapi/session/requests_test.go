package session_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/node/nodeapi"
	"tend.dev/tend/internal/node/runtime"
)

func TestList(t *testing.T) {
	want := []runtime.Container{
		{ID: "1", Name: "prod-web.a", Labels: map[string]string{"a": "b"}, State: runtime.StateExited, Restart: "no",
			RestartCount: 2, ExitCode: 137, OOMKilled: true, Error: "e", ImageID: "sha256:1"},
		{ID: "2", Address: "10.0.0.1", Detached: true},
	}
	listed, failure := want, error(nil)
	n, _ := serve(t, &fake{list: func(context.Context) ([]runtime.Container, error) { return listed, failure }})
	got, err := n.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if listed = nil; true {
		if got, err := n.List(t.Context()); len(got) != 0 || err != nil {
			t.Errorf("%v %v", got, err)
		}
	}
	failure = runtime.ErrUnavailable
	if _, err := n.List(t.Context()); !errors.Is(err, runtime.ErrUnavailable) {
		t.Error(err)
	}
}

// TestSamples: they come in the order of the pods, each with its own error.
func TestSamples(t *testing.T) {
	n, l := serve(t, &fake{sample: func(kind string, pods []string) []runtime.Usage {
		out := make([]runtime.Usage, len(pods))
		for i, pod := range pods {
			out[i] = runtime.Usage{CPUPercent: float64(len(kind)),
				Stats: runtime.Stats{CPUTime: time.Second, MemoryBytes: int64(i), PIDs: len(pod), At: line("").At}}
			if pod == "gone" {
				out[i] = runtime.Usage{Err: fmt.Errorf("gone: %w", node.ErrNoPod)}
			}
		}
		return out
	}})
	pods := []string{"a", "gone", "ccc"}
	for kind, sample := range map[string]func(context.Context,
		[]string) []runtime.Usage{"stats": n.Stats, "load": n.Load} {
		got := sample(t.Context(), pods)
		of := func(i int) runtime.Usage {
			return runtime.Usage{CPUPercent: float64(len(kind)),
				Stats: runtime.Stats{CPUTime: time.Second, MemoryBytes: int64(i), PIDs: len(pods[i]), At: line("").At}}
		}
		want := []runtime.Usage{of(0), {Err: node.ErrNoPod}, of(2)}
		if diff := cmp.Diff(want, got, cmpopts.EquateErrors()); diff != "" {
			t.Errorf("%s: %s", kind, diff)
		}
		if got := sample(t.Context(), nil); len(got) != 0 {
			t.Errorf("%s of nothing: %v", kind, got)
		}
	}
	l.cut()
	if got := n.Stats(t.Context(), pods); len(got) != 3 || got[0].Err == nil || got[1].Err == nil || got[2].Err == nil {
		t.Errorf("over a connection that is cut: %v", got)
	}
}

// TestOtherSamples: an answer of another length is of nothing that was asked for.
func TestOtherSamples(t *testing.T) {
	n, _ := serve(t, &fake{sample: func(string, []string) []runtime.Usage { return make([]runtime.Usage, 3) }})
	if got := n.Load(t.Context(), []string{"a", "b"}); len(got) != 2 || got[0].Err == nil || got[1].Err == nil {
		t.Errorf("%v", got)
	}
}

func TestStopAndDiscard(t *testing.T) {
	var asked []string
	n, _ := serve(t, &fake{end: func(verb, name string) error {
		asked = append(asked, verb+" "+name)
		if name == "gone" {
			return runtime.ErrNotFound
		}
		return nil
	}})
	for name, want := range map[string]error{"a/b": nil, "gone": runtime.ErrNotFound} {
		for verb, end := range map[string]func(context.Context, string) error{"stop": n.Stop, "discard": n.Discard} {
			if err := end(t.Context(), name); !errors.Is(err, want) {
				t.Errorf("%s %s: %v, want %v", verb, name, err, want)
			}
		}
	}
	slices.Sort(asked)
	if diff := cmp.Diff([]string{"discard a/b", "discard gone", "stop a/b", "stop gone"}, asked); diff != "" {
		t.Error(diff)
	}
}

func TestDisk(t *testing.T) {
	want := api.NodeDisk{
		Node: "n1", SizeBytes: 100, FreeBytes: 7, Short: true, Images: api.DiskUse{Count: 2, Bytes: 9},
		Surplus: []api.SurplusImage{{Image: "web:1", Bytes: 4, Since: time.Date(2026, 11, 28, 7, 0, 0, 0, time.UTC)},
			{Image: "web:2", Bytes: 5}},
	}
	n, _ := serve(t, &fake{disk: func(prune bool) (api.NodeDisk, error) {
		answer := want
		answer.Surplus = slices.Clone(want.Surplus)
		answer.Surplus[1].Removed = prune
		return answer, nil
	}})
	for _, prune := range []bool{false, true} {
		got, err := n.Disk(t.Context(), prune)
		if err != nil || got.Surplus[1].Removed != prune || got.Reclaimable() != 9 {
			t.Errorf("prune %v: %+v, %v", prune, got, err)
		}
		got.Surplus[1].Removed = false
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	n, _ = serve(t, &fake{disk: func(bool) (api.NodeDisk, error) { return api.NodeDisk{}, runtime.ErrUnavailable }})
	if _, err := n.Disk(t.Context(), false); !errors.Is(err, runtime.ErrUnavailable) {
		t.Errorf("%v", err)
	}
}

// TestFindImage: the node's word on an image arrives as it was said, or why there is none.
func TestFindImage(t *testing.T) {
	want := node.FoundImage{ID: "sha256:1", Digest: "sha256:2", Arch: "arm64", Runtime: "docker"}
	n, _ := serve(t, &fake{find: func(_ context.Context, scope, name string) (node.FoundImage, error) {
		if scope != "prod" || name != "far.example/web:1" {
			return node.FoundImage{}, fmt.Errorf("image %s of %s: %w", name, scope, runtime.ErrNotFound)
		}
		return want, nil
	}})
	if got, err := n.FindImage(t.Context(), "prod", "far.example/web:1"); got != want || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := n.FindImage(t.Context(), "test", "far.example/web:1"); !errors.Is(err, runtime.ErrNotFound) {
		t.Error(err)
	}
}

// TestARequestThatIsCanceled: the node's end is canceled too.
func TestARequestThatIsCanceled(t *testing.T) {
	begun, canceled := make(chan struct{}), make(chan struct{})
	n, _ := serve(t, &fake{list: func(ctx context.Context) ([]runtime.Container, error) {
		close(begun)
		<-ctx.Done()
		close(canceled)
		return nil, ctx.Err()
	}})
	ctx, cancel := context.WithCancel(t.Context())
	answered := goes(func() error { _, err := n.List(ctx); return err })
	<-begun
	cancel()
	if err := await(t, "the answer", answered); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	await(t, "the node's end of the request", canceled)
}

// TestObserved: the server knows nothing of the node's tasks until its agent has reconciled all of them.
func TestObserved(t *testing.T) {
	c, ready := newCluster(t), make(chan struct{})
	c.connect("n1", &fake{end: func(string, string) error { return nil }}, ready)
	n := c.node("n1")
	for range 3 {
		if err := n.Stop(t.Context(), "p"); err != nil {
			t.Fatal(err)
		}
		if n.Observed("p") {
			t.Error("observed before the agent is ready")
		}
	}
	close(ready)
	eventually(t, "observed", func() error {
		if !n.Observed("p") {
			return errors.New("not yet")
		}
		return nil
	})
}

var _ nodeapi.Node = (*fake)(nil)

// TestImages: they arrive whole, or their reader learns that they didn't.
func TestImages(t *testing.T) {
	content := strings.Repeat("layer", 200_000)
	n, _ := serve(t, &fake{image: func(id string) (io.ReadCloser, error) {
		switch id {
		case "sha256:whole":
			return io.NopCloser(strings.NewReader(content)), nil
		case "sha256:cut":
			return io.NopCloser(io.MultiReader(strings.NewReader(content), iotest.ErrReader(errors.New("disk on fire")))), nil
		}
		return nil, fmt.Errorf("%s: %w", id, runtime.ErrNotFound)
	}})
	for id, whole := range map[string]bool{"sha256:whole": true, "sha256:cut": false} {
		image, err := n.SaveImage(t.Context(), id, node.Part{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(image)
		if _ = image.Close(); (err == nil && string(got) == content) != whole {
			t.Errorf("%s: %d bytes, %v", id, len(got), err)
		}
	}
	if _, err := n.SaveImage(t.Context(), "sha256:none", node.Part{}); !errors.Is(err, runtime.ErrNotFound) {
		t.Error(err)
	}
}
