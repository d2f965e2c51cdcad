package arch

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestCommentsNameFoldersThatExist: a comment that points to another package is followed by whoever reads it.
func TestCommentsNameFoldersThatExist(t *testing.T) {
	report(t, missingPlaces(sources(t), func(name string) bool {
		_, err := os.Stat(filepath.Join(root, name)) // a module of its own, or not Go
		return err == nil
	}))
}

// place is a folder or a Go file below internal, as comments name it: internal/core/once, core/once,
// core/once/attempt.go.
var place = regexp.MustCompile(`(?:^|[\s(])((?:internal|core)/[a-z0-9_/]*[a-z0-9_](?:\.go)?)`)

// missingPlaces finds comments that name a place which is neither in the sources nor exists by exists.
func missingPlaces(all []*source, exists func(name string) bool) (faults []string) {
	exist := map[string]bool{}
	for _, s := range all {
		exist[s.name] = true
		for folder := s.folder(); folder != "."; folder = path.Dir(folder) {
			exist[folder] = true
		}
	}
	for _, s := range all {
		for _, group := range s.ast.Comments {
			for _, match := range place.FindAllStringSubmatch(group.Text(), -1) {
				name := match[1]
				if strings.HasPrefix(name, "core/") {
					name = "internal/" + name
				}
				if !exist[name] && !exists(name) {
					faults = append(faults, fmt.Sprintf("%s: the comment names %s, which doesn't exist", s.at(group), match[1]))
				}
			}
		}
	}
	return faults
}
