package tree

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The bounds that hostile trees are unpacked under.
var narrow = Limits{Bytes: 1 << 16, Entries: 100}

// nest returns an empty folder within another one that is otherwise empty.
func nest(t *testing.T) (outside, inside string) {
	t.Helper()
	outside = t.TempDir()
	inside = filepath.Join(outside, "in")
	if err := os.Mkdir(inside, 0o755); err != nil {
		t.Fatal(err)
	}
	return outside, inside
}

// wantTame checks the result of a tar, accepted or refused: nothing outside of the folder, and in it only files without
// special bits, folders, and links that stay inside, within the limits.
func wantTame(t *testing.T, outside string) {
	t.Helper()
	if left, _ := os.ReadDir(outside); len(left) != 1 {
		t.Fatalf("left outside: %v", left)
	}
	inside := filepath.Join(outside, "in")
	entries, bytes := -1, int64(0) // the folder itself doesn't count
	err := filepath.WalkDir(inside, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		entries++
		switch mode := info.Mode(); {
		case mode.IsDir():
		case mode == 0o644 || mode == 0o755:
			bytes += info.Size()
		case mode.Type() == fs.ModeSymlink:
			target, _ := os.Readlink(name)
			at, _ := filepath.Rel(inside, name)
			if !staysInside(filepath.ToSlash(at), target) {
				t.Errorf("%q leads to %q", name, target)
			}
		default:
			t.Errorf("%q is %s", name, mode)
		}
		return nil
	})
	if err != nil || entries > narrow.Entries || bytes > narrow.Bytes {
		t.Fatalf("%d entries of %d bytes, %v", entries, bytes, err)
	}
}

// block returns a header as a hand would write it: tar.Writer refuses to.
func block(name string, kind byte, size string, content string) []byte {
	raw := make([]byte, 512)
	copy(raw, name)
	copy(raw[100:], "0000644\x000000000\x000000000\x00")
	copy(raw[124:], size)
	copy(raw[136:], "00000000000\x00        ")
	raw[156] = kind
	copy(raw[257:], "ustar\x0000")
	sum := 0
	for _, b := range raw {
		sum += int(b)
	}
	copy(raw[148:], fmt.Sprintf("%06o\x00 ", sum))
	raw = append(raw, content...)
	return append(raw, make([]byte, (512-len(content)%512)%512)...)
}

// pax returns a header with further attributes of the next entry.
func pax(records ...string) []byte {
	text := ""
	for _, record := range records {
		n := len(record) + 3
		for len(fmt.Sprintf("%d %s\n", n, record)) != n {
			n++
		}
		text += fmt.Sprintf("%d %s\n", n, record)
	}
	return block("pax", tar.TypeXHeader, fmt.Sprintf("%011o\x00", len(text)), text)
}

func join(blocks ...[]byte) []byte { return append(bytes.Join(blocks, nil), make([]byte, 1024)...) }

// hostile are tars that no honest client sends; those whose name begins with "tame" are accepted.
func hostile(t testing.TB) map[string][]byte {
	size := fmt.Sprintf("%011o\x00", 1)
	return map[string][]byte{
		"a size beyond all disks": join(pax("size=9223372036854775807"), block("x", tar.TypeReg, size, "x")),
		"a negative size":         join(pax("size=-1"), block("x", tar.TypeReg, size, "x")),
		"a size in base 256": join(block("x", tar.TypeReg,
			"\x80\x00\x00\x00\x7f\xff\xff\xff\xff\xff\xff\xff", "x")),
		"a pax header without end":     block("pax", tar.TypeXHeader, "77777777777\x00", strings.Repeat("x", 600)),
		"a name of pax that leads out": join(pax("path=../x"), block("x", tar.TypeReg, size, "x")),
		"a link of pax that leads out": join(pax("linkpath=/etc/passwd"), block("x", tar.TypeSymlink, "0", "")),
		"a sparse file of all disks": join(pax("GNU.sparse.major=1", "GNU.sparse.minor=0", "GNU.sparse.name=x",
			"GNU.sparse.realsize=1099511627776"), block("x", tar.TypeReg, fmt.Sprintf("%011o\x00", 512), "1\n0\n0\n")),
		"a sparse file of the old kind": join(block("x", tar.TypeGNUSparse, size, "x")),
		"a hard link to outside":        tarOf(t, entry{name: "h", link: "../../etc/passwd", kind: tar.TypeLink}),
		"a file, then a folder of it":   tarOf(t, entry{name: "x"}, entry{name: "x/", kind: tar.TypeDir}),
		"a folder, then a file of it":   tarOf(t, entry{name: "x/", kind: tar.TypeDir}, entry{name: "x"}),
		"a folder over a link": tarOf(t, entry{name: "l", link: "d", kind: tar.TypeSymlink},
			entry{name: "l/", kind: tar.TypeDir}),
		"a link over a folder":          tarOf(t, entry{name: "d/f"}, entry{name: "d", link: ".", kind: tar.TypeSymlink}),
		"a link to itself, and through": tarOf(t, entry{name: "l", link: "l", kind: tar.TypeSymlink}, entry{name: "l/x"}),
		"a block device":                tarOf(t, entry{name: "sda", kind: tar.TypeBlock}),
		"an unknown type":               join(block("x", 'Z', size, "x")),
		"tame: a name of bytes":         tarOf(t, entry{name: "\xff\xfe"}),
		"a checksum that lies":          append(block("x", tar.TypeReg, size, "x")[:100], make([]byte, 2000)...),
		"tame: new lines in names":      tarOf(t, entry{name: "a\nb/c\r\n", content: "x"}, entry{name: "\x1b[2J"}),
		"tame: names that look alike": tarOf(t, entry{name: "A"}, entry{name: "a"}, entry{name: "\u00e4"},
			entry{name: "a\u0308"}),
		"tame: a link within": tarOf(t, entry{name: "d/f"},
			entry{name: "l", link: "d", kind: tar.TypeSymlink}, entry{name: "l/g"}),
		"tame: set-user-id": setuid(t),
	}
}

func setuid(t testing.TB) []byte {
	var out bytes.Buffer
	writer := tar.NewWriter(&out)
	for _, h := range []tar.Header{
		{Name: "s", Typeflag: tar.TypeReg, Mode: 0o7777, Uid: 4711, Uname: "root",
			PAXRecords: map[string]string{"SCHILY.xattr.security.capability": "x"}},
		{Name: "d/", Typeflag: tar.TypeDir, Mode: 0o6000},
		{Name: "d/f", Typeflag: tar.TypeReg, Mode: 0},
	} {
		if err := writer.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestHostileTrees(t *testing.T) {
	for name, packed := range hostile(t) {
		outside, inside := nest(t)
		err := Unpack(t.Context(), bytes.NewReader(packed), inside, narrow)
		if tame := strings.HasPrefix(name, "tame"); tame != (err == nil) {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil && strings.ContainsAny(err.Error(), "\n\x1b") {
			t.Errorf("%s: the error isn't fit for a terminal: %q", name, err)
		}
		wantTame(t, outside)
	}
}

// FuzzUnpack: for any bytes, the result is tame, and an accepted tree packs again to a tar that unpacks to the same.
func FuzzUnpack(f *testing.F) {
	f.Add(tarOf(f, entry{name: "a/b", content: "x"},
		entry{name: "l", link: "a", kind: tar.TypeSymlink}, entry{name: "l/c"}))
	f.Add([]byte("not a tar"))
	for _, packed := range hostile(f) {
		f.Add(packed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		outside, inside := nest(t)
		err := Unpack(t.Context(), bytes.NewReader(data), inside, narrow)
		wantTame(t, outside)
		if err != nil {
			return
		}
		var packed bytes.Buffer
		one, err := Pack(t.Context(), inside, &packed, PackOptions{})
		if err != nil {
			return // it may hold an .dockerignore that can't be read
		}
		_, inside = nest(t)
		if err := Unpack(t.Context(), &packed, inside, Limits{}); err != nil {
			t.Fatalf("what was packed is refused: %v", err)
		}
		if again, err := Pack(t.Context(), inside, io.Discard, PackOptions{}); err == nil && again.Digest != one.Digest {
			t.Fatal("it packs to something else")
		}
	})
}

// FuzzReceive: for any bytes, compressed or not, the result is tame.
func FuzzReceive(f *testing.F) {
	plain := tarOf(f, entry{name: "a/b", content: "x"})
	f.Add(plain)
	f.Add(zipped(f, bytes.NewReader(plain)))
	f.Add(zipped(f, io.LimitReader(nothing{}, 1<<20)))
	f.Add([]byte{0x1f, 0x8b})
	f.Add(append(zipped(f, bytes.NewReader(plain[:512])), zipped(f, bytes.NewReader(plain[512:]))...)) // two members
	f.Fuzz(func(t *testing.T, data []byte) {
		outside, inside := nest(t)
		reader, err := Inflate(bytes.NewReader(data), 1<<18)
		if err != nil {
			return
		}
		_ = Unpack(t.Context(), reader, inside, narrow) // the test checks the files, not the error
		wantTame(t, outside)
	})
}
