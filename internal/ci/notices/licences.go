package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tend.dev/tend/api/pattern"
)

// licenceName matches the names of files that must be passed on.
var licenceName = pattern.Lazy(`(?i)^(un)?(licen[cs]e|copying|copyright|notice|patents)([-.].*)?$`)

// licencesIn returns the paths of a folder's licence files.
func licencesIn(folder string) (paths []string) {
	entries, _ := os.ReadDir(folder) // an unreadable folder has no licence, which is reported
	for _, entry := range entries {
		if entry.Type().IsRegular() && licenceName().MatchString(entry.Name()) && filepath.Ext(entry.Name()) != ".go" {
			paths = append(paths, filepath.Join(folder, entry.Name()))
		}
	}
	return paths
}

// complete returns the modules in the order of their names, with their files sorted and each named once.
func complete(found map[string]*module) ([]module, error) {
	var modules []module
	var bare []string
	for _, name := range slices.Sorted(maps.Keys(found)) {
		m := found[name]
		slices.Sort(m.files)
		m.files = slices.Compact(m.files)
		if !slices.ContainsFunc(m.files, grants) {
			bare = append(bare, name+" "+m.version)
		}
		modules = append(modules, *m)
	}
	if bare != nil {
		return nil, fmt.Errorf("no licence file: %s", strings.Join(bare, ", "))
	}
	return modules, nil
}

// grants reports whether a file of that path is a licence, and not only a notice or a list of patents.
func grants(path string) bool {
	name := strings.ToLower(filepath.Base(path))
	return !strings.HasPrefix(name, "notice") && !strings.HasPrefix(name, "patents")
}

const preface = `Third-party notices

Tend's binary contains the modules below, each under the texts whose numbers follow its version.
"go mod download MODULE@VERSION" gets the source of one.

`

const rule = "--------------------------------------------------------------------------------"

// render writes each text once: most of the modules share a few.
func render(modules []module) ([]byte, error) {
	var head, body bytes.Buffer
	head.WriteString(preface)
	numbers := map[string]int{}
	for _, m := range modules {
		var own []string
		for _, path := range m.files {
			content, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			text := normal(content)
			if numbers[text] == 0 {
				numbers[text] = len(numbers) + 1
				fmt.Fprintf(&body, "\n%s\n[%d] %s of %s\n\n%s\n", rule, numbers[text], filepath.Base(path), m.name, text)
			}
			if number := fmt.Sprintf("[%d]", numbers[text]); !slices.Contains(own, number) {
				own = append(own, number)
			}
		}
		fmt.Fprintf(&head, "%s %s %s\n", m.name, m.version, strings.Join(own, " "))
	}
	return append(head.Bytes(), body.Bytes()...), nil
}

// normal returns a text with Unix line ends and without blanks at its ends.
func normal(content []byte) string {
	return strings.Trim(strings.ReplaceAll(string(content), "\r\n", "\n"), " \t\n")
}
