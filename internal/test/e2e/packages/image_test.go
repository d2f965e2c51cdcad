//go:build integration

package packages

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"

	"tend.dev/tend/internal/test/testimage"
)

// TestTheImage: the image of Tend runs a server as docs/operate/installing.md describes, with the engine's socket, and
// its deployments outlive it.
func TestTheImage(t *testing.T) {
	docker := func(args ...string) string {
		t.Helper()
		output, err := exec.Command("docker", args...).CombinedOutput()
		if err != nil {
			t.Fatalf("docker %s: %v: %s", strings.Join(args, " "), err, output)
		}
		return strings.TrimSpace(string(output))
	}
	if said := docker("run", "--rm", tendImage, "--version"); said != "tend version v"+older {
		t.Errorf("tend --version: %s", said)
	}

	root, err := os.MkdirTemp("", "tend") // short: a socket lies in it
	if err != nil {
		t.Fatal(err)
	}
	server, scope, app := prefix+"-server", "t"+random(), prefix+"/server:v1"
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(docker("logs", "--tail", "40", server))
		}
		left := docker("ps", "-aq", "--filter", "label=tend.scope="+scope)
		docker(append([]string{"rm", "-f", "-v", server}, strings.Fields(left)...)...)
		docker("rmi", "-f", app)
		_ = quiet("docker", "network", "rm", server) // there is no network if nothing was deployed
		if err := os.RemoveAll(root); err != nil {
			t.Error(err)
		}
	})
	if err := testimage.Ensure(context.Background(), "v1", app); err != nil {
		t.Fatal(err)
	}
	docker("run", "-d", "--name", server, "--network", "host", "--pid", "host", "-v",
		"/var/run/docker.sock:/var/run/docker.sock", "-v", "/dev/shm:/dev/shm",
		"-v", root+":"+root, "-e", "TEND_ROOT="+root, tendImage, "server", "--http", "off", "--network", server,
		"--callback-port", "0")

	inside := func(args ...string) string {
		t.Helper()
		return docker(append([]string{"exec", server, "tend"}, args...)...)
	}
	m := &machine{T: t}
	m.until("the server in the image is ready", func() bool {
		return exec.Command("docker", "exec", server, "tend", "nodes").Run() == nil
	})
	manifest := "asset \"" + scope + "\" \"page\" {\n  text = \"hello\"\n}\n" +
		"deployment \"" + scope + "\" \"web\" {\n  image = \"" + app +
		"\"\n  replicas = 2\n  volumes = [\"${asset.page.text}:/data/page\"]\n" +
		"  secret_files = { \"/run/secrets/key\" = \"KEY\" }\n}\n"
	inside("config", "set", scope, "KEY=tin-whistle")
	apply := exec.Command("docker", "exec", "-i", server, "tend", "apply", "--format", "hcl", "-f", "-")
	apply.Stdin = strings.NewReader(manifest)
	if output, err := apply.CombinedOutput(); err != nil {
		t.Fatalf("tend apply: %v: %s", err, output)
	}
	// The files that the engine mounts for the server are on the host, under the paths that the server knows.
	for file, want := range map[string]string{"/data/page": "hello", "/run/secrets/key": "tin-whistle"} {
		read := exec.Command("docker", "exec", server, "tend", "exec", scope+"/web", "--", "/server", "cat", file)
		if got, err := read.Output(); err != nil || strings.TrimSpace(string(got)) != want {
			t.Errorf("%s in the pod: %q, %v; want %q", file, got, err, want)
		}
	}
	if list := inside("get", scope+"/web"); !strings.Contains(list, "2/2") {
		t.Errorf("the deployment: %s", list)
	}
	running := func() string { return docker("ps", "-q", "--no-trunc", "--filter", "label=tend.scope="+scope) }
	before := running()
	docker("restart", server)
	m.until("the restarted server is ready", func() bool {
		output, err := exec.Command("docker", "exec", server, "tend", "get", scope+"/web").Output()
		return err == nil && strings.Contains(string(output), "2/2")
	})
	docker("stop", server)
	if after := running(); after != before || len(strings.Fields(after)) != 2 {
		t.Errorf("what the image's server had deployed was %s and is %s", before, after)
	}
	docker("start", server)
	m.until("the server is ready to delete what it deployed", func() bool {
		return exec.Command("docker", "exec", server, "tend", "delete", "deployment", scope+"/web", "--yes").Run() == nil
	})
	m.until("nothing is left", func() bool { return running() == "" })
}
