//go:build integration

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tend.dev/tend/api"
)

// tendWith runs a command of the CLI with more in its environment.
func (m *machine) tendWith(env []string, args ...string) cliResult {
	m.Helper()
	p := spawn(m.T, args, append([]string{"TEND_SERVER=" + m.address(), "TEND_ROOT=" + m.root, "NO_COLOR=1"}, env...)...)
	m.Cleanup(p.kill)
	code := p.exit()
	return cliResult{code: code, output: p.output.String()}
}

// built is how often the server built an image of an object.
func (m *machine) built(name string) (n int) {
	for line := range strings.Lines(m.process.output.String()) {
		if strings.Contains(line, `"image built"`) && strings.Contains(line, "image="+m.scope+"-"+name+":") {
			n++
		}
	}
	return n
}

// TestBuildOfEveryKind: a statefulset, a job and a cron job are built as a deployment is, each an image of its own.
func TestBuildOfEveryKind(t *testing.T) {
	m := newMachine(t).start()
	s := m.source(`statefulset "SCOPE" "data" {
  build { }
  replicas = 2
}
job "SCOPE" "once" {
  build { }
  command = ["/server", "exit", "0"]
}
cronjob "SCOPE" "often" {
  build { }
  schedule = "0 0 1 1 *"
  command  = ["/server", "exit", "0"]
}
`)
	for _, name := range []string{"data", "once", "often"} {
		m.afterwards(func() { m.removeBuilt(name) })
	}
	m.wantSaid(s.apply(), 0, "building with Dockerfile")
	m.wantSaid(m.tend("run", "job", m.scope+"/once"), 0)
	m.wantSaid(m.tend("run", "cronjob", m.scope+"/often"), 0)
	images := map[string]string{}
	for _, name := range []string{"data", "once", "often"} {
		if list := m.builtImages(name); len(list) != 2 {
			t.Errorf("%s has images %v, want one by its id and latest", name, list)
		}
		images[name] = m.imageID(m.scope + "-" + name + ":latest")
	}
	for _, ordinal := range []int{0, 1} {
		if got := m.inspect(m.ordinal("data", ordinal)).Image; got != images["data"] {
			t.Errorf("data.%d runs %s, not %s", ordinal, got, images["data"])
		}
	}
	s.write("page", "two", 0o644)
	m.wantSaid(s.apply(), 0, "configured")
	for name, old := range images {
		if m.imageID(m.scope+"-"+name+":latest") == old {
			t.Errorf("%s is still made of the old tree", name)
		}
	}
	m.wantSaid(m.tend("run", "job", m.scope+"/once"), 0)
}

// TestTwoAppliesOfATreeBuildItOnce, at once and one after the other.
func TestTwoAppliesOfATreeBuildItOnce(t *testing.T) {
	m := newMachine(t).start()
	s := m.source(sourceManifest)
	s.write("Dockerfile", "FROM scratch\nCOPY server /server\nENV SEED="+random()+"\nRUN [\"/server\", \"sleep\", \"2s\"]\nENV PATH=/\nCMD [\"/server\"]\n", 0o644)
	env := []string{"TEND_SERVER=" + m.address(), "TEND_ROOT=" + m.root, "NO_COLOR=1"}
	var both [2]*process
	for i := range both {
		both[i] = spawn(t, []string{"apply", "-f", filepath.Join(s.folder, "tend.hcl")}, env...)
		t.Cleanup(both[i].kill)
	}
	for _, p := range both {
		if code := p.exit(); code != 0 {
			t.Errorf("exit code %d:\n%s", code, p.output.tail())
		}
	}
	m.wantSaid(s.apply(), 0, "unchanged")
	if n := m.built("app"); n != 1 {
		t.Errorf("it was built %d times", n)
	}
	if n := len(m.running("app")); n != 1 {
		t.Errorf("%d containers run", n)
	}
}

// TestACallerThatLeavesLeavesTheBuild: what was applied is built, whether a caller waits or not.
func TestACallerThatLeavesLeavesTheBuild(t *testing.T) {
	m := newMachine(t).start()
	s := m.source(sourceManifest)
	s.write("Dockerfile", "FROM scratch\nCOPY server /server\nENV SEED="+random()+"\nRUN [\"/server\", \"sleep\", \"3s\"]\nENV PATH=/\nCMD [\"/server\"]\n", 0o644)
	p := spawn(t, []string{"apply", "-f", filepath.Join(s.folder, "tend.hcl")}, "TEND_SERVER="+m.address(), "TEND_ROOT="+m.root, "NO_COLOR=1")
	t.Cleanup(p.kill)
	m.until("the build's output is shown", func() bool { return strings.Contains(p.output.String(), "Step 2/2 : RUN") })
	_ = p.cmd.Process.Signal(syscall.SIGINT) // as Ctrl-C does
	if code := p.exit(); code == 0 {
		t.Error("who left claims that it converged")
	}
	m.converged("app", 0)
	if n := m.built("app"); n != 1 {
		t.Errorf("it was built %d times", n)
	}
	// Another tree ends the build of the one before.
	s.write("Dockerfile", "FROM scratch\nCOPY server /server\nENV SEED="+random()+"\nRUN [\"/server\", \"sleep\", \"600s\"]\n", 0o644)
	m.wantSaid(s.apply("--no-wait"), 0)
	m.until("it is being built", func() bool {
		ready := api.FindCondition(m.status("app").Conditions, api.ConditionProgressing)
		return ready != nil && strings.Contains(ready.Message, "2/2")
	})
	s.write("Dockerfile", "FROM scratch\nCOPY server /server\nENV PATH=/ BACK=1\nCMD [\"/server\"]\n", 0o644)
	m.wantSaid(s.apply(), 0, "run v2")
}

// TestEngineGoesDuringABuild: that is no fault of the source, and it is built when the engine is back.
func TestEngineGoesDuringABuild(t *testing.T) {
	d := &relay{t: t, path: filepath.Join(t.TempDir(), "engine.sock")}
	d.open()
	t.Cleanup(d.shut)
	m := newMachine(t, "--docker-host", "unix://"+d.path).start()
	s := m.source(sourceManifest)
	s.write("Dockerfile", "FROM scratch\nCOPY server /server\nENV SEED="+random()+"\nRUN [\"/server\", \"sleep\", \"5s\"]\nENV PATH=/\nCMD [\"/server\"]\n", 0o644)
	m.wantSaid(s.apply("--no-wait"), 0)
	m.until("it is being built", func() bool {
		ready := api.FindCondition(m.status("app").Conditions, api.ConditionProgressing)
		return ready != nil && strings.Contains(ready.Message, "2/2")
	})
	d.shut()
	m.until("the build is not under way, and not the source's fault", func() bool {
		ready := api.FindCondition(m.status("app").Conditions, api.ConditionReady)
		return ready != nil && ready.Reason == "EngineUnavailable"
	})
	d.open()
	m.converged("app", 0)
}

// TestHowLargeASourceMayBe: 500 MiB, or less or more, at the client as at the server.
func TestHowLargeASourceMayBe(t *testing.T) {
	m := newMachine(t)
	m.env = append(m.env, "TEND_BUILD_MAX_SIZE=64Mi")
	m.start()
	s := m.source(sourceManifest)
	large := filepath.Join(s.folder, "large")
	size := func(mebibytes int64) {
		t.Helper()
		s.write("large", "", 0o644)
		if err := os.Truncate(large, mebibytes<<20); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"apply", "-f", filepath.Join(s.folder, "tend.hcl")}
	size(501)
	m.wantSaid(m.tend(args...), 1, "larger than 500 MiB (at large)", ".dockerignore", "TEND_BUILD_MAX_SIZE")
	m.wantSaid(m.tendWith([]string{"VOODU_BUILD_MAX_SIZE=1Gi"}, "diff", "-f", args[2]), 0, "+ deployment/"+m.scope+"/app")
	size(2)
	m.wantSaid(m.tendWith([]string{"TEND_BUILD_MAX_SIZE=1Mi"}, args...), 1, "larger than 1 MiB")
	m.wantSaid(m.tendWith([]string{"TEND_BUILD_MAX_SIZE=17Gi"}, args...), 1, "at most 16Gi")
	size(70)
	m.wantSaid(m.tend(args...), 1, "larger than 64 MiB")
	m.degraded("app", api.ReasonBuildFailed, "larger than 64 MiB")
	size(1)
	m.wantSaid(m.tend(args...), 0, "1 of 1 replicas run")
}

// TestBuildOnAFullDisk: a source that doesn't fit is refused, what was sent of it goes, and with room it is built.
func TestBuildOnAFullDisk(t *testing.T) {
	const keep = 64 << 20
	m := newMachine(t, "--min-free-disk", "67108864")
	if err := syscall.Mount("tmpfs", m.root, "tmpfs", 0, "size=256m"); err != nil {
		t.Fatal(err)
	}
	m.afterwards(func() {
		if err := syscall.Unmount(m.root, 0); err != nil {
			t.Error(err)
		}
	})
	m.start()
	s := m.source(sourceManifest)
	s.write("large", strings.Repeat(random(), 5<<20), 0o644) // 40 MiB
	filler := filepath.Join(m.root, "filler")
	fill(t, filler, keep+16<<20)
	m.wantSaid(s.apply(), 1, "not enough disk space")
	if halves, _ := filepath.Glob(filepath.Join(m.root, "blobs", "*", ".half-*")); len(halves) > 0 {
		t.Errorf("left behind: %v", halves)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	m.wantSaid(s.apply(), 0, "1 of 1 replicas run v1")
}
