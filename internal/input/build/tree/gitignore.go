package tree

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// readRules are the rules of .gitignore files and of .git/info/exclude, read as gitignore(5) describes them. The file
// in the deepest folder wins, and in it the last line that matches. A file in an ignored folder can't be included
// again.
type readRules struct {
	root *os.Root
	of   map[string][]rule // by folder; "." is the tree
}

// rule is a line of a .gitignore.
type rule struct {
	segments []string
	include  bool // !pattern includes again
	folders  bool // pattern/ matches only folders
	anywhere bool // the pattern has no slash, so it matches names at any depth
}

func newReadRules(root *os.Root) (*readRules, error) {
	r := &readRules{root: root, of: map[string][]rule{}}
	excluded, err := r.read(".git/info/exclude")
	if err != nil {
		return nil, err
	}
	if err := r.enter("."); err != nil {
		return nil, err
	}
	r.of["."] = append(excluded, r.of["."]...)
	return r, nil
}

// enter reads the rules of a folder.
func (r *readRules) enter(folder string) error {
	rules, err := r.read(path.Join(folder, ".gitignore"))
	r.of[folder] = rules
	return err
}

func (r *readRules) read(file string) (rules []rule, err error) {
	content, err := r.root.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	lines := bufio.NewScanner(bytes.NewReader(content))
	for number := 1; lines.Scan(); number++ {
		read, ok, err := parseRule(lines.Text())
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w: correct it, or name what isn't needed in .dockerignore", file, number, err)
		}
		if ok {
			rules = append(rules, read)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	return rules, nil
}

// errClass refuses a character class that path.Match would misread.
var errClass = errors.New("a class such as [:digit:] is understood only where git is installed and the folder is in a repository")

// parseRule reads a line; ok is false for an empty line and a comment.
func parseRule(line string) (r rule, ok bool, err error) {
	line = strings.TrimSuffix(line, "\r")
	if strings.HasPrefix(line, "#") {
		return r, false, nil
	}
	for strings.HasSuffix(line, " ") && !strings.HasSuffix(line, `\ `) {
		line = line[:len(line)-1]
	}
	line, r.include = strings.CutPrefix(line, "!")
	line, r.folders = strings.CutSuffix(line, "/")
	if line == "" {
		return r, false, nil
	}
	r.anywhere = !strings.Contains(line, "/")
	line = strings.ReplaceAll(strings.TrimPrefix(line, "/"), "[!", "[^")
	if strings.Contains(line, "[:") {
		return r, false, errClass
	}
	r.segments = strings.Split(line, "/")
	for _, segment := range r.segments {
		if _, err := path.Match(segment, ""); err != nil {
			return r, false, fmt.Errorf("pattern %q: %w", line, err)
		}
	}
	return r, true, nil
}

func (r *readRules) ignores(name string, folder bool) (bool, error) {
	for at := path.Dir(name); ; at = path.Dir(at) {
		below := name
		if at != "." {
			below = strings.TrimPrefix(name, at+"/")
		}
		rules := r.of[at]
		for _, rule := range slices.Backward(rules) {
			if !rule.matches(below, folder) {
				continue
			}
			if !rule.include {
				return true, nil
			}
			return false, r.goOn(name, folder)
		}
		if at == "." {
			return false, r.goOn(name, folder)
		}
	}
}

// goOn reads the rules of a folder that is not ignored.
func (r *readRules) goOn(name string, folder bool) error {
	if !folder {
		return nil
	}
	return r.enter(name)
}

// matches reports whether a rule applies to a path below its folder.
func (r rule) matches(below string, folder bool) bool {
	switch {
	case r.folders && !folder:
		return false
	case r.anywhere:
		ok, _ := path.Match(r.segments[0], path.Base(below)) // checked when it was read
		return ok
	}
	return matchSegments(r.segments, strings.Split(below, "/"))
}

// matchSegments matches a pattern's segments against a path's. A ** matches any number of segments, and at the end at
// least one.
func matchSegments(pattern, name []string) bool {
	for ; len(pattern) > 0; pattern, name = pattern[1:], name[1:] {
		if pattern[0] == "**" {
			if len(pattern) == 1 {
				return len(name) > 0
			}
			for i := range len(name) + 1 {
				if matchSegments(pattern[1:], name[i:]) {
					return true
				}
			}
			return false
		}
		if len(name) == 0 {
			return false
		}
		if ok, _ := path.Match(pattern[0], name[0]); !ok {
			return false
		}
	}
	return len(name) == 0
}
