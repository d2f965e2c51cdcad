package builder

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/input/build/buildlog"
	"tend.dev/tend/internal/input/build/tree"
	"tend.dev/tend/internal/node/agent"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/platform/retention"
)

var web = api.Ref{Kind: api.KindDeployment, Scope: "prod", Name: "web"}

// engine is a runtime.Builder that records its calls.
type engine struct {
	spec    runtime.BuildSpec
	entries []string
	lines   []string
	fail    error
	takes   time.Duration
	built   []runtime.BuiltImage
	inUse   string
	builds  int
	gone    []string
	tagged  []string
}

func (e *engine) Build(ctx context.Context, spec runtime.BuildSpec, output func(string)) (runtime.Image, error) {
	e.spec = spec
	e.builds++
	for reader := tar.NewReader(spec.Tree); ; {
		entry, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return runtime.Image{}, err
		}
		e.entries = append(e.entries, entry.Name)
	}
	for _, line := range e.lines {
		output(line)
	}
	select {
	case <-time.After(e.takes):
	case <-ctx.Done():
		return runtime.Image{}, ctx.Err()
	}
	if e.fail == nil {
		e.built = append(e.built, runtime.BuiltImage{ID: "sha256:1", Origin: runtime.Origin{
			Owner: spec.Labels[api.LabelBuildOwner], Scope: spec.Labels[api.LabelBuildScope],
			Build: spec.Labels[api.LabelBuildID],
		}, Tags: spec.Tags})
	}
	return runtime.Image{ID: "sha256:1"}, e.fail
}

func (e *engine) Built(context.Context) ([]runtime.BuiltImage, error) { return e.built, nil }
func (e *engine) Tag(_ context.Context, image, reference string) error {
	e.tagged = append(e.tagged, image+" "+reference)
	return nil
}
func (e *engine) Untag(_ context.Context, name string) error {
	if name == e.inUse {
		return runtime.ErrInUse
	}
	e.gone = append(e.gone, name)
	return nil
}

type bench struct {
	*testing.T
	engine  *engine
	builder *Builder
	trees   map[string][]byte
	logs    *buildlog.Logs
	folder  string
	metrics *prometheus.Registry
	// secrets are what builds get of those that they name, or noSecrets why they get none.
	secrets   map[string]string
	noSecrets error
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{T: t, engine: &engine{}, trees: map[string][]byte{}, folder: filepath.Join(t.TempDir(), "builds"),
		metrics: prometheus.NewRegistry()}
	b.reopen()
	return b
}

func (b *bench) reopen() {
	b.Helper()
	b.metrics = prometheus.NewRegistry()
	var err error
	if b.logs, err = buildlog.Open(filepath.Join(b.folder, "logs")); err != nil {
		b.Fatal(err)
	}
	b.builder, err = New(Options{
		Runtime: b.engine, Folder: b.folder, BuildLogs: b.logs, Timeout: time.Minute, Registerer: b.metrics,
		Secrets: func(context.Context, api.Ref) (map[string]string, error) { return b.secrets, b.noSecrets },
		Trees: func(_ context.Context, digest string) (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(b.trees[digest])), nil
		},
	})
	if err != nil {
		b.Fatal(err)
	}
}

// pack stores a tree and returns the build of it.
func (b *bench) pack(declared api.Build, files map[string]string) api.ImageBuild {
	b.Helper()
	folder := b.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	var packed bytes.Buffer
	done, err := tree.Pack(b.Context(), folder, &packed, tree.PackOptions{})
	if err != nil {
		b.Fatal(err)
	}
	b.trees[done.Digest] = packed.Bytes()
	return *api.NewImageBuild(done.Digest, declared)
}

func (b *bench) build(of api.ImageBuild) (steps []string, err error) {
	err = b.builder.Build(b.Context(), web, of, func(text string) { steps = append(steps, text) })
	return steps, err
}

func (b *bench) log(of api.ImageBuild) (lines []string) {
	b.Helper()
	if err := b.logs.Read(b.Context(), buildlog.Name("prod-web", of.ID), false, func(line string) error {
		lines = append(lines, line)
		return nil
	}); err != nil {
		b.Fatal(err)
	}
	return lines
}

// TestBuildSecrets: the runtime gets the values, and the log doesn't, also where a step prints them.
func TestBuildSecrets(t *testing.T) {
	b := newBench(t)
	of := b.pack(api.Build{Secrets: []string{"TOKEN"}},
		map[string]string{"Dockerfile": "FROM a\nRUN --mount=type=secret,id=TOKEN x\n"})
	b.noSecrets = fmt.Errorf("build.secrets: %w TOKEN", node.ErrNoConfig)
	_, err := b.build(of)
	var rejected *runtime.RejectedError
	if !errors.As(err, &rejected) || !strings.Contains(err.Error(), "TOKEN") || b.engine.builds > 0 {
		t.Errorf("a key without a value: %v, %d builds", err, b.engine.builds)
	}
	b.noSecrets, b.secrets = nil, map[string]string{"TOKEN": "hunter2"}
	b.engine.lines = []string{"Step 1/1 : RUN x", "the token is hunter2"}
	if _, err := b.build(of); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(b.secrets, b.engine.spec.Secrets); diff != "" || b.engine.spec.BuildKit == nil {
		t.Errorf("BuildKit is needed: %v\n%s", b.engine.spec.BuildKit, diff)
	}
	if log := strings.Join(b.log(of), "\n"); strings.Contains(log, "hunter2") ||
		!strings.Contains(log, "the token is [redacted]") {
		t.Errorf("the log:\n%s", log)
	}
}

func (b *bench) wantClean() {
	b.Helper()
	if left, _ := filepath.Glob(filepath.Join(b.folder, "tree-*")); len(left) > 0 {
		b.Errorf("left behind: %v", left)
	}
}

func TestAWrittenDockerfileComesBeforeTheTree(t *testing.T) {
	b := newBench(t)
	of := b.pack(api.Build{Path: "cmd/api", Args: map[string]string{"A": "1"}},
		map[string]string{"go.mod": "module x\ngo 1.26\n", "main.go": ""})
	b.engine.lines = []string{"Step 1/2 : FROM golang", "pulled", "Step 2/2 : RUN go build\r", "\x1b[31mred\x1b[0m"}
	steps, err := b.build(of)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{".tend.Dockerfile", "go.mod", "main.go"}, b.engine.entries); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"1/2 FROM golang", "2/2 RUN go build"}, steps); diff != "" {
		t.Error(diff)
	}
	got, image := b.engine.spec, of.Image(web)
	want := runtime.BuildSpec{
		Dockerfile: ".tend.Dockerfile", Bases: []string{"golang:1.26-alpine", "alpine:3"},
		Args: map[string]string{"A": "1"}, Tags: []string{image},
		Labels: map[string]string{"tend.build.owner": "prod-web", "tend.build.scope": "prod", "tend.build.id": of.ID,
			"tend.build.tree": of.Tree},
	}
	got.Tree = nil
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	log := b.log(of)
	if log[0] != "building as go 1.26, cmd/api: go.mod says so" || !slices.Contains(log, "red") ||
		!strings.HasPrefix(log[len(log)-1], "built "+image) {
		t.Errorf("%q", log)
	}
	b.wantClean()
	families, err := b.metrics.Gather()
	if err != nil || len(families) != 2 || families[1].GetMetric()[0].GetCounter().GetValue() != 1 ||
		families[1].GetMetric()[0].GetLabel()[0].GetValue() != "built" {
		t.Errorf("counted: %v, %v", families, err)
	}
}

func TestAFailureShowsTheLastLinesOfItsStep(t *testing.T) {
	b := newBench(t)
	of := b.pack(api.Build{}, map[string]string{"Dockerfile": "FROM scratch"})
	b.engine.fail = &runtime.RejectedError{Reason: api.ReasonBuildFailed, Detail: "step 2/2 RUN make: failed"}
	b.engine.lines = []string{"Step 1/2 : FROM scratch", "of the first step", "Step 2/2 : RUN make"}
	for range 30 {
		b.engine.lines = append(b.engine.lines, "again")
	}
	b.engine.lines = append(b.engine.lines, "main.c: no such file", strings.Repeat("é", 1000))
	_, err := b.build(of)
	var failed *agent.BuildError
	var rejected *runtime.RejectedError
	if !errors.As(err, &failed) || !errors.As(err, &rejected) || len(failed.Log) != lastLines {
		t.Fatalf("%v", err)
	}
	if last := failed.Log[lastLines-2:]; last[0] != "main.c: no such file" || len(last[1]) > maxLastLine+3 {
		t.Errorf("%q", last)
	}
	if log := b.log(of); log[len(log)-1] != "failed: step 2/2 RUN make: failed" {
		t.Errorf("%q", log[len(log)-1])
	}
	b.wantClean()
}

func TestWhatCannotBeBuiltIsRefused(t *testing.T) {
	b := newBench(t)
	lying := &bytes.Buffer{}
	writer := tar.NewWriter(lying)
	if err := writer.WriteHeader(&tar.Header{Name: "../x", Typeflag: tar.TypeReg}); err != nil {
		t.Fatal(err)
	}
	digest := "sha256:" + strings.Repeat("1", 64)
	b.trees[digest] = lying.Bytes()
	for want, of := range map[string]api.ImageBuild{
		"leads out of the tree":       *api.NewImageBuild(digest, api.Build{}),
		"no Dockerfile":               b.pack(api.Build{}, map[string]string{"x.txt": ""}),
		"there is no file Dockerfile": b.pack(api.Build{Dockerfile: "Dockerfile"}, map[string]string{"go.mod": ""}),
		"build.secrets": b.pack(api.Build{Secrets: []string{"A"}},
			map[string]string{"go.mod": "", "main.go": "package main"}),
	} {
		_, err := b.build(of)
		var rejected *runtime.RejectedError
		if !errors.As(err, &rejected) || rejected.Reason != api.ReasonBuildFailed || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	b.wantClean()
}

func TestABuildIsBoundedInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.engine.takes = time.Hour
		_, err := b.build(b.pack(api.Build{}, map[string]string{"Dockerfile": "FROM scratch"}))
		var rejected *runtime.RejectedError
		if !errors.As(err, &rejected) || !strings.Contains(err.Error(), "1m0s") ||
			!strings.Contains(err.Error(), "TEND_BUILD_TIMEOUT") {
			t.Error(err)
		}
	})
}

func TestLeftoversOfACrashAreRemoved(t *testing.T) {
	b := newBench(t)
	if err := os.MkdirAll(filepath.Join(b.folder, "tree-123", "source"), 0o755); err != nil {
		t.Fatal(err)
	}
	b.reopen()
	b.wantClean()
}

func TestCollectWaitsADayAndLeavesWhatIsInUse(t *testing.T) {
	b := newBench(t)
	ledger, now := retention.Open(t.TempDir(), "images", "a"), time.Now()
	b.builder.opts.Images, b.builder.opts.Now = ledger, func() time.Time { return now }
	b.engine.built = []runtime.BuiltImage{{ID: "1", Origin: runtime.Origin{Owner: "prod-web", Build: "a1"},
		Tags: []string{"prod-web:a1", "prod-web:latest"}}}
	b.engine.inUse = "prod-web:latest"
	collect := func() {
		if err := b.builder.Collect(t.Context(),
			func(context.Context, []string) (map[string]bool, error) { return nil, nil }); err != nil {
			t.Fatal(err)
		}
	}
	collect()
	now = now.Add(2 * retention.Wait)
	collect()
	if len(b.engine.gone) > 0 {
		t.Fatalf("an empty store had another's images deleted: %v", b.engine.gone)
	}
	for _, name := range b.engine.built[0].Tags {
		if err := ledger.Claim(name); err != nil {
			t.Fatal(err)
		}
	}
	collect()
	if len(b.engine.gone) > 0 {
		t.Fatalf("deleted without a day in quarantine: %v", b.engine.gone)
	}
	now = now.Add(retention.Wait)
	collect()
	if !slices.Equal(b.engine.gone, []string{"prod-web:a1"}) {
		t.Errorf("gone: %v", b.engine.gone)
	}
}

// TestAConfinedBuildFetchesNoURL: the engine would fetch it from its own machine. An admin's may.
func TestAConfinedBuildFetchesNoURL(t *testing.T) {
	b := newBench(t)
	of := b.pack(api.Build{}, map[string]string{"Dockerfile": "FROM scratch\nADD http://127.0.0.1:2379/x /x\n"})
	of.Confined = true
	_, err := b.build(of)
	var rejected *runtime.RejectedError
	if !errors.As(err, &rejected) || rejected.Reason != api.ReasonBuildFailed ||
		!strings.Contains(rejected.Detail, "line 2: ADD fetches no URL") || rejected.Next == "" || b.engine.builds != 0 {
		t.Errorf("%d builds: %v", b.engine.builds, err)
	}
	of.Confined = false
	if _, err := b.build(of); err != nil || b.engine.builds != 1 || b.engine.spec.Confined {
		t.Errorf("an admin's: %d builds, %v", b.engine.builds, err)
	}
	plain := b.pack(api.Build{}, map[string]string{"Dockerfile": "FROM scratch\nCOPY . /\n"})
	plain.Confined = true
	if _, err := b.build(plain); err != nil || !b.engine.spec.Confined {
		t.Errorf("the engine isn't told: %v", err)
	}
}

// TestAConfinedBuildAsksNoRegistryOfThisMachine: a build reaches it neither by its address nor by a name that leads
// here, unless the node's own options name it.
func TestAConfinedBuildAsksNoRegistryOfThisMachine(t *testing.T) {
	b := newBench(t)
	b.builder.opts.Find = func(_ context.Context, _, host string) ([]netip.Addr, error) {
		outside, inside := netip.MustParseAddr("192.0.2.7"), netip.MustParseAddr("127.0.0.1")
		found := map[string][]netip.Addr{"inside.example": {inside}, "both.example": {outside, inside},
			"registry.example": {outside}, "127.1": {outside}, "2130706433": {outside}}[host]
		if found == nil {
			return nil, errors.New("no such host")
		}
		return found, nil
	}
	const own = "caller's own machine"
	for text, refused := range map[string]string{
		"FROM 127.0.0.1:5000/x\n":                                 own,
		"FROM localhost/x\n":                                      own,
		"FROM [::1]:5000/x\n":                                     own,
		"FROM inside.example:5000/x\n":                            own,
		"FROM both.example:5000/x\n":                              own,
		"FROM 127.1:5000/x\n":                                     own,
		"FROM 2130706433:5000/x\n":                                own,
		"ARG R=127.0.0.1:5000\nFROM ${R}/x\n":                     own,
		"ARG H=127.0.0.1:5000\nARG R=$H\nFROM $R/x\n":             own,
		"FROM alpine:3\nCOPY --from=127.0.0.1:5000/x /a /a\n":     own,
		"FROM alpine:3\nRUN --mount=from=localhost:5000/x true\n": own,
		"FROM localhost:5000/x:${TARGETARCH}\n":                   own,
		"FROM ${TARGETOS:+127.0.0.1:5000/}x\n":                    "can't be told",
		"FROM gone.example:5000/x\n":                              "no such host",
		"FROM x:\n":                                               "invalid reference",
		"FROM alpine:3\nRUN wget http://127.0.0.1:5000/x\n":       "",
		"FROM registry.example:5000/x\n":                          "",
	} {
		for _, confined := range []bool{true, false} {
			of := b.pack(api.Build{}, map[string]string{"Dockerfile": text})
			of.Confined = confined
			_, err := b.build(of)
			var rejected *runtime.RejectedError
			is := errors.As(err, &rejected) && strings.Contains(rejected.Detail, refused) && rejected.Next != "" &&
				strings.Count(err.Error(), "an admin apply it") == 1
			if is != (refused != "" && confined) || !is && err != nil {
				t.Errorf("%q, confined %v: %v", text, confined, err)
			}
		}
	}
	b.builder.opts.Registry = "127.0.0.1:5000/"
	of := b.pack(api.Build{}, map[string]string{"Dockerfile": "FROM 127.0.0.1:5000/x\n"})
	of.Confined = true
	if _, err := b.build(of); err != nil {
		t.Errorf("the node's own registry: %v", err)
	}
}

// TestSurplusIsListedAndPruned: the list has the images of this cluster that nothing refers to. Only a prune removes
// them, and it keeps every image that a container is made from.
func TestSurplusIsListedAndPruned(t *testing.T) {
	b := newBench(t)
	ledger := retention.Open(t.TempDir(), "images", "a")
	b.builder.opts.Images = ledger
	b.engine.built = []runtime.BuiltImage{
		{ID: "1", Origin: runtime.Origin{Owner: "prod-web", Build: "a1"}, Tags: []string{"prod-web:a1"}},
		{ID: "2", Origin: runtime.Origin{Owner: "prod-web", Build: "a2"}, Tags: []string{"prod-web:a2", "prod-web:latest"}},
		{ID: "3", Origin: runtime.Origin{Owner: "prod-api", Build: "b1"}, Tags: []string{"prod-api:b1"}},
		{ID: "4", Origin: runtime.Origin{Owner: "other-web", Build: "c1"}, Tags: []string{"other-web:c1"}},
	}
	for _, name := range []string{"prod-web:a1", "prod-web:a2", "prod-web:latest", "prod-api:b1"} {
		if err := ledger.Claim(name); err != nil {
			t.Fatal(err)
		}
	}
	stored := []runtime.StoredImage{{ID: "1", Bytes: 11}, {ID: "2", Bytes: 12}, {ID: "3", Bytes: 13, InUse: true},
		{ID: "4", Bytes: 14}}
	referred := func(context.Context, []string) (map[string]bool, error) {
		return map[string]bool{"prod-web:a2": true}, nil
	}
	for _, prune := range []bool{false, true} {
		got, err := b.builder.Surplus(t.Context(), stored, referred, prune)
		if err != nil || len(got) != 1 || got[0].Image != "prod-web:a1" || got[0].Bytes != 11 || got[0].Removed != prune {
			t.Errorf("prune %v: %+v, %v", prune, got, err)
		}
		if gone := len(b.engine.gone) > 0; gone != prune {
			t.Errorf("prune %v: gone are %v", prune, b.engine.gone)
		}
	}
}
