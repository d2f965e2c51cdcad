package plugin

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// simple returns the files of a plugin that prints its version.
func simple(name, version string, more ...string) map[string]string {
	files := map[string]string{"plugin.yml": "name: " + name + "\nversion: " + version + "\n",
		"bin/say": script("echo " + version)}
	for i := 0; i+1 < len(more); i += 2 {
		files[more[i]] = more[i+1]
	}
	return files
}

// says returns the answer of an installed plugin.
func says(t *testing.T, r *Root, name string) string {
	t.Helper()
	answer, err := r.must(t, name).Dispatch(t.Context(), name, "say", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(answer.Message)
}

// left fails if the root holds anything besides plugins.
func left(t *testing.T, r *Root) {
	t.Helper()
	entries, _ := os.ReadDir(r.opts.Dir)
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), ".") {
			t.Errorf("%s is left behind", entry.Name())
		}
	}
}

func TestInstallFromFolder(t *testing.T) {
	r := open(t, nil)
	from := lay(t, t.TempDir(), simple("p", "1", ".git/config", "x", "notes/a", "b"))
	if err := os.Symlink("plugin.yml", filepath.Join(from, "link.yml")); err != nil {
		t.Fatal(err)
	}
	p, err := r.Install(t.Context(), Request{Source: from})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Installed{Source: from}, p.Installed); diff != "" || says(t, r, "p") != "1" {
		t.Errorf("installed: %s", diff)
	}
	if _, err := os.Stat(filepath.Join(p.Dir, ".git")); err == nil {
		t.Error(".git came along")
	}
	if to, err := os.Readlink(filepath.Join(p.Dir, "link.yml")); to != "plugin.yml" || err != nil {
		t.Errorf("the link leads to %q: %v", to, err)
	}
	lay(t, from, simple("p", "2"))
	if err := os.Remove(filepath.Join(from, "notes", "a")); err != nil {
		t.Fatal(err)
	}
	if p, err = r.Install(t.Context(), Request{Source: p.Installed.Source, Version: "2"}); err != nil ||
		says(t, r, "p") != "2" || p.Installed.Version != "2" {
		t.Errorf("installed again: %+v, %v", p, err)
	}
	if _, err := os.Stat(filepath.Join(p.Dir, "notes", "a")); err == nil {
		t.Error("a file of the old one is left")
	}
	left(t, r)
}

func TestInstallFromGit(t *testing.T) {
	r := open(t, nil)
	repo := lay(t, t.TempDir(), simple("p", "1.0"))
	git(t, repo, "init", "-q")
	git(t, repo, "add", ".")
	git(t, repo, "commit", "-qm", "one")
	git(t, repo, "tag", "v1.0")
	lay(t, repo, simple("p", "2.0"))
	git(t, repo, "commit", "-qam", "two")
	url := "file://" + repo
	for _, c := range []struct{ version, says string }{{"", "2.0"}, {"1.0", "1.0"}, {"latest", "2.0"}, {"v1.0", "1.0"}} {
		p, err := r.Install(t.Context(), Request{Source: url, Version: c.version})
		if err != nil || says(t, r, "p") != c.says || p.Installed != (Installed{Source: url, Version: c.version}) {
			t.Fatalf("version %q: %+v, %v", c.version, p, err)
		}
	}
	_, err := r.Install(t.Context(), Request{Source: url, Version: "9"})
	wantReason(t, err, Source, "git:")
	outside := lay(t, t.TempDir(), map[string]string{"mine": "x"})
	evil := lay(t, t.TempDir(), map[string]string{"plugin.yml": "name: evil\nversion: 1\n",
		"commands/say": script("echo 1")})
	if err := os.Symlink(outside, filepath.Join(evil, "bin")); err != nil {
		t.Fatal(err)
	}
	git(t, evil, "init", "-q")
	git(t, evil, "add", ".")
	git(t, evil, "commit", "-qm", "one")
	_, err = r.Install(t.Context(), Request{Source: "file://" + evil})
	wantReason(t, err, Source, "the link bin leads out of it")
	if info, err := os.Stat(filepath.Join(outside, "mine")); err != nil || info.Mode()&0o111 != 0 {
		t.Errorf("a file outside was changed: %v, %v", info, err)
	}
	ran := filepath.Join(t.TempDir(), "ran")
	for _, helper := range []string{"ext::sh -c 'touch " + ran + "'", "fd::17", "file://" + repo + "/../none"} {
		_, err = r.Install(t.Context(), Request{Source: helper})
		wantReason(t, err, Source, "git:")
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("a source ran a program of its choice")
	}
	_, err = r.Install(t.Context(), Request{Source: "--upload-pack=touch /tmp/x"})
	wantReason(t, err, Source, "it is not a source")
	if says(t, r, "p") != "1.0" {
		t.Error("an installation that failed changed the plugin")
	}
	left(t, r)
}

// packed returns a .tar.gz of entries: a name with > is a link, with / at its end a folder.
func packed(t *testing.T, entries ...[2]string) []byte {
	t.Helper()
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	w := tar.NewWriter(zip)
	for _, e := range entries {
		h := &tar.Header{Name: e[0], Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(e[1]))}
		if name, link := strings.CutSuffix(e[0], ">"); link {
			h.Name, h.Typeflag, h.Linkname, h.Size = name, tar.TypeSymlink, e[1], 0
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg {
			if _, err := w.Write([]byte(e[1])); err != nil {
				t.Fatal(err)
			}
		}
	}
	if w.Close() != nil || zip.Close() != nil {
		t.Fatal("pack")
	}
	return out.Bytes()
}

func TestInstallFromArchive(t *testing.T) {
	r := open(t, nil)
	yml, say := [2]string{"kv-1/plugin.yml", "version: 1\n"}, [2]string{"kv-1/bin/say", script("echo 1")}
	file := filepath.Join(t.TempDir(), "kv.tar.gz")
	for name, c := range map[string]struct {
		archive []byte
		part    string
	}{
		"one folder": {packed(t, yml, say), ""},
		"dotted":     {packed(t, [2]string{"./plugin.yml", "name: kv-1\n"}, [2]string{"./bin/say", script("echo 1")}), ""},
		"parent":     {packed(t, yml, say, [2]string{"../../evil", "x"}), "leads out of the tree"},
		"absolute":   {packed(t, yml, say, [2]string{"/etc/evil", "x"}), "leads out of the tree"},
		"link out":   {packed(t, yml, say, [2]string{"kv-1/l>", "/etc"}), "out of the tree"},
		"no archive": {[]byte("hello"), "not a .tar.gz"},
		"cut":        {packed(t, yml, say)[:60], "unexpected EOF"},
		"empty":      {packed(t), "offers no command"},
	} {
		lay(t, filepath.Dir(file), map[string]string{"kv.tar.gz": string(c.archive)})
		p, err := r.Install(t.Context(), Request{Source: file})
		if c.part != "" {
			wantReason(t, err, Source, c.part)
			continue
		}
		if err != nil || p.Name != "kv-1" || says(t, r, "kv-1") != "1" {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
	left(t, r)
	served := httptest.NewServer(http.FileServer(http.Dir(filepath.Dir(file))))
	defer served.Close()
	lay(t, filepath.Dir(file), map[string]string{"kv.tar.gz": string(packed(t, yml, say))})
	if p, err := r.Install(t.Context(), Request{Source: served.URL + "/kv.tar.gz"}); err != nil ||
		p.Installed.Source != served.URL+"/kv.tar.gz" {
		t.Errorf("from the web: %+v, %v", p, err)
	}
	_, err := r.Install(t.Context(), Request{Source: served.URL + "/none.tar.gz"})
	wantReason(t, err, Source, "404")
}

func TestInstallRefuses(t *testing.T) {
	r := open(t, map[string]string{"old/plugin.yml": "name: old\naliases: [o]\n", "old/bin/say*": script("echo old")})
	leading := lay(t, t.TempDir(), simple("p", "1"))
	if err := os.Symlink("../../etc", filepath.Join(leading, "out")); err != nil {
		t.Fatal(err)
	}
	detour := lay(t, t.TempDir(), simple("p", "1"))
	if err := errors.Join(os.Symlink(".", filepath.Join(detour, "here")),
		os.Symlink("here/..", filepath.Join(detour, "out"))); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		ask  Request
		want Reason
		part string
	}{
		"a detour":  {Request{Source: detour}, Source, "leads out of it"},
		"nothing":   {Request{}, Source, "not a source"},
		"not there": {Request{Source: "./nowhere"}, Source, "no such file"},
		"another":   {Request{Source: lay(t, t.TempDir(), simple("p", "1")), Name: "q"}, Source, "plugin p, not q"},
		"other version": {Request{Source: lay(t, t.TempDir(), simple("p", "1")), Version: "2"}, Source,
			`version "1", not 2`},
		"damaged": {Request{Source: lay(t, t.TempDir(), map[string]string{"plugin.yml": "name: ["})},
			Source, "plugin.yml"},
		"no name": {Request{Source: lay(t, t.TempDir(), map[string]string{"plugin.yml": "name: A B\n"})},
			Source, "is named with"},
		"no commands": {Request{Source: lay(t, t.TempDir(), map[string]string{"plugin.yml": "name: p\n"})}, Source,
			"offers no command"},
		"link out": {Request{Source: leading}, Source, "leads out of it"},
		"alias is taken": {Request{Source: lay(t, t.TempDir(),
			map[string]string{"plugin.yml": "name: p\naliases: [o]\n", "bin/say": ""})}, Taken, "old answers to o"},
		"name is taken": {Request{Source: lay(t, t.TempDir(), simple("o", "1"))}, Taken, "old answers to o"},
		"alias is name": {Request{Source: lay(t, t.TempDir(),
			map[string]string{"plugin.yml": "name: p\naliases: [old]\n", "bin/say": ""})}, Taken, "old answers to old"},
	} {
		_, err := r.Install(t.Context(), c.ask)
		if wantReason(t, err, c.want, c.part); t.Failed() {
			t.Fatal(name)
		}
	}
	if listed, _ := r.List(); len(listed) != 1 {
		t.Errorf("something was installed: %v", folders(listed))
	}
	left(t, r)
}

// A failing hook restores the earlier installation, and a hook runs in the plugin's final folder.
func TestHooks(t *testing.T) {
	r := open(t, nil)
	good := lay(t, t.TempDir(), simple("p", "1", "install", script(`echo "$1 $HOME $TMPDIR $PWD" > hooked`), "uninstall",
		script(`echo bye > "$VOODU_ROOT/bye"; exit 3`)))
	p, err := r.Install(t.Context(), Request{Source: good})
	if err != nil {
		t.Fatal(err)
	}
	hooked, _ := os.ReadFile(filepath.Join(p.Dir, "hooked"))
	if want := strings.Join([]string{"p", p.Dir, p.Dir, p.Dir}, " "); strings.TrimSpace(string(hooked)) != want {
		t.Errorf("the hook saw %q, want %q", hooked, want)
	}
	_, err = r.Install(t.Context(),
		Request{Source: lay(t, t.TempDir(), simple("p", "2", "install", script("echo no network >&2; exit 1")))})
	wantReason(t, err, Failed, "no network")
	if says(t, r, "p") != "1" {
		t.Error("the plugin that worked is gone")
	}
	_, err = r.Install(t.Context(), Request{Source: lay(t, t.TempDir(), simple("q", "1", "install", script("exit 1")))})
	wantReason(t, err, Failed, "ended with 1")
	_, err = r.Find("q")
	wantReason(t, err, NotFound, "q")
	left(t, r)
	warning, err := r.Remove(t.Context(), "p")
	if err != nil || !strings.Contains(warning, "ended with 3") {
		t.Errorf("removed with %q, %v", warning, err)
	}
	if _, err := os.Stat(filepath.Join(r.opts.Dir, "bye")); err != nil {
		t.Error("the uninstall hook did not run")
	}
	_, err = r.Remove(t.Context(), "p")
	wantReason(t, err, NotFound, "p")
	left(t, r)
}

// A crash leaves a folder that is being fetched, or one whose new version's hook did not end: the next start repairs
// that.
func TestCrashes(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"while it was fetched": {map[string]string{"p/bin/say*": script("echo old"), ".stage-1/.files/bin/say*": ""},
			"old"},
		"between two renames": {map[string]string{".old-p/bin/say*": script("echo old"),
			".stage-1/p/bin/say*": script("echo new")}, "old"},
		"while the hook ran": {map[string]string{".old-p/bin/say*": script("echo old"),
			"p/bin/say*": script("echo new"), "p/" + installedBy: `{"pending":"x"}`}, "old"},
		"after the hook": {map[string]string{".old-p/bin/say*": script("echo old"),
			"p/bin/say*": script("echo new"), "p/" + installedBy: `{"source":"x"}`}, "new"},
		"after the hook of the first": {map[string]string{"p/bin/say*": script("echo new"), "p/" +
			installedBy: `{"source":"x"}`}, "new"},
		"while it was discarded": {map[string]string{".stage-1/.files/plugin.yml": "", "p/bin/say*": script("echo new")},
			"new"},
	} {
		r := open(t, c.files)
		if got := says(t, r, "p"); got != c.want {
			t.Errorf("%s: it says %s, want %s", name, got, c.want)
		}
		left(t, r)
	}
}

// A crash in the first hook of a new plugin leaves no plugin: it was never installed.
func TestCrashInTheFirstHook(t *testing.T) {
	r := open(t, map[string]string{"p/bin/say*": script("echo half"), "p/" + installedBy: `{"pending":"x"}`,
		"q/bin/say*": script("echo other")})
	_, err := r.Find("p")
	wantReason(t, err, NotFound, "p")
	if got := says(t, r, "q"); got != "other" {
		t.Errorf("another plugin says %q", got)
	}
	left(t, r)
}
