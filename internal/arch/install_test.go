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

// TestInstalledPagesHaveNoDeadLinks: every file that an installed page links to is installed too.
func TestInstalledPagesHaveNoDeadLinks(t *testing.T) {
	folder := t.TempDir()
	binary := filepath.Join(folder, "tend")
	if err := os.WriteFile(binary, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	install := exec.Command("make", "-s", "install", "BIN="+folder, "DESTDIR="+filepath.Join(folder, "root"), "PREFIX=/usr")
	install.Dir = root
	if output, err := install.CombinedOutput(); err != nil {
		t.Fatalf("make install: %v\n%s", err, output)
	}
	docs, checked := filepath.Join(folder, "root", "usr", "share", "doc", "tend"), 0
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
		t.Fatalf("%d links looked at: %v", checked, err)
	}
}
