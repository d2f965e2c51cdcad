//go:build integration

package e2e

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// lesson is a command of the tutorial with the output on the page; dev is the one that keeps running.
type lesson struct {
	command string
	want    []string
	dev     bool
}

// lessons reads the console blocks of a page.
func lessons(page string) (out []lesson) {
	block := ""
	for line := range strings.Lines(page) {
		line = strings.TrimRight(line, "\n")
		command, is := strings.CutPrefix(line, "$ ")
		switch {
		case strings.HasPrefix(line, "```"):
			block = strings.TrimPrefix(line, "```")
		case !strings.HasPrefix(block, "console"):
		case is:
			out = append(out, lesson{command: command, dev: block != "console"})
		default:
			out[len(out)-1].want = append(out[len(out)-1].want, line)
		}
	}
	return out
}

var wide = regexp.MustCompile(`  +`)

// agrees reports whether an output agrees with the page; … stands for any text within a line. Equal lines in a row,
// such as those of attempts that failed alike, count once.
func agrees(want []string, got string) bool {
	lines := slices.Compact(strings.Split(strings.TrimRight(got, "\n"), "\n"))
	if got == "" {
		lines = nil
	}
	if len(lines) != len(want) {
		return false
	}
	for i, line := range want {
		pattern := strings.ReplaceAll(regexp.QuoteMeta(wide.ReplaceAllString(line, "  ")), "…", ".*")
		if !regexp.MustCompile("^" + pattern +
			"$").MatchString(wide.ReplaceAllString(strings.TrimRight(lines[i], " "), "  ")) {
			return false
		}
	}
	return true
}

// TestTutorial runs docs/use/tutorial.md: every command, in order, and compares its output and its error.
func TestTutorial(t *testing.T) {
	m := newMachine(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	listener.Close()
	page, err := os.ReadFile("../../../docs/use/tutorial.md")
	if err != nil {
		t.Fatal(err)
	}
	ours := strings.NewReplacer("tend-stack", m.scope+"-stack", "shop", m.scope, "8443", port)
	theirs := strings.NewReplacer(m.scope+"-stack", "tend-stack", m.scope, "shop", port, "8443")
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "examples", "stack"), os.DirFS("../../../examples/stack")); err != nil {
		t.Fatal(err)
	}
	manifest := filepath.Join(dir, "examples", "stack", "stack.hcl")
	text, err := os.ReadFile(manifest)
	if err == nil {
		err = os.WriteFile(manifest, []byte(ours.Replace(string(text))), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	m.afterwards(func() {
		m.removeBuilt("stack")
		m.engine("volume", "rm", "-f", "tend-"+m.scope+"-db-data-0").ignored()
	})
	for _, lesson := range lessons(string(page)) {
		if folder, is := strings.CutPrefix(lesson.command, "cd "); is {
			dir = filepath.Join(dir, ours.Replace(folder))
			continue
		}
		if lesson.dev {
			m.launch("dev", "--ingress-http", "off", "--ingress-https", "127.0.0.1:"+port)
			m.until("dev answers", func() bool {
				readiness, err := m.client.Readiness(t.Context())
				return err == nil && readiness.Ready
			})
			continue
		}
		command := exec.Command("bash", "-c", ours.Replace(lesson.command))
		var output, faults bytes.Buffer
		command.Dir, command.Stdout, command.Stderr = dir, &output, &faults
		command.Env = append(os.Environ(), "TEND_SERVER="+m.address(), "PATH="+filepath.Dir(tendBinary)+":"+os.Getenv("PATH"))
		said := ""
		if err := command.Run(); err != nil {
			_, said, _ = strings.Cut(faults.String(), "error: ")
			said = "error: " + said
		}
		if got := theirs.Replace(output.String() + said); !agrees(lesson.want, got) {
			t.Errorf("$ %s\n%s\nthe page says:\n%s\nstderr: %s", lesson.command, got,
				strings.Join(lesson.want, "\n"), faults.String())
		}
	}
}

// TestAgrees: the page's output is compared with the complete output.
func TestAgrees(t *testing.T) {
	for got, want := range map[string]bool{"a 12s\nb\nb\n": true, "a 12s\n": false, "a 12s\nb\nc\n": false,
		"x 12s\nb\n": false, "": false} {
		if agrees([]string{"a …", "b"}, got) != want {
			t.Errorf("%q agrees: %v", got, !want)
		}
	}
}
