package arch

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// pageLink is a link of a page to a file: ](path) or ](path#section).
var pageLink = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// install runs make's install or uninstall on what stands for the files of `make build`, below folder/root.
func install(t *testing.T, folder, target string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(folder, "man"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"tend", "THIRD-PARTY-NOTICES", "man/tend.1", "man/tend-apply.1"} {
		if err := os.WriteFile(filepath.Join(folder, name), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	run := exec.Command("make", "-s", target, "BIN="+folder, "DESTDIR="+filepath.Join(folder, "root"), "PREFIX=/opt/tend")
	run.Dir = root
	if output, err := run.CombinedOutput(); err != nil {
		t.Fatalf("make %s: %v\n%s", target, err, output)
	}
}

// TestInstallAndUninstall: the units start the binary that was installed, settings that were made stay, and uninstall
// leaves those alone.
func TestInstallAndUninstall(t *testing.T) {
	folder := t.TempDir()
	install(t, folder, "install")
	at := func(name string) string { return filepath.Join(folder, "root", name) }
	for unit, starts := range map[string]string{"tend.service": "server", "tend-agent.service": "agent"} {
		text, err := os.ReadFile(at("etc/systemd/system/" + unit))
		if err != nil || !strings.Contains(string(text), "\nExecStart=/opt/tend/bin/tend "+starts+"\n") {
			t.Errorf("%s: %v\n%s", unit, err, text)
		}
	}
	for _, name := range []string{"bin/tend", "share/man/man1/tend-apply.1", "share/doc/tend/LICENSE",
		"share/doc/tend/THIRD-PARTY-NOTICES"} {
		if _, err := os.Stat(at("opt/tend/" + name)); err != nil {
			t.Error(err)
		}
	}
	settings := at("etc/tend/agent.env")
	if info, err := os.Stat(settings); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v: a token may stand in it", info, err)
	}
	if err := os.WriteFile(settings, []byte("TEND_NODE=one\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	install(t, folder, "install")
	install(t, folder, "uninstall")
	if text, err := os.ReadFile(settings); err != nil || string(text) != "TEND_NODE=one\n" {
		t.Errorf("%s, %v", text, err)
	}
	var left []string
	err := filepath.WalkDir(at(""), func(name string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			left = append(left, strings.TrimPrefix(name, at("")+"/"))
		}
		return err
	})
	if want := "etc/tend/agent.env etc/tend/server.env"; err != nil || strings.Join(left, " ") != want {
		t.Errorf("left: %v, %v; want %s", left, err, want)
	}
}

// TestInstalledPagesHaveNoDeadLinks: every file that an installed page links to is installed too.
func TestInstalledPagesHaveNoDeadLinks(t *testing.T) {
	folder := t.TempDir()
	install(t, folder, "install")
	docs, checked := filepath.Join(folder, "root", "opt", "tend", "share", "doc", "tend"), 0
	err := filepath.WalkDir(docs, func(page string, entry os.DirEntry, err error) error {
		if err != nil || filepath.Ext(page) != ".md" {
			return err
		}
		text, err := os.ReadFile(page)
		for _, link := range pageLink.FindAllStringSubmatch(string(text), -1) {
			target, _, _ := strings.Cut(link[1], "#")
			if target == "" || strings.Contains(target, "://") {
				continue
			}
			checked++
			if _, missing := os.Stat(filepath.Join(filepath.Dir(page), target)); missing != nil {
				t.Errorf("%s links to %s, which is not installed", strings.TrimPrefix(page, docs), target)
			}
		}
		return err
	})
	if err != nil || checked == 0 {
		t.Fatalf("%d links checked: %v", checked, err)
	}
}
