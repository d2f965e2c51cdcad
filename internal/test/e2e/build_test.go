//go:build integration

package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/test/testimage"
)

// source is a folder with a static program, a Dockerfile and a manifest beside it.
type source struct {
	m      *machine
	folder string
}

const sourceManifest = `deployment "SCOPE" "app" {
  build { }
  strategy {
    pause   = "0s"
    monitor = "300ms"
  }
}
`

func (m *machine) source(manifest string) *source {
	m.Helper()
	s := &source{m: m, folder: m.TempDir()}
	program, err := testimage.Binary(m.Context())
	if err != nil {
		m.Fatal(err)
	}
	binary, err := os.ReadFile(program)
	if err != nil {
		m.Fatal(err)
	}
	s.write("server", string(binary), 0o755)
	s.write("Dockerfile", "FROM scratch\nCOPY server /server\nCOPY page /page\nENV PATH=/\nCMD [\"/server\"]\n", 0o644)
	s.write("page", "one", 0o644)
	s.write("tend.hcl", strings.ReplaceAll(manifest, "SCOPE", m.scope), 0o644)
	m.afterwards(func() { m.removeBuilt("app") })
	return s
}

func (s *source) write(name, text string, mode os.FileMode) {
	s.m.Helper()
	if err := os.WriteFile(filepath.Join(s.folder, name), []byte(text), mode); err != nil {
		s.m.Fatal(err)
	}
}

func (s *source) apply(more ...string) cliResult {
	s.m.Helper()
	return s.m.tend(append([]string{"apply", "-f", filepath.Join(s.folder, "tend.hcl")}, more...)...)
}

// removeBuilt removes the images built for an object.
func (m *machine) removeBuilt(name string) {
	for _, image := range m.builtImages(name) {
		m.engine("image", "rm", "-f", image).ignored()
	}
}

func (m *machine) builtImages(name string) []string {
	out := m.engine("image", "ls", "--format", "{{.Repository}}:{{.Tag}}", m.scope+"-"+name).output
	return strings.Fields(out)
}

func (m *machine) runningImage(name string) string {
	m.Helper()
	for _, b := range m.running(name) {
		return b.ImageID
	}
	m.Fatalf("no container of %s runs", name)
	return ""
}

func (m *machine) releaseOf(name string) (image string) {
	m.Helper()
	list, err := m.client.Releases(m.Context(), client.Target{Kind: m.kind, Scope: m.scope, Name: name})
	if err != nil || len(list.Items) == 0 {
		m.Fatalf("releases: %v, %v", list, err)
	}
	return list.Items[0].Image
}

// TestBuildFromADockerfile: the whole way from a folder to a container, and back to an old tree. A failed build reports
// the place and the cause, doesn't affect running pods, and never counts as done.
func TestBuildFromADockerfile(t *testing.T) {
	m := newMachine(t).start()
	s := m.source(sourceManifest)
	m.wantSaid(s.apply(), 0, "sending the source", "building with Dockerfile", "Step 2/", "built "+m.scope+"-app:",
		"1 of 1 replicas run v1")
	first, firstTag := m.runningImage("app"), m.releaseOf("app")
	before := m.containers("app")

	again := s.apply()
	m.wantSaid(again, 0, "unchanged")
	if strings.Contains(again.output, "Step") || !slices.Equal(m.containers("app"), before) {
		t.Errorf("the same content was built or rolled again:\n%s", again.output)
	}

	s.write("page", "two", 0o644)
	m.wantSaid(m.tend("diff", "-f", filepath.Join(s.folder, "tend.hcl")), 0, "build.source", "build image")
	m.wantSaid(s.apply(), 0, "configured", "Step 2/2 : COPY page", "run v2")
	if m.runningImage("app") == first || m.releaseOf("app") == firstTag {
		t.Errorf("a changed file runs in the old image")
	}

	s.write("page", "one", 0o644)
	back := s.apply()
	m.wantSaid(back, 0, "configured")
	if m.runningImage("app") != first || m.releaseOf("app") != firstTag || strings.Contains(back.output, "Step") {
		t.Errorf("going back to the old tree took another image:\n%s", back.output)
	}
	if latest := m.imageID(m.scope + "-app:latest"); latest != first {
		t.Errorf("latest is %s, not what runs", latest)
	}

	m.wantSaid(m.tend("rollback", m.scope+"/app", "v2"), 0)
	if m.runningImage("app") == first {
		t.Error("the rollback runs the image it left")
	}
	m.wantSaid(s.apply("--force"), 0, "Step 1/")
	if m.runningImage("app") == first {
		t.Error("by force nothing was built again")
	}

	before = m.containers("app")
	s.write("Dockerfile",
		"FROM scratch\nCOPY server /server\nRUN [\"/server\", \"env\"]\nRUN [\"/server\", \"exit\", \"3\"]\n", 0o644)
	for range 2 { // the second apply retries and isn't skipped
		m.wantSaid(s.apply(), 1, "Step 3/3 : RUN", "exit code: 3", "correct the source or the Dockerfile and apply again")
	}
	m.degraded("app", api.ReasonBuildFailed, "step 3/3 RUN")
	if !slices.Equal(m.containers("app"), before) {
		t.Error("a failed build touched what serves")
	}
	s.write("Dockerfile", "FROM scratch\nCOPY server /server\nENV PATH=/\nCMD [\"/server\"]\n", 0o644)
	m.wantSaid(s.apply(), 0, "built ")
}

// TestBuildSecret: a step sees a config value, and neither the image nor any output of Tend contains it.
func TestBuildSecret(t *testing.T) {
	m := newMachine(t).start()
	s := m.source(strings.Replace(sourceManifest, "build { }", `build { secrets = ["TOKEN"] }`, 1))
	s.write("Dockerfile", "FROM scratch\nCOPY server /server\nENV PATH=/\n"+
		"RUN --mount=type=secret,id=TOKEN,target=/run/"+m.scope+" [\"/server\", \"cat\", \"/run/"+m.scope+
		"\"]\nCMD [\"/server\"]\n", 0o644)
	m.wantSaid(s.apply(), 1, "there is no config key TOKEN: tend config set "+m.scope+"/app TOKEN")
	secret := "hunter2-" + random()
	m.wantSaid(m.tend("config", "set", m.scope+"/app", "TOKEN="+secret), 0)
	applied := s.apply()
	m.wantSaid(applied, 0, "RUN --mount=type=secret", "[redacted]", "run v1")
	saved := m.engine("save", m.releaseOf("app")).must()
	history := m.engine("history", "--no-trunc", m.releaseOf("app")).must()
	for what, text := range map[string]string{"apply": applied.output, "the image": saved, "its history": history} {
		if strings.Contains(text, secret) {
			t.Errorf("%s has the secret", what)
		}
	}
}

// TestServerIsKilledDuringABuild: it begins again.
func TestServerIsKilledDuringABuild(t *testing.T) {
	m := newMachine(t).start()
	s := m.source(sourceManifest)
	s.write("Dockerfile", "FROM scratch\nCOPY server /server\nENV SEED="+random()+
		"\nRUN [\"/server\", \"sleep\", \"4s\"]\nENV PATH=/\nCMD [\"/server\"]\n", 0o644)
	m.wantSaid(s.apply("--no-wait"), 0)
	m.until("it is being built", func() bool {
		ready := api.FindCondition(m.status("app").Conditions, api.ConditionReady)
		return ready != nil && ready.Reason == "Building"
	})
	m.process.kill()
	m.start()
	m.converged("app", 0)
	if n := len(m.running("app")); n != 1 {
		t.Errorf("%d containers run", n)
	}
}
