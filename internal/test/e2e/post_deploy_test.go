//go:build integration

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tend.dev/tend/internal/test/testimage"
)

// shellImage makes an image with a shell and the test server, and returns its name.
func (m *machine) shellImage() string {
	m.Helper()
	folder := m.TempDir()
	build := exec.CommandContext(m.Context(), "go", "build", "-trimpath", "-ldflags=-s -w", "-o",
		filepath.Join(folder, "sh"), "tend.dev/tend/internal/test/testimage/shell")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux")
	if output, err := build.CombinedOutput(); err != nil {
		m.Fatalf("build the shell: %v: %s", err, output)
	}
	server, err := testimage.Binary(m.Context())
	if err != nil {
		m.Fatal(err)
	}
	content, err := os.ReadFile(server)
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, "server"), content, 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, "Dockerfile"),
			[]byte("FROM scratch\nCOPY server /server\nCOPY sh /bin/sh\nENV PATH=/bin\nCMD [\"/server\", \"wait\"]\n"), 0o600)
	}
	if err != nil {
		m.Fatal(err)
	}
	name := "tendtest/shell:" + m.scope
	made := exec.CommandContext(m.Context(), "docker", "build", "-q", "-t", name, folder)
	made.Env = append(os.Environ(), "DOCKER_BUILDKIT=0")
	if output, err := made.CombinedOutput(); err != nil {
		m.Fatalf("docker build: %v: %s", err, output)
	}
	m.afterwards(func() { m.engine("rmi", "-f", name).ignored() })
	return name
}

// TestPostDeploy: the commands run one after another in a shell of the new release, with its environment, once it
// serves; the apply waits for them. Every command shows a failed one, and nothing is rolled back.
func TestPostDeploy(t *testing.T) {
	m := newMachine(t).start()
	manifest := func(stage string, commands ...string) string {
		return m.file("app.hcl", `deployment "`+m.scope+`" "app" {
  image       = "`+m.shellImage()+`"
  env         = { STAGE = "`+stage+`" }
  post_deploy = ["`+strings.Join(commands, `", "`)+`"]
}
`)
	}
	said := m.tend("apply", "-f", manifest("one", `echo \"it's $STAGE\" && echo done`, "echo last"))
	m.wantSaid(said, 0)
	if strings.Contains(said.output, "warning") {
		t.Errorf("a success is warned of:\n%s", said.output)
	}
	m.wantSaid(m.tend("logs", m.scope+"-app.v1-deploy"), 0, "it's one\ndone\nlast")
	m.wantSaid(m.tend("describe", m.scope+"/app"), 0, "AfterRollout", "post_deploy of v1 succeeded")

	said = m.tend("apply", "-f", manifest("two", "echo $STAGE", "exit 3", "echo never"))
	m.wantSaid(said, 0, "warning", "post_deploy of v2 failed", "exit code 3", "v2 serves all the same", "tend logs "+
		m.scope+"-app.v2-deploy")
	m.wantSaid(m.tend("get", "deployments"), 0, "PostCommandFailed")
	m.wantSaid(m.tend("describe", m.scope+"/app"), 0, "PostCommandFailed", "exit code 3")
	if log := m.tend("logs", m.scope+"-app.v2-deploy"); !strings.Contains(log.output, "two") ||
		strings.Contains(log.output, "never") {
		t.Errorf("the commands said:\n%s", log.output)
	}
	if s := m.status("app"); s.Release != "v2" || s.Ready != 1 {
		t.Errorf("in force is %s, with %d ready", s.Release, s.Ready)
	}
}
