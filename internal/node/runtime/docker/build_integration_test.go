//go:build integration

package docker_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/test/testimage"
)

// building makes images in the engine from a Dockerfile, the test server and a page.
type building struct {
	*testing.T
	runtime.Builder
	tag string

	mu   sync.Mutex
	said []string
}

// newEngineBuilding is a building on the engine itself.
func newEngineBuilding(t *testing.T) *building {
	rt := newRuntime(t, run)
	t.Cleanup(func() {
		if err := rt.Close(); err != nil {
			t.Error(err)
		}
	})
	return newBuilding(t, rt.(runtime.Builder))
}

func newBuilding(t *testing.T, builder runtime.Builder) *building {
	b := &building{T: t, Builder: builder, tag: run + "-" + random() + ":built"}
	// there is no image if the build was meant to fail
	t.Cleanup(func() { _ = exec.Command("docker", "image", "rm", "-f", b.tag).Run() })
	return b
}

// spec returns the spec of a build of a Dockerfile.
func (b *building) spec(dockerfile string) runtime.BuildSpec {
	b.Helper()
	program, err := testimage.Binary(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	server, err := os.ReadFile(program)
	if err != nil {
		b.Fatal(err)
	}
	var tree bytes.Buffer
	writer := tar.NewWriter(&tree)
	for name, content := range map[string][]byte{"Dockerfile": []byte(dockerfile), "server": server,
		"page": []byte("a page")} {
		err := writer.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(content))})
		if _, err2 := writer.Write(content); err != nil || err2 != nil {
			b.Fatal(err, err2)
		}
	}
	if err := writer.Close(); err != nil {
		b.Fatal(err)
	}
	return runtime.BuildSpec{Tree: &tree, Dockerfile: "Dockerfile", Tags: []string{b.tag},
		Labels: map[string]string{"made.for": b.tag}}
}

func (b *building) build(ctx context.Context, spec runtime.BuildSpec) (runtime.Image, error) {
	return b.Build(ctx, spec, func(line string) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.said = append(b.said, line)
	})
}

// made builds an image, which must succeed, and returns the build's output.
func (b *building) made(spec runtime.BuildSpec) string {
	b.Helper()
	image, err := b.build(b.Context(), spec)
	said := strings.Join(b.said, "\n")
	if err != nil {
		b.Fatalf("%v\n%s", err, said)
	}
	if id := dockerCLI(b.T, "image", "inspect", "-f", "{{.Id}}", b.tag); id != image.ID {
		b.Errorf("the build answers with image %s, and %s is %s", image.ID, b.tag, id)
	}
	return said
}

// files returns the headers and contents of the files in the image, from a container.
func (b *building) files() (map[string]*tar.Header, map[string]string) {
	b.Helper()
	id := dockerCLI(b.T, "create", b.tag, "/server")
	defer dockerCLI(b.T, "rm", id)
	exported, err := exec.Command("docker", "export", id).Output()
	if err != nil {
		b.Fatal(err)
	}
	headers, contents := map[string]*tar.Header{}, map[string]string{}
	for reader := tar.NewReader(bytes.NewReader(exported)); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return headers, contents
		}
		if err != nil {
			b.Fatal(err)
		}
		content, err := io.ReadAll(reader)
		if err != nil {
			b.Fatal(err)
		}
		headers[header.Name], contents[header.Name] = header, string(content)
	}
}

// TestBuildKit: modes, labels, arguments and stages arrive in the image.
func TestBuildKit(t *testing.T) {
	b := newEngineBuilding(t)
	spec := b.spec(`FROM scratch AS first
COPY server /server
ARG WHAT
RUN ["/server", "write", "/made", "by", "arg"]
FROM scratch
ARG WHAT
COPY --chmod=640 page /page
COPY --from=first --chmod=701 /server /server
COPY --from=first /made /made
ENV WHAT=$WHAT
`)
	spec.Args = map[string]string{"WHAT": "an argument"}
	said := b.made(spec)
	headers, contents := b.files()
	if headers["page"].Mode&0o7777 != 0o640 || headers["server"].Mode&0o7777 != 0o701 || contents["page"] != "a page" ||
		contents["made"] != "by arg" {
		t.Errorf("page %o %q, server %o, made %q", headers["page"].Mode, contents["page"],
			headers["server"].Mode, contents["made"])
	}
	labels := dockerCLI(t, "image", "inspect", "-f", `{{index .Config.Labels "made.for"}} {{index .Config.Labels "`+
		api.LabelBuildCluster+`"}} {{.Config.Env}}`, b.tag)
	if !strings.HasPrefix(labels, b.tag+" "+run) || !strings.Contains(labels, "WHAT=an argument") {
		t.Errorf("labels and environment: %s", labels)
	}
	for _, want := range []string{`Step 2/2 : [first] RUN ["/server", "write"`, "Step 1/3 : COPY --chmod=640 page /page"} {
		if !strings.Contains(said, want) {
			t.Errorf("the log lacks %s:\n%s", want, said)
		}
	}
	again := b.spec(`FROM scratch
COPY page /page
`)
	b.said = nil
	b.made(again)
	again = b.spec(`FROM scratch
COPY page /page
`)
	b.said = nil
	if said := b.made(again); !strings.Contains(said, "Step 1/1 : COPY page /page\n ---> Using cache") {
		t.Errorf("the second build of the same:\n%s", said)
	}
}

// TestBuildSecretsAndCaches: a step sees the secret and the cache, and the image has neither.
func TestBuildSecretsAndCaches(t *testing.T) {
	b := newEngineBuilding(t)
	secret, mark := "hunter2-"+random(), "mark-"+random()
	spec := b.spec(`FROM scratch
COPY server /server
RUN --mount=type=secret,id=TOKEN,target=/run/` + mark + ` ["/server", "cat", "/run/` + mark + `"]
RUN --mount=type=cache,id=` + mark + `,target=/cache ["/server", "write", "/cache/mark", "` + mark + `-kept"]
`)
	spec.Secrets = map[string]string{"TOKEN": secret}
	if said := b.made(spec); !strings.Contains(said, secret) {
		t.Errorf("the step did not see the secret:\n%s", said)
	}
	saved, err := exec.Command("docker", "save", b.tag).Output()
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(saved, []byte(secret)) || strings.Contains(dockerCLI(t, "history", "--no-trunc", b.tag), secret) {
		t.Error("the image holds the secret")
	}
	if _, contents := b.files(); contents["cache/mark"] != "" {
		t.Error("the image holds the cache")
	}
	second := b.spec(`FROM scratch
COPY server /server
RUN --mount=type=cache,id=` + mark + `,target=/cache ["/server", "cat", "/cache/mark"]
`)
	if said := b.made(second); !strings.Contains(said, mark+"-kept") {
		t.Errorf("another build does not see the cache:\n%s", said)
	}
}

// TestBuildKitFaults: each error names the step, or the next step for the user.
func TestBuildKitFaults(t *testing.T) {
	b := newEngineBuilding(t)
	for name, test := range map[string]struct {
		reason, dockerfile, says, next string
	}{
		"a step": {"it is named with its exit code",
			"FROM scratch\nCOPY server /server\nRUN [\"/server\", \"exit\", \"3\"]\n",
			`step 2/2 RUN ["/server", "exit", "3"]: `, "correct the source"},
		"no file": {"the missing one is named", "FROM scratch\nCOPY nothing /\n", "nothing", "correct the source"},
		"a new feature": {"a frontend that is too old is said",
			"FROM scratch\nCOPY server /server\nCOPY <<EOF /x\nhello there\nEOF\n",
			"unknown instruction: HELLO", "# syntax=docker/dockerfile:1"},
	} {
		spec := b.spec(test.dockerfile)
		if name == "a new feature" {
			spec.BuildKit = errors.New("a here-document")
		}
		_, err := b.build(t.Context(), spec)
		var rejected *runtime.RejectedError
		if !errors.As(err, &rejected) || rejected.Reason != api.ReasonBuildFailed ||
			!strings.Contains(rejected.Detail, test.says) || !strings.Contains(rejected.Next, test.next) {
			t.Errorf("%s: %s: %v\n%+v", name, test.reason, err, rejected)
		}
	}
}

// TestBuildIsCancelled: the programs of a step end with the build's context.
func TestBuildIsCancelled(t *testing.T) {
	b := newEngineBuilding(t)
	mark := random()
	running := func() bool {
		lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
		return err == nil && slices.ContainsFunc(lines, func(file string) bool {
			text, _ := os.ReadFile(file) // it may be gone
			return string(text) == "/server\x00sleep\x0020m\x00"+mark+"\x00"
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	spec := b.spec("FROM scratch\nCOPY server /server\nRUN [\"/server\", \"sleep\", \"20m\", \"" + mark + "\"]\n")
	go func() {
		_, err := b.build(ctx, spec)
		ended <- err
	}()
	eventually(t, "the step", running)
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the build ended with %v", err)
	}
	eventually(t, "the step's end", func() bool { return !running() })
}

// TestBuildFromAPrivateBase: BuildKit gets the credentials of the registry that a base image comes from.
func TestBuildFromAPrivateBase(t *testing.T) {
	s := newShop(t)
	s.put(func(w http.ResponseWriter, r *http.Request) {
		if user, password, ok := r.BasicAuth(); !ok || user != "ann" || password != "right" {
			w.Header().Set("WWW-Authenticate", `Basic realm="shop"`)
			http.Error(w, `{"errors":[{"code":"UNAUTHORIZED","message":"authentication required"}]}`, http.StatusUnauthorized)
			return
		}
		s.shelves.ServeHTTP(w, r)
	})
	b := newBuilding(t, s.Runtime.(runtime.Builder))
	_, err := b.build(t.Context(), b.spec("FROM "+s.reference+"\nCOPY page /page\n"))
	var rejected *runtime.RejectedError
	if !errors.As(err, &rejected) || rejected.Reason != "Unauthorized" || !strings.Contains(err.Error(), s.reference) {
		t.Errorf("without credentials: %v, want Unauthorized that names the image", err)
	}
	s.auth.Username, s.auth.Password = "ann", "right"
	b.made(b.spec("FROM " + s.reference + "\nCOPY page /page\n"))
	if layers := dockerCLI(t, "image", "inspect", "-f", "{{len .RootFS.Layers}}", b.tag); layers != "3" {
		t.Errorf("%s layers, want the two of the base and one", layers)
	}
}

// TestClassicBuilder: DOCKER_BUILDKIT=0 selects the engine's classic builder, which refuses unsupported features by
// name.
func TestClassicBuilder(t *testing.T) {
	t.Setenv("DOCKER_BUILDKIT", "0")
	b := newEngineBuilding(t)
	if said := b.made(b.spec("FROM scratch\nCOPY page /page\nCOPY server /server\n")); !strings.Contains(said, "Step 3/") {
		t.Errorf("the classic builder counts FROM as a step:\n%s", said)
	}
	if _, contents := b.files(); contents["page"] != "a page" {
		t.Errorf("page: %q", contents["page"])
	}
	for name, spec := range map[string]runtime.BuildSpec{
		"a mount":  {BuildKit: errors.New("Dockerfile:2: RUN --mount needs BuildKit")},
		"a secret": {Secrets: map[string]string{"TOKEN": "x"}},
	} {
		_, err := b.build(t.Context(), spec)
		var rejected *runtime.RejectedError
		if !errors.As(err, &rejected) || rejected.Reason != api.ReasonBuildFailed ||
			!strings.Contains(rejected.Detail, "needs BuildKit") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestLabelsOfAnImageAreNotTends: a container whose image calls itself an init container of another task doesn't count
// as one.
func TestLabelsOfAnImageAreNotTends(t *testing.T) {
	b := newEngineBuilding(t)
	b.made(b.spec("FROM scratch\nCOPY server /server\nLABEL tend.role=init tend.init=x tend.init-for=abc tend.init-attempt=1 mine=1\n"))
	c := newCluster(t)
	spec := container(api.DeploymentSpec{}, "sleep", "1h")
	spec.Image = b.tag
	made, err := c.Create(t.Context(), spec)
	if err == nil {
		made, err = c.Inspect(t.Context(), made.ID)
	}
	if err != nil {
		t.Fatal(err)
	}
	if made.Labels["mine"] != "1" {
		t.Errorf("the image's own labels are gone: %v", made.Labels)
	}
	for _, name := range []string{api.LabelRole, api.LabelInit, api.LabelInitFor, api.LabelInitAttempt} {
		if made.Labels[name] != "" {
			t.Errorf("%s is the image's: %q", name, made.Labels[name])
		}
	}
}

// TestABuildTakesNoBuildOfAnotherScope: as its base, or to copy from. Of its own scope it does, unless its source may
// be hostile: then all base images come from registries.
func TestABuildTakesNoBuildOfAnotherScope(t *testing.T) {
	private := newEngineBuilding(t)
	labelled := func(b *building, dockerfile, scope string) runtime.BuildSpec {
		spec := b.spec(dockerfile)
		spec.Labels = map[string]string{api.LabelBuildOwner: scope + "-built", api.LabelBuildScope: scope,
			api.LabelBuildID: "built"}
		return spec
	}
	private.made(labelled(private, "FROM scratch\nCOPY page /secret\nLABEL tend.build.scope=nats\n", "bank"))
	if image, err := private.Builder.(runtime.Runtime).Resolve(t.Context(), private.tag); err != nil ||
		image.Origin.Scope != "bank" || image.OpenTo("nats", private.tag) {
		t.Errorf("%+v, %v", image, err)
	}
	from, copied := "FROM "+private.tag+"\n", "FROM scratch\nCOPY --from="+private.tag+" /secret /stolen\n"
	for name, tc := range map[string]struct {
		dockerfile, scope string
		confined, works   bool
	}{
		"the scope's own":        {from, "bank", false, true},
		"another's":              {from, "nats", false, false},
		"copied from another's":  {copied, "nats", false, false},
		"confined":               {from, "bank", true, false},
		"confined, copied":       {copied, "nats", true, false},
		"confined, by variables": {"ARG A\nFROM scratch AS x\nFROM ${A:-" + private.tag + "}\n", "nats", true, false},
		"confined, from nothing": {"FROM scratch\nCOPY page /page\n", "nats", true, true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newEngineBuilding(t)
			spec := labelled(b, tc.dockerfile, tc.scope)
			spec.Confined, spec.Bases = tc.confined, nil
			if !tc.confined {
				spec.Bases = []string{private.tag}
			}
			if _, err := b.build(t.Context(), spec); (err == nil) != tc.works {
				t.Errorf("%v\n%s", err, strings.Join(b.said, "\n"))
			}
		})
	}
}
