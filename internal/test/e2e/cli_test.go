//go:build integration

package e2e

import (
	"os"
	"path/filepath"
	"strings"
)

// cliResult is the result of a command of the CLI.
type cliResult struct {
	code   int
	output string
}

// tend runs a command of the CLI against the machine's server.
func (m *machine) tend(args ...string) cliResult {
	m.Helper()
	p := spawn(m.T, args, "TEND_SERVER="+m.address(), "TEND_ROOT="+m.root, "NO_COLOR=1")
	m.Cleanup(p.kill)
	code := p.exit()
	return cliResult{code: code, output: p.output.String()}
}

// wantSaid asserts a command's exit code and parts of its output.
func (m *machine) wantSaid(r cliResult, code int, parts ...string) {
	m.Helper()
	if r.code != code {
		m.Errorf("exit code %d, want %d:\n%s", r.code, code, r.output)
	}
	for _, part := range parts {
		if !strings.Contains(r.output, part) {
			m.Errorf("the command does not say %q:\n%s", part, r.output)
		}
	}
}

// file writes a manifest and returns its path.
func (m *machine) file(name, text string) string {
	m.Helper()
	path := filepath.Join(m.TempDir(), name)
	text = strings.NewReplacer("SCOPE", m.scope, "IMAGE", image("v1")).Replace(text)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		m.Fatal(err)
	}
	return path
}
