package arch

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// maxCell is the most characters in a cell of a table: beyond it a terminal and a narrow window show no table any more.
const maxCell = 200

var (
	heading   = regexp.MustCompile(`(?m)^#+ (.+)$`)
	fenced    = regexp.MustCompile("(?ms)^```.*?^```")
	linkText  = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	notInSlug = regexp.MustCompile(`[^\pL\pN _-]`)
	pageName  = regexp.MustCompile(`(?:^|[^\w/.-])(?:\.\./)*(docs/[a-z/-]*[A-Za-z-]+\.(?:md|json))`)
)

// pages returns the pages of the repository by their names.
func pages(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{"README.md": readPage(t, "README.md"), "CHANGELOG.md": readPage(t, "CHANGELOG.md")}
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(file string, entry fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(file) != ".md" {
			return err
		}
		name, err := filepath.Rel(root, file)
		found[filepath.ToSlash(name)] = readPage(t, name)
		return err
	})
	if err != nil || len(found) < 50 {
		t.Fatalf("found %d pages: %v", len(found), err)
	}
	return found
}

// TestLinksLead: every link of a page leads to a file, and to a section of it if it names one.
func TestLinksLead(t *testing.T) { report(t, deadLinks(pages(t), exists)) }

// TestEveryPageIsOnAShelf: the index of the documentation links to each page, apart from those of errors, which have an
// index of their own.
func TestEveryPageIsOnAShelf(t *testing.T) {
	index := readPage(t, "docs/README.md") + readPage(t, "docs/operate/kubernetes/README.md")
	for name := range pages(t) {
		if strings.HasPrefix(name, "docs/") && !strings.HasPrefix(name, "docs/use/errors/") && name != "docs/README.md" &&
			!regexp.MustCompile(`\]\([a-z/]*`+regexp.QuoteMeta(path.Base(name))+`[)#]`).MatchString(index) {
			t.Errorf("docs/README.md doesn't list %s", name)
		}
	}
}

// TestSourcesNamePagesThatExist: comments, messages and files for operators that name a page name one that is there.
func TestSourcesNamePagesThatExist(t *testing.T) {
	for _, folder := range []string{"api", "bench", "client", "cmd", "deploy", "examples", "internal"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(file string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.Type().IsRegular() || strings.HasSuffix(file, "internal/test/arch/shelves_test.go") {
				return err
			}
			text, err := os.ReadFile(file)
			if !bytes.Contains(text, []byte("docs/")) { // most files, and archives of test data
				return err
			}
			for _, found := range pageName.FindAllStringSubmatch(string(text), -1) {
				if !exists(found[1]) {
					t.Errorf("%s names %s, which doesn't exist", strings.TrimPrefix(file, root+"/"), found[1])
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestCellsAreShort: text that a table can't hold belongs into a sentence below it.
func TestCellsAreShort(t *testing.T) { report(t, longCells(pages(t))) }

func exists(name string) bool {
	_, err := os.Stat(filepath.Join(root, name))
	return err == nil
}

func deadLinks(pages map[string]string, exists func(name string) bool) (faults []string) {
	for name, text := range pages {
		for _, link := range pageLink.FindAllStringSubmatch(text, -1) {
			target, section, _ := strings.Cut(link[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			file := name
			if target != "" {
				file = path.Join(path.Dir(name), target)
			}
			linked, isPage := pages[file]
			if !isPage && !exists(file) || isPage && section != "" && !sections(linked)[section] {
				faults = append(faults, fmt.Sprintf("%s links to %s, which doesn't exist", name, link[1]))
			}
		}
	}
	return faults
}

// sections returns the names by which links reach the headings of a page.
func sections(page string) map[string]bool {
	found := map[string]bool{}
	for _, match := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(page, ""), -1) {
		words := strings.ToLower(linkText.ReplaceAllString(match[1], "$1"))
		found[strings.ReplaceAll(notInSlug.ReplaceAllString(words, ""), " ", "-")] = true
	}
	return found
}

// longCells finds cells that are too long as a reader sees them: the target of a link and a list of tests don't count.
func longCells(pages map[string]string) (faults []string) {
	for name, text := range pages {
		for _, line := range strings.Split(fenced.ReplaceAllString(text, ""), "\n") {
			if !strings.HasPrefix(line, "|") {
				continue
			}
			for _, cell := range strings.Split(strings.ReplaceAll(line, `\|`, "/"), "|") {
				seen := strings.TrimSpace(proof.ReplaceAllString(linkText.ReplaceAllString(cell, "$1"), ""))
				if length := len([]rune(seen)); length > maxCell {
					faults = append(faults, fmt.Sprintf("%s has a cell of %d characters: write a sentence below the table: %.60s",
						name, length, seen))
				}
			}
		}
	}
	return faults
}

// TestShelfChecksBite gives each check pages that break its rule once, beside those that keep it.
func TestShelfChecksBite(t *testing.T) {
	missing := func(string) bool { return false }
	short, long := strings.Repeat("a", maxCell), strings.Repeat("a", maxCell+1)
	for name, test := range map[string]struct {
		faults []string
		want   int
	}{
		"a page and its section": {deadLinks(map[string]string{"a/b.md": "[x](../c.md#one-two)",
			"c.md": "# `One` [two](d)!\n"}, missing), 1},
		"a section of its own": {deadLinks(map[string]string{"b.md": "[x](#y)\n## Y\n"}, missing), 0},
		"a missing page":       {deadLinks(map[string]string{"b.md": "[x](c.md)"}, missing), 1},
		"a missing section":    {deadLinks(map[string]string{"b.md": "[x](#y)\n```\n# y\n```\n"}, missing), 1},
		"an address elsewhere": {deadLinks(map[string]string{"b.md": "[x](https://example.org/)"}, missing), 0},
		"a short cell": {longCells(map[string]string{"b.md": "| [" + short + "](" + long +
			") | `api/a_test.go:TestA" + long + "` |\n"}), 0},
		"a long cell": {longCells(map[string]string{"b.md": "| " + long + " |\n```\n| " + long + " |\n```\n"}), 1},
	} {
		if len(test.faults) != test.want {
			t.Errorf("%s: %d faults, want %d: %v", name, len(test.faults), test.want, test.faults)
		}
	}
}
