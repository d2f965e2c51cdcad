package tree

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/moby/patternmatcher"
	"github.com/moby/patternmatcher/ignorefile"
)

// always is ignored in every tree. A .dockerignore may include it again with "!".
var always = []string{".git", ".gitignore", "**/node_modules", ".tend", ".voodu", "**/.DS_Store"}

// ignoreFiles are the files with patterns: the first one that exists counts.
var ignoreFiles = []string{".dockerignore", ".gitignore"}

// ignored decides what is left out of a tree.
type ignored struct {
	patterns *patternmatcher.PatternMatcher
	keep     []string
}

func readIgnored(root *os.Root, keep []string) (*ignored, error) {
	patterns := slices.Clone(always)
	for _, name := range ignoreFiles {
		file, err := root.Open(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		defer file.Close()
		more, err := ignorefile.ReadAll(file)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		for _, pattern := range more {
			patterns = append(patterns, strings.TrimPrefix(pattern, "/"))
		}
		break
	}
	matcher, err := patternmatcher.New(patterns)
	if err != nil {
		return nil, fmt.Errorf("the patterns of what to ignore: %w", err)
	}
	return &ignored{patterns: matcher, keep: keep}, nil
}

// match reports whether a path is left out, and for a folder whether something in it may still be included.
func (i *ignored) match(name string) (out, inside bool, err error) {
	out, err = i.patterns.MatchesOrParentMatches(name)
	if err != nil {
		return false, false, fmt.Errorf("match %s: %w", name, err)
	}
	if !out || slices.Contains(i.keep, name) {
		return false, false, nil
	}
	if slices.ContainsFunc(i.keep, func(kept string) bool { return strings.HasPrefix(kept, name+"/") }) {
		return true, true, nil
	}
	return true, i.patterns.Exclusions(), nil
}
