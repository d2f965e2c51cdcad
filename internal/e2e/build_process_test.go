//go:build integration

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBuildWithoutDocker: on plain processes the node's own go builds the source; a change is rolled out, and going back
// takes what was built before.
func TestBuildWithoutDocker(t *testing.T) {
	m := newMachine(t, "--runtime", "process")
	if err := os.Chmod(m.root, 0o711); err != nil { // who the processes run as passes through
		t.Fatal(err)
	}
	m.start()
	folder := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	program := func(word string) string {
		return "package main\n\nimport \"time\"\n\nfunc main() {\n\tprintln(\"" + word + "\")\n\ttime.Sleep(time.Hour)\n}\n"
	}
	write("go.mod", "module x\n\ngo 1.26\n")
	write("x.go", "package x\n")
	if err := os.MkdirAll(filepath.Join(folder, "cmd", "app"), 0o755); err != nil {
		t.Fatal(err)
	}
	write("cmd/app/main.go", program("one"))
	write("tend.hcl", strings.ReplaceAll(sourceManifest, "SCOPE", m.scope))
	apply := func() cliResult {
		t.Helper()
		return m.tend("apply", "-f", filepath.Join(folder, "tend.hcl"))
	}
	defer m.delete("app") // processes outlive their server
	m.wantSaid(apply(), 0, "building as go 1.26, cmd/app: go.mod says so", "Step 1/1 : go build ./cmd/app", "1 of 1 replicas run v1")
	m.wantSaid(m.tend("logs", m.scope+"/app"), 0, "one")
	write("cmd/app/main.go", program("two"))
	m.wantSaid(apply(), 0, "1 of 1 replicas run v2")
	m.wantSaid(m.tend("logs", m.scope+"/app"), 0, "two")
	write("cmd/app/main.go", "package main\n\nfunc main() { nothing() }\n")
	m.wantSaid(apply(), 1, "undefined: nothing", "correct the source and apply again")
	before := m.built("app")
	write("cmd/app/main.go", program("one"))
	m.wantSaid(apply(), 0, "1 of 1 replicas run v3")
	m.wantSaid(m.tend("logs", m.scope+"/app"), 0, "one")
	if m.built("app") != before {
		t.Error("going back to the old source built it again")
	}
}

// TestServerIsKilledDuringABuildWithoutDocker: no build goes on without a server.
func TestServerIsKilledDuringABuildWithoutDocker(t *testing.T) {
	folder := t.TempDir()
	for _, part := range []string{folder, filepath.Dir(folder)} { // who builds passes through
		if err := os.Chmod(part, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	at := filepath.Join(folder, "pid")
	compiler := "#!/bin/sh\necho $$ > " + at + ".new; mv " + at + ".new " + at + "; exec sleep 600\n"
	for name, text := range map[string]string{
		"go": compiler, "go.mod": "module x\n\ngo 1.26\n", "main.go": "package main\n\nfunc main() {}\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	m := newMachine(t, "--runtime", "process")
	if err := os.Chmod(m.root, 0o711); err != nil {
		t.Fatal(err)
	}
	m.env = append(m.env, "PATH="+folder+":"+os.Getenv("PATH"))
	m.start()
	manifest := "deployment \"" + m.scope + "\" \"app\" {\n  build { }\n}\n"
	if err := os.WriteFile(filepath.Join(folder, "tend.hcl"), []byte(manifest), 0o644); err != nil {
		t.Fatal(err)
	}
	m.wantSaid(m.tend("apply", "--no-wait", "-f", filepath.Join(folder, "tend.hcl")), 0)
	m.until("it is being built", func() bool { _, err := os.Stat(at); return err == nil })
	pid, err := os.ReadFile(at)
	if err != nil {
		t.Fatal(err)
	}
	m.process.kill()
	m.until("the compiler is ended", func() bool {
		stat, err := os.ReadFile("/proc/" + strings.TrimSpace(string(pid)) + "/stat")
		return err != nil || strings.Contains(string(stat), ") Z ")
	})
}
