package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestMisuse: the compiler refuses each wrong use of the client, and accepts the right one beside it.
func TestMisuse(t *testing.T) {
	folder := newProject(t)
	output, err := compile(t, folder, "misuse.ts")
	if err == nil {
		t.Fatal("it compiles")
	}
	reported := map[int]string{} // codes by line
	report := regexp.MustCompile(`(?m)^misuse\.ts\((\d+),\d+\): error (TS\d+)`)
	for _, match := range report.FindAllStringSubmatch(output, -1) {
		var line int
		_, _ = fmt.Sscan(match[1], &line)
		reported[line] += match[2]
	}
	text, err := os.ReadFile(filepath.Join(folder, "misuse.ts"))
	if err != nil {
		t.Fatal(err)
	}
	marked := regexp.MustCompile(` // (TS\d+(?: TS\d+)*)$`)
	wrong := 0
	for i, line := range strings.Split(string(text), "\n") {
		var wanted []string
		if match := marked.FindStringSubmatch(line); match != nil {
			wanted = strings.Fields(match[1])
			wrong++
		}
		got := reported[i+1]
		delete(reported, i+1)
		if got != "" && !slices.Contains(wanted, got) || got == "" && len(wanted) > 0 {
			t.Errorf("misuse.ts:%d: the compiler says %q, want one of %q: %s", i+1, got, wanted, line)
		}
	}
	if wrong == 0 || len(reported) > 0 {
		t.Errorf("%d lines are marked; errors beyond the file: %v\n%s", wrong, slices.Sorted(maps.Keys(reported)), output)
	}
}

// newProject returns a folder with the client for the server's document, the programs of testdata, and shown.ts, the
// example of docs/use/cli.md. OPENAPI names the document, which make test-openapi writes.
func newProject(t *testing.T) string {
	t.Helper()
	document, err := os.ReadFile(os.Getenv("OPENAPI"))
	if err != nil {
		t.Fatalf("read the document of OPENAPI: %v; run: make test-openapi", err)
	}
	var client bytes.Buffer
	if err := run(nil, bytes.NewReader(document), &client); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.FromSlash("../../../docs/use/cli.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(page), "```ts\n")
	shown, _, _ := strings.Cut(after, "```\n")
	if !found {
		t.Fatal("docs/use/cli.md shows no program")
	}
	folder := t.TempDir()
	for name, text := range map[string]string{"client.ts": client.String(), "shown.ts": shown} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	programs, err := filepath.Glob(filepath.Join("testdata", "*.ts"))
	if err != nil || len(programs) == 0 {
		t.Fatalf("no programs: %v", err)
	}
	for _, program := range programs {
		text, err := os.ReadFile(program)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, filepath.Base(program)), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// compile runs tsc on files of a project. If it finds no error, it writes JavaScript beside them.
func compile(t *testing.T, folder string, files ...string) (string, error) {
	t.Helper()
	tsc, err := exec.LookPath("tsc")
	if err != nil {
		t.Fatalf("%v: install it, for example with apt-get install node-typescript", err)
	}
	command := exec.CommandContext(t.Context(), tsc, append([]string{"--strict", "--noEmitOnError", "--pretty", "false",
		"--target", "es2020", "--lib", "es2020,dom", "--module", "es2020", "--moduleResolution", "node"}, files...)...)
	command.Dir = folder
	output, err := command.CombinedOutput()
	return string(output), err
}
