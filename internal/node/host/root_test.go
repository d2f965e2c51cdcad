package host

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestRootIsClosed: a root that was created open is closed, with a warning in the log. One with files that are not
// Tend's is not touched.
func TestRootIsClosed(t *testing.T) {
	for name, tc := range map[string]struct {
		reason  string
		mode    fs.FileMode
		file    string // in it before
		runtime string
		want    fs.FileMode
		says    string
		refused string
	}{
		"made by hand": {"mkdir leaves it open", 0o755, "", runtimeDocker, 0o700, "was=0755 is=0700", ""},
		"used":         {"an older start left it open", 0o750, "node", runtimeDocker, 0o700, "was=0750 is=0700", ""},
		"closed":       {"nothing to say", 0o700, "node", runtimeDocker, 0o700, "", ""},
		"others'": {"a home, or /tmp: closing it would harm", 0o755, "letters.txt", runtimeDocker, 0o755, "",
			"not Tend's: choose a folder of its own"},
		"plain ones": {"they pass through", 0o700, "node", runtimeProcess,
			map[bool]fs.FileMode{true: 0o711, false: 0o700}[os.Geteuid() == 0], "", ""},
	} {
		root := filepath.Join(t.TempDir(), "root")
		if err := os.Mkdir(root, 0o700); err != nil {
			t.Fatal(err)
		}
		if tc.file != "" {
			if err := os.WriteFile(filepath.Join(root, tc.file), []byte("n1"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chmod(root, tc.mode); err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		o := Options{Root: root, Data: filepath.Join(root, "state"), Runtime: tc.runtime,
			Logger: slog.New(slog.NewTextHandler(&log, nil))}
		_, err := o.Prepare()
		info, _ := os.Stat(root)
		if info.Mode().Perm() != tc.want || (tc.says == "") != (log.Len() == 0) || !strings.Contains(log.String(), tc.says) {
			t.Errorf("%s: %s: it is %04o, and the log says %q", name, tc.reason, info.Mode().Perm(), log.String())
		}
		if left, _ := os.ReadDir(root); tc.refused != "" && len(left) != 1 {
			t.Errorf("%s: refused, it left files: %v", name, left)
		}
		if (tc.refused == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), tc.refused) {
			t.Errorf("%s: %s: %v", name, tc.reason, err)
		}
	}
}

// TestARootInAProject: the project's .tend holds manifests, which git may track, and the files of `tend dev`.
func TestARootInAProject(t *testing.T) {
	root := filepath.Join(t.TempDir(), ".tend")
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "site.hcl"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	o := Options{Root: root, Data: filepath.Join(root, "state"), Runtime: runtimeDocker,
		Logger: slog.New(slog.DiscardHandler)}
	if _, err := o.Prepare(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(root)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("it is %v, %v; want 0700", info.Mode(), err)
	}
	for _, name := range append([]string{"syncs/web/token", "state/wal"}, append(slices.Clone(ours), "what.comes", "app.json", "site.hcl", "web.yaml")...) {
		at := filepath.Join(root, name)
		if _, err := os.Lstat(at); err == nil {
			continue
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o700), os.WriteFile(at, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := tracked(t, filepath.Dir(root)), ".tend/app.json .tend/site.hcl .tend/web.yaml"; got != want {
		t.Errorf("git takes %s, want %s", got, want)
	}

	const own = "/node\n" // of a person
	if err := os.WriteFile(filepath.Join(root, ".gitignore"), []byte(own), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := o.Prepare(); err != nil {
		t.Fatal(err)
	}
	if after, _ := os.ReadFile(filepath.Join(root, ".gitignore")); string(after) != own {
		t.Errorf("what a person wrote became %q", after)
	}
}

// tracked returns the files of a folder that git would add.
func tracked(t *testing.T, folder string) string {
	t.Helper()
	run := func(args ...string) string {
		command := exec.Command("git", args...)
		command.Dir, command.Env = folder, append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
		out, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	run("init", "-q")
	return strings.Join(strings.Fields(run("ls-files", "--others", "--exclude-standard")), " ")
}

func TestRememberedKeepsTheFirstAnswer(t *testing.T) {
	root := t.TempDir()
	for _, step := range []struct {
		reason, asked, fallback, want string
		refused                       bool
	}{
		{reason: "nothing asked: the fallback", fallback: "host-a", want: "host-a"},
		{reason: "a renamed host keeps its node", fallback: "host-b", want: "host-a"},
		{reason: "asking for the same is fine", asked: "host-a", want: "host-a"},
		{reason: "another one would orphan what runs", asked: "host-c", refused: true},
	} {
		got, err := remembered(root, "node", step.asked, step.fallback)
		if (err != nil) != step.refused || got != step.want {
			t.Errorf("%s: %q, %v", step.reason, got, err)
		}
	}
}

// TestTheNetworkStays: containers stay in the network that they were created in, so a root keeps the one it was first
// used with. A root of an earlier version has no record: what it is used with now is recorded.
func TestTheNetworkStays(t *testing.T) {
	type step struct {
		runtime, asked, want string
		private              bool
		refused              string
	}
	const other = "this root was first used with --network %s, not %s: leave --network out"
	for name, tc := range map[string]struct {
		reason string
		before map[string]string
		steps  []step
	}{
		"default": {"no flag, as nearly everywhere", nil, []step{{want: "tend0"}, {want: "tend0"},
			{asked: "tend0", want: "tend0"}, {asked: "blue", refused: fmt.Sprintf(other, "tend0", "blue")}, {want: "tend0"}}},
		"named": {"a flag that is forgotten once changes nothing", nil, []step{{asked: "blue", want: "blue"}, {want: "blue"},
			{asked: "tend0", refused: fmt.Sprintf(other, "blue", "tend0")}, {asked: "blue", want: "blue"}}},
		"earlier version": {"it has no record", map[string]string{"node": "n1", "runtime": "docker"},
			[]step{{asked: "blue", want: "blue"}, {want: "blue"}}},
		"private": {"tend dev goes on in the network that the root had before it was moved",
			map[string]string{"node": "n1", "runtime": "docker", "network": "tend-dev-0a0b0c0d"},
			[]step{{private: true, want: "tend-dev-0a0b0c0d"}, {want: "tend-dev-0a0b0c0d"}}},
		"processes": {"they have no network", nil, []step{{runtime: runtimeProcess, asked: "blue", want: "blue"},
			{runtime: runtimeProcess, asked: "green", want: "green"}}},
	} {
		t.Run(name, func(t *testing.T) {
			root := filepath.Join(t.TempDir(), "root")
			for file, content := range tc.before {
				at := filepath.Join(root, file)
				if err := errors.Join(os.MkdirAll(root, 0o700), os.WriteFile(at, []byte(content), 0o600)); err != nil {
					t.Fatal(err)
				}
			}
			for i, s := range tc.steps {
				o := Options{Root: root, Runtime: cmp.Or(s.runtime, runtimeDocker), Network: s.asked,
					Logger: slog.New(slog.DiscardHandler)}
				if s.private {
					if err := Private(t.Context(), &o); err != nil || !o.ownNetwork {
						t.Errorf("step %d: %v, own network: %v", i, err, o.ownNetwork)
					}
				}
				_, err := o.Prepare()
				if s.refused == "" && (err != nil || o.Network != s.want) {
					t.Errorf("step %d: %s: network %q, %v; want %q", i, tc.reason, o.Network, err, s.want)
				}
				if s.refused != "" && (err == nil || !strings.Contains(err.Error(), s.refused)) {
					t.Errorf("step %d: %s: %v; want %q", i, tc.reason, err, s.refused)
				}
			}
		})
	}
}
