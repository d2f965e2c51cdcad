package tree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"time"

	"tend.dev/tend/internal/platform/gitcmd"
)

// readGit returns git's rules for a folder. In a work tree it asks git itself, which knows the tracked files (no rule
// applies to them) and the excludes of the repository and of the user. Elsewhere, or if git is not installed, only the
// .gitignore files count.
func readGit(ctx context.Context, root *os.Root) (gitRules, error) {
	if program, err := exec.LookPath("git"); err == nil && inWorkTree(root.Name()) {
		asked := &askedGit{ctx: ctx, root: root, program: program, ignored: map[string]bool{}}
		// A repository around the folder may ignore the whole folder, as a repository of a home folder does. Its rules don't
		// count then.
		if whole, err := asked.list("."); !whole && !errors.Is(err, errNoRepository) {
			return asked, err
		}
	}
	return newReadRules(root)
}

// inWorkTree reports whether a folder is in a work tree of git.
func inWorkTree(folder string) bool {
	at, err := filepath.Abs(folder)
	for ; err == nil; at = filepath.Dir(at) {
		if _, missing := os.Lstat(filepath.Join(at, ".git")); missing == nil {
			return true
		}
		if at == filepath.Dir(at) {
			return false
		}
	}
	return false
}

// askedGit are the rules as git applies them.
type askedGit struct {
	ctx     context.Context
	root    *os.Root
	program string
	ignored map[string]bool // files, and folders that are ignored as a whole
}

// errNoRepository means that git doesn't accept a .git as a repository.
var errNoRepository = errors.New("it is not a git repository")

const (
	gitTime = 2 * time.Minute
	maxList = 64 << 20
)

// list asks git which entries of a folder it ignores. whole is set if it ignores the folder itself.
func (g *askedGit) list(folder string) (whole bool, err error) {
	out, err := gitcmd.Run(g.ctx, g.program, gitcmd.Call{
		// no program of the repository's choice runs
		Options: []string{"-c", "core.fsmonitor=false", "-c", "safe.directory=*"},
		Args: func(string) []string {
			return []string{"ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z"}
		},
		Dir: filepath.Join(g.root.Name(), folder), Env: gitEnvironment(), Limit: gitTime, Stdout: maxList,
	})
	switch said := strings.TrimSpace(string(out.Stderr)); {
	case err != nil || out.Code == 0:
	case strings.Contains(said, "not a git repository"):
		return false, errNoRepository
	default:
		err = errors.New(said)
	}
	if err != nil {
		return false,
			fmt.Errorf("ask git what it ignores in %s: %w: repair the repository, or name what isn't needed in .dockerignore",
				path.Clean(folder), err)
	}
	for name := range strings.SplitSeq(string(out.Stdout), "\x00") {
		switch name {
		case "":
		case "./":
			whole = true
		default:
			g.ignored[path.Join(folder, name)] = true
		}
	}
	return whole, nil
}

// gitEnvironment returns the user's environment without the variables that a git hook sets for another repository.
func gitEnvironment() map[string]string {
	// objects that a partial clone lacks aren't fetched
	out := map[string]string{"LC_ALL": "C", "GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": ""}
	for _, entry := range os.Environ() {
		name, value, _ := strings.Cut(entry, "=")
		if name != "LC_ALL" && (!strings.HasPrefix(name, "GIT_") || name == "GIT_CONFIG_GLOBAL") {
			out[name] = value
		}
	}
	return out
}

func (g *askedGit) ignores(name string, folder bool) (bool, error) {
	if g.ignored[name] {
		return true, nil
	}
	if !folder {
		return false, nil
	}
	if _, err := g.root.Lstat(path.Join(name, ".git")); err != nil {
		return false, nil //nolint:nilerr // no repository of its own, or one that can't be seen: the rules around it hold
	}
	_, err := g.list(name) // a repository within the repository, such as a submodule, has rules of its own
	if errors.Is(err, errNoRepository) {
		err = nil
	}
	return false, err
}
