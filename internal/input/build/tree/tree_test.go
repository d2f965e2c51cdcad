package tree

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// folder makes a folder of files; a name that ends in / is a folder, a content that begins with -> is a link, and one
// that begins with #! can be run.
func folder(t testing.TB, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		at := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		target, link := strings.CutPrefix(content, "->")
		switch {
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(at, 0o755)
		case link:
			err = os.Symlink(target, at)
		case strings.HasPrefix(content, "#!"):
			err = os.WriteFile(at, []byte(content), 0o700)
		default:
			err = os.WriteFile(at, []byte(content), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func pack(t testing.TB, root string, opts PackOptions) (Packed, []byte) {
	t.Helper()
	var out bytes.Buffer
	packed, err := Pack(context.Background(), root, &out, opts)
	if err != nil {
		t.Fatal(err)
	}
	return packed, out.Bytes()
}

// names returns a tar's entries, with a link's target and a mode that can be run.
func names(t testing.TB, packed []byte) []string {
	t.Helper()
	var out []string
	for reader := tar.NewReader(bytes.NewReader(packed)); ; {
		entry, err := reader.Next()
		if err != nil {
			return out
		}
		name := entry.Name
		if entry.Linkname != "" {
			name += "->" + entry.Linkname
		}
		if entry.Typeflag == tar.TypeReg && entry.Mode == 0o755 {
			name += "*"
		}
		if !entry.ModTime.Equal(time.Unix(0, 0)) || entry.Uid != 0 || entry.Uname != "" {
			t.Errorf("%s carries a time or an owner", name)
		}
		out = append(out, name)
	}
}

func TestTheSameContentIsTheSameTree(t *testing.T) {
	files := map[string]string{"main.go": "package main", "run.sh": "#!/bin/sh", "a/b/c.txt": "c",
		"empty/": "", "l": "->a/b"}
	one, first := pack(t, folder(t, files), PackOptions{})
	elsewhere := folder(t, files)
	if err := os.Chtimes(filepath.Join(elsewhere, "main.go"), time.Unix(1, 0), time.Unix(2, 0)); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(elsewhere, "main.go"), 0o640); err != nil {
		t.Fatal(err)
	}
	other, second := pack(t, elsewhere, PackOptions{})
	if one.Digest != other.Digest || !bytes.Equal(first, second) {
		t.Errorf("%s and %s", one.Digest, other.Digest)
	}
	want := []string{"a/", "a/b/", "a/b/c.txt", "empty/", "l->a/b", "main.go", "run.sh*"}
	if got := names(t, first); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	if want := fmt.Sprintf("sha256:%x", sha256.Sum256(first)); one.Files != 3 || one.Digest != want {
		t.Errorf("%+v", one)
	}
	for name, content := range map[string]string{"main.go": "package main\n", "run.sh": "not to be run", "l": "->a"} {
		changed := map[string]string{}
		for k, v := range files {
			changed[k] = v
		}
		changed[name] = content
		if next, _ := pack(t, folder(t, changed), PackOptions{}); next.Digest == one.Digest {
			t.Errorf("a change of %s changed nothing", name)
		}
	}
}

func TestWhatIsIgnored(t *testing.T) {
	files := map[string]string{
		"main.go": "", ".git/HEAD": "", "web/node_modules/x.js": "", "node_modules/y.js": "",
		".DS_Store": "", "debug.log": "",
		"logs/a.log": "", "logs/keep.log": "", "secret/key": "", "Dockerfile": "", "deploy/Dockerfile": "",
	}
	for name, test := range map[string]struct {
		more map[string]string
		keep []string
		want string
	}{
		"by itself": {nil, nil,
			"Dockerfile debug.log deploy/ deploy/Dockerfile logs/ logs/a.log logs/keep.log main.go secret/ secret/key web/"},
		".gitignore": {map[string]string{".gitignore": "*.log\n/secret\n"}, nil,
			"Dockerfile deploy/ deploy/Dockerfile logs/ main.go web/"},
		".dockerignore": {map[string]string{".dockerignore": "**/*.log\n!logs/keep.log\nsecret\n# a comment\n",
			".gitignore": "main.go"}, nil,
			".dockerignore Dockerfile deploy/ deploy/Dockerfile logs/ logs/keep.log main.go web/"},
		"all but one": {map[string]string{".dockerignore": "*\n!main.go\n"}, []string{"deploy/Dockerfile"},
			"deploy/Dockerfile main.go"},
		"taken back in": {map[string]string{".dockerignore": "!node_modules\nlogs\nsecret\n*.log\ndeploy\nweb"}, nil,
			".dockerignore Dockerfile main.go node_modules/ node_modules/y.js"},
	} {
		all := map[string]string{}
		for _, set := range []map[string]string{files, test.more} {
			for k, v := range set {
				all[k] = v
			}
		}
		_, packed := pack(t, folder(t, all), PackOptions{Keep: test.keep})
		if got := strings.Join(names(t, packed), " "); got != test.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, test.want)
		}
	}
}

func TestPackRefuses(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"a link to a parent": {"a/l": "->../../x"},
		"a link to a path":   {"l": "->/etc/passwd"},
		"a broken pattern":   {".dockerignore": "[a-"},
		"a backslash":        {`a\b`: ""}, // Pack refuses what Unpack would refuse
		"too deep":           {strings.Repeat("d/", 64) + "f": ""},
		"too long":           {strings.Repeat(strings.Repeat("d", 200)+"/", 6) + "f": ""},
	} {
		if _, err := Pack(t.Context(), folder(t, files), &bytes.Buffer{}, PackOptions{}); err == nil {
			t.Errorf("%s is packed", name)
		}
	}
	var large *TooLargeError
	_, err := Pack(t.Context(), folder(t, map[string]string{"a": "12345", "b": "12345"}), &bytes.Buffer{},
		PackOptions{MaxBytes: 9})
	if !errors.As(err, &large) || large.File != "b" {
		t.Errorf("%v", err)
	}
	ignored := folder(t, map[string]string{`a\b`: "", ".dockerignore": "a*"})
	if _, err := Pack(t.Context(), ignored, &bytes.Buffer{}, PackOptions{}); err != nil {
		t.Errorf("a name that is ignored is refused: %v", err)
	}
	if _, err := Pack(t.Context(), filepath.Join(t.TempDir(), "none"), &bytes.Buffer{},
		PackOptions{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

// TestUnreadable: the error of an unreadable file has a next step. The test checks only the text, because root can read
// every file.
func TestUnreadable(t *testing.T) {
	refused := &fs.PathError{Op: "openat", Path: "a", Err: fs.ErrPermission}
	if err := unreadable("a", refused); !errors.Is(err, fs.ErrPermission) ||
		!strings.Contains(err.Error(), ".dockerignore") {
		t.Errorf("%v", err)
	}
	if err := unreadable("a", fs.ErrNotExist); strings.Contains(err.Error(), ".dockerignore") {
		t.Errorf("%v", err)
	}
}

func TestSocketsAreLeftOut(t *testing.T) {
	root, err := os.MkdirTemp("", "tree") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(root)
	listener, err := net.Listen("unix", filepath.Join(root, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if _, packed := pack(t, root, PackOptions{}); len(names(t, packed)) != 0 {
		t.Error("a socket is packed")
	}
}

// TestRoundTrip: a packed tree unpacks to a tree that packs to the same tar.
func TestRoundTrip(t *testing.T) {
	root := folder(t, map[string]string{
		"main.go": "package main", "run.sh": "#!/bin/sh", strings.Repeat("long/", 30) + "name.txt": "deep", "e/": "",
		"l": "->run.sh", "a/up": "->../main.go",
	})
	one, packed := pack(t, root, PackOptions{})
	to := t.TempDir()
	if err := Unpack(t.Context(), bytes.NewReader(packed), to, Limits{}); err != nil {
		t.Fatal(err)
	}
	if again, _ := pack(t, to, PackOptions{}); again.Digest != one.Digest {
		t.Error("it unpacks to something else")
	}
}

type entry struct {
	name, link string
	kind       byte
	content    string
}

func tarOf(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var out bytes.Buffer
	writer := tar.NewWriter(&out)
	for _, e := range entries {
		if e.kind == 0 {
			e.kind = tar.TypeReg
		}
		h := &tar.Header{Name: e.name, Linkname: e.link, Typeflag: e.kind, Size: int64(len(e.content)), Mode: 0o777}
		if err := writer.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := writer.Write([]byte(e.content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestUnpackRefuses(t *testing.T) {
	for name, entries := range map[string][]entry{
		"an absolute name":        {{name: "/etc/x"}},
		"a parent folder":         {{name: "../x"}},
		"a parent folder within":  {{name: "a/../../x"}},
		"a name that isn't clean": {{name: "a//b"}},
		"a backslash":             {{name: `a\..\b`}},
		"a link to a path":        {{name: "l", link: "/etc", kind: tar.TypeSymlink}},
		"a link to a parent":      {{name: "a/l", link: "../..", kind: tar.TypeSymlink}},
		"a file through a link": {{name: "d", kind: tar.TypeDir},
			{name: "d/l", link: "..", kind: tar.TypeSymlink}, {name: "d/l/d/l/x"}, {name: "d/l/x/../../y"}},
		"a chain of links": {{name: "a", kind: tar.TypeDir},
			{name: "a/b", link: "..", kind: tar.TypeSymlink}, {name: "c", link: "a/b/..", kind: tar.TypeSymlink}, {name: "c/x"}},
		"a hard link to what comes later": {{name: "h", link: "x", kind: tar.TypeLink}, {name: "x", content: "1"}},
		"a hard link to a folder":         {{name: "d", kind: tar.TypeDir}, {name: "h", link: "d", kind: tar.TypeLink}},
		"a hard link to a link": {{name: "x"}, {name: "l", link: "x", kind: tar.TypeSymlink},
			{name: "h", link: "l", kind: tar.TypeLink}},
		"a hard link out of the tree": {{name: "h", link: "../x", kind: tar.TypeLink}},
		"hard links that make much of little": {{name: "x", content: strings.Repeat("x", 600)},
			{name: "h", link: "x", kind: tar.TypeLink}},
		"a device":            {{name: "null", kind: tar.TypeChar}},
		"a pipe":              {{name: "p", kind: tar.TypeFifo}},
		"the same name twice": {{name: "x"}, {name: "x"}},
		"a file over a link":  {{name: "l", link: "x", kind: tar.TypeSymlink}, {name: "l"}},
		"a file in a file":    {{name: "x"}, {name: "x/y"}},
		"too deep":            {{name: strings.Repeat("a/", 70) + "x"}},
		"too large": {{name: "x", content: strings.Repeat("x", 600)},
			{name: "y", content: strings.Repeat("x", 600)}},
		"too many":         many(11),
		"too many folders": {{name: "a/b/c/d/e/x"}, {name: "f/g/h/i/j/x"}},
	} {
		outside := t.TempDir()
		to := filepath.Join(outside, "in")
		if err := os.Mkdir(to, 0o755); err != nil {
			t.Fatal(err)
		}
		err := Unpack(t.Context(), bytes.NewReader(tarOf(t, entries...)), to, Limits{Bytes: 1000, Entries: 10})
		if err == nil {
			t.Errorf("%s is unpacked", name)
		}
		if left, _ := os.ReadDir(outside); len(left) != 1 {
			t.Errorf("%s left something outside: %v", name, left)
		}
	}
}

// TestAFileWithTwoNames, as GNU tar packs it, is a file under each of them, and the tree is that of two equal files.
func TestAFileWithTwoNames(t *testing.T) {
	folder := t.TempDir()
	packed := tarOf(t, entry{name: "./x", content: "1"}, entry{name: "./d/h", link: "./x", kind: tar.TypeLink},
		entry{name: "g", link: "d/h", kind: tar.TypeLink})
	if err := Unpack(t.Context(), bytes.NewReader(packed), folder, Limits{}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"x", "d/h", "g"} {
		file := filepath.Join(folder, name)
		text, err := os.ReadFile(file)
		about, _ := os.Stat(file)
		if err != nil || string(text) != "1" || about.Mode().Perm()&0o111 == 0 {
			t.Errorf("%s: %q, %v, %v", name, text, about, err)
		}
	}
	if err := os.WriteFile(filepath.Join(folder, "g"), []byte("2"), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, _ := os.ReadFile(filepath.Join(folder, "x")); string(text) != "1" {
		t.Errorf("a write to one is a write to all: %s", text)
	}
}

// TestACutOffTreeIsNone: where it ends between two entries too.
func TestACutOffTreeIsNone(t *testing.T) {
	whole := tarOf(t, entry{name: "a", content: "x"}, entry{name: "b", content: "y"})
	for at := range whole {
		err := Unpack(t.Context(), bytes.NewReader(whole[:at]), t.TempDir(), Limits{})
		if has := at == 0 || at == 5*512; has != (err == nil) { // two blocks an entry, and the one that ends it
			t.Fatalf("cut off after %d bytes: %v", at, err)
		}
	}
}

func many(n int) (out []entry) {
	for i := range n {
		out = append(out, entry{name: fmt.Sprintf("f%d", i)})
	}
	return out
}
