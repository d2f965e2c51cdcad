package tree

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// git runs git in a folder, with nobody's configuration.
func git(t testing.TB, folder string, args ...string) {
	t.Helper()
	command := exec.Command("git", args...)
	command.Dir = folder
	command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// packedFiles returns the files of a folder that are packed.
func packedFiles(t testing.TB, root string) string {
	t.Helper()
	_, packed := pack(t, root, PackOptions{})
	return strings.Join(slices.DeleteFunc(names(t, packed),
		func(name string) bool { return strings.HasSuffix(name, "/") }), " ")
}

// What git ignores is packed neither from a work tree nor from a folder that only has its .gitignore files.
func TestWhatGitIgnoresIsNotPacked(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		files  map[string]string
		want   string
	}{
		"by its name": {"a pattern without a slash counts at any depth",
			map[string]string{".gitignore": ".env\n*.pem\n", "services/api/.env": "", ".env": "", "certs/dev/server.pem": "",
				"certs/ca.txt": ""}, "certs/ca.txt"},
		"nested": {"each folder may have its own",
			map[string]string{"services/.gitignore": ".env\n/local\n", "services/api/.env": "", "services/local": "",
				"services/api/local": "", ".env": ""},
			".env services/.gitignore services/api/local"},
		"negated": {"the last line that matches wins, and the deepest file",
			map[string]string{".gitignore": "*.pem\n!public.pem\n", "a/server.pem": "", "a/public.pem": "",
				"b/.gitignore": "public.pem\n!server.pem", "b/server.pem": "", "b/public.pem": ""},
			"a/public.pem b/.gitignore b/server.pem"},
		"in an ignored folder": {"nothing comes back from there",
			map[string]string{".gitignore": "secrets/\n!secrets/keep.txt\n", "secrets/keep.txt": "", "a/secrets/key": "",
				"b/secrets": ""}, "b/secrets"},
		"all but some of a folder": {"its entries are ignored, not the folder",
			map[string]string{".gitignore": "/secrets/*\n!/secrets/keep.txt\n", "secrets/keep.txt": "", "secrets/key": ""},
			"secrets/keep.txt"},
		"with a slash": {"it is about the folder of the file",
			map[string]string{".gitignore": "config/local.yml\n**/tmp/x\n", "config/local.yml": "", "a/config/local.yml": "",
				"a/tmp/x": "", "tmp/x": "", "tmp/y": ""},
			"a/config/local.yml tmp/y"},
		"the state of tend dev": {"its keys are part of no image, wherever it lies",
			map[string]string{".gitignore": "!.tend\n", ".tend/secret.key": "", "web/.tend/token": "", "mine/secret.key": "",
				"mine/node": "", "other/secret.key": ""}, "other/secret.key"},
	} {
		t.Setenv("GIT_CONFIG_GLOBAL", "/dev/null")
		root := folder(t, tc.files)
		if got := packedFiles(t, root); got != tc.want {
			t.Errorf("%s, no repository: %s:\n got %s\nwant %s", name, tc.reason, got, tc.want)
		}
		git(t, root, "init", "-q")
		if got := packedFiles(t, root); got != tc.want {
			t.Errorf("%s, a repository: %s:\n got %s\nwant %s", name, tc.reason, got, tc.want)
		}
	}
}

// In a work tree, git's other rules count too: tracked files, the excludes of the repository and of the user,
// repositories within it and around it.
func TestGitIsAsked(t *testing.T) {
	home := folder(t, map[string]string{"ignore": "*.swp\n"})
	config := filepath.Join(home, "config")
	if err := os.WriteFile(config,
		[]byte("[core]\n\texcludesFile = "+filepath.Join(home, "ignore")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GIT_CONFIG_GLOBAL", config)
	t.Setenv("GIT_DIR", "/nowhere") // as in a hook
	root := folder(t, map[string]string{
		".gitignore": "dist/\n", "dist/tracked.js": "", "dist/built.js": "", "main.go": "",
		"main.go.swp": "", "notes.txt": "",
		"sub/.gitignore": "*.tmp\n", "sub/a.tmp": "", "sub/b.go": "", "c.tmp": "", "app/.env": "", "app/main.go": "",
	})
	git(t, root, "--git-dir=.git", "--work-tree=.", "init", "-q")
	git(t, filepath.Join(root, "sub"), "--git-dir=.git", "--work-tree=.", "init", "-q")
	git(t, root, "--git-dir=.git", "--work-tree=.", "add", "-f", "dist/tracked.js")
	if err := os.WriteFile(filepath.Join(root, ".git/info/exclude"), []byte("notes.txt\n.env\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, want := packedFiles(t, root),
		"app/main.go c.tmp dist/tracked.js main.go sub/.gitignore sub/b.go"; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if got := packedFiles(t, filepath.Join(root, "app")); got != "main.go" {
		t.Errorf("of a folder in the repository: %s", got)
	}
	around := folder(t, map[string]string{".gitignore": "*\n", "project/main.go": "",
		"project/.gitignore": ".env\n", "project/.env": ""})
	git(t, around, "--git-dir=.git", "--work-tree=.", "init", "-q")
	if got := packedFiles(t, filepath.Join(around, "project")); got != "main.go" {
		t.Errorf("of a folder that the repository around it ignores: %s", got)
	}
}

// A repository can't have git run a program.
func TestARepositoryRunsNothing(t *testing.T) {
	t.Setenv("GIT_CONFIG_GLOBAL", "/dev/null")
	root := folder(t, map[string]string{"main.go": "", "evil": "#!/bin/sh\ntouch ran\n"})
	git(t, root, "init", "-q")
	git(t, root, "add", "main.go")
	git(t, root, "config", "core.fsmonitor", "./evil")
	if got := packedFiles(t, root); got != "evil* main.go" {
		t.Errorf("packed: %s", got)
	}
	if _, err := os.Stat(filepath.Join(root, "ran")); err == nil {
		t.Error("git ran the repository's program")
	}
}

// A pattern that can't be read is refused with its place, since it may be about a secret.
func TestPatternsThatAreRefused(t *testing.T) {
	for _, pattern := range []string{"[a-", "x[[:digit:]]"} {
		_, err := Pack(t.Context(), folder(t, map[string]string{"a/.gitignore": "ok\n" + pattern + "\n"}),
			&bytes.Buffer{}, PackOptions{})
		if err == nil || !strings.Contains(err.Error(), "a/.gitignore:2: ") {
			t.Errorf("%s: %v", pattern, err)
		}
	}
}

// readRules agrees with git for any files and any patterns.
func TestReadRulesAreGits(t *testing.T) {
	t.Setenv("GIT_CONFIG_GLOBAL", "/dev/null")
	paths := []string{"a", "b.x", "d/a", "d/b.x", "d/e/a", "d/e/b.x", "e/d/a", "e/b.y", "f/e/d/b.x"}
	segment := rapid.SampledFrom([]string{"a", "b.x", "*.x", "b.*", "d", "e", "*", "?", "[!a]*", "**", `\a`})
	pattern := rapid.Custom(func(t *rapid.T) string {
		text := strings.Join(rapid.SliceOfN(segment, 1, 3).Draw(t, "segments"), "/")
		return rapid.SampledFrom([]string{"", "!"}).Draw(t,
			"not") + rapid.SampledFrom([]string{"", "/"}).Draw(t, "anchored") + text +
			rapid.SampledFrom([]string{"", "/", " ", "\r"}).Draw(t, "end")
	})
	lines := rapid.SliceOfN(pattern, 0, 4)
	rapid.Check(t, func(rt *rapid.T) {
		files := map[string]string{}
		for _, at := range paths {
			if rapid.Bool().Draw(rt, at) {
				files[at] = ""
			}
		}
		for _, at := range []string{".gitignore", "d/.gitignore", "d/e/.gitignore"} {
			files[at] = strings.Join(lines.Draw(rt, at), "\n")
		}
		root := folder(t, files)
		read := packedFiles(t, root)
		git(t, root, "init", "-q")
		if asked := packedFiles(t, root); asked != read {
			rt.Fatalf("of %q\n read %s\nasked %s", files, read, asked)
		}
	})
}
