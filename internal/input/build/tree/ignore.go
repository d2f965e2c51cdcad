package tree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/moby/patternmatcher"
	"github.com/moby/patternmatcher/ignorefile"
)

// always is ignored in every tree. A .dockerignore may include it again with "!".
var always = []string{"**/.git", ".gitignore", "**/node_modules", ".voodu", "**/.DS_Store"}

// state is the folder in which `tend dev` keeps its keys. No tree includes it, at any depth.
const state = ".tend"

// ignored decides which files a tree leaves out: those of .dockerignore by Docker's rules, or without that file those
// that git ignores.
type ignored struct {
	root     *os.Root
	patterns *patternmatcher.PatternMatcher
	git      gitRules // nil beside a .dockerignore
	keep     []string
}

// gitRules are the rules of git. The caller asks about a folder before it asks about its entries.
type gitRules interface {
	ignores(name string, folder bool) (bool, error)
}

func readIgnored(ctx context.Context, root *os.Root, keep []string) (*ignored, error) {
	patterns, found, err := dockerPatterns(root)
	if err != nil {
		return nil, err
	}
	out := &ignored{root: root, keep: keep}
	if out.patterns, err = patternmatcher.New(append(slices.Clone(always), patterns...)); err != nil {
		return nil, fmt.Errorf("the patterns of .dockerignore: %w", err)
	}
	if !found {
		out.git, err = readGit(ctx, root)
	}
	return out, err
}

func dockerPatterns(root *os.Root) (patterns []string, found bool, err error) {
	file, err := root.Open(".dockerignore")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, true, fmt.Errorf("read .dockerignore: %w", err)
	}
	defer file.Close()
	if patterns, err = ignorefile.ReadAll(file); err != nil {
		return nil, true, fmt.Errorf("read .dockerignore: %w", err)
	}
	for i, pattern := range patterns {
		patterns[i] = strings.TrimPrefix(pattern, "/")
	}
	return patterns, true, nil
}

// match reports whether a path is left out, and for a left-out folder whether it may hold entries that are included
// again.
func (i *ignored) match(name string, folder bool) (out, inside bool, err error) {
	secret := path.Base(name) == state || folder && i.keepsKeys(name)
	switch {
	case secret:
		out = true
	case i.git != nil:
		if out, err = i.git.ignores(name, folder); err != nil || out {
			break
		}
		fallthrough
	default:
		if out, err = i.patterns.MatchesOrParentMatches(name); err != nil {
			err = fmt.Errorf("match %s: %w", name, err)
		}
		inside = out && i.patterns.Exclusions()
	}
	if err != nil || !out || slices.Contains(i.keep, name) {
		return false, false, err
	}
	kept := slices.ContainsFunc(i.keep, func(kept string) bool { return strings.HasPrefix(kept, name+"/") })
	return true, inside || kept, nil
}

// keepsKeys reports whether a folder is the root of a server, which holds keys.
func (i *ignored) keepsKeys(name string) bool {
	for _, file := range []string{"secret.key", "node"} {
		if info, err := i.root.Lstat(path.Join(name, file)); err != nil || !info.Mode().IsRegular() {
			return false
		}
	}
	return true
}
