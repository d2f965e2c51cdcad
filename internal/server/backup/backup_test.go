package backup

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
)

var header = Header{Tend: "v1", Cluster: "c0ffee00c0ffee00", Revision: 42,
	TakenAt: time.Date(2026, 11, 23, 3, 0, 0, 0, time.UTC)}

func blobName(content string) string {
	sum := sha256.Sum256([]byte(content))
	return BlobFolder + hex.EncodeToString(sum[:])
}

// parts are names with their content, in order.
var parts = [][2]string{{Store, strings.Repeat("pages ", 5000)}, {RootFolder + "secret.key", "key\n"},
	{RootFolder + "token", ""}, {blobName("one"), "one"}}

func write(t *testing.T, header Header, parts [][2]string) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := NewWriter(&out, header)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range parts {
		if err := w.Add(part[0], int64(len(part[1])), strings.NewReader(part[1])); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func read(in io.Reader) (manifest Manifest, got [][2]string, err error) {
	manifest, err = Read(in, func(_ Header, name string, _ int64, content io.Reader) error {
		text, err := io.ReadAll(content)
		got = append(got, [2]string{name, string(text)})
		return err
	})
	return manifest, got, err
}

func TestRoundTrip(t *testing.T) {
	text := write(t, header, parts)
	for reason, in := range map[string]io.Reader{
		"at once": bytes.NewReader(text), "a byte at a time": iotest.OneByteReader(bytes.NewReader(text)),
		"with its end": iotest.DataErrReader(bytes.NewReader(text)),
	} {
		manifest, got, err := read(in)
		if diff := cmp.Diff(parts, got); err != nil || diff != "" {
			t.Fatalf("%s: %v\n%s", reason, err, diff)
		}
		if manifest.Cluster != header.Cluster || manifest.Revision != 42 || !manifest.TakenAt.Equal(header.TakenAt) ||
			len(manifest.Blobs()) != 1 {
			t.Errorf("%s: %+v", reason, manifest)
		}
	}
}

// TestOtherProgramsReadIt: zstd and tar, as they are, find the parts, and sha256sum their sums.
func TestOtherProgramsReadIt(t *testing.T) {
	unpacked, err := zstd.NewReader(bytes.NewReader(write(t, header, parts)))
	if err != nil {
		t.Fatal(err)
	}
	defer unpacked.Close()
	sums := map[string]string{}
	var listed struct {
		Parts []struct{ Name, SHA256 string }
	}
	archive := tar.NewReader(unpacked)
	for entry, err := archive.Next(); !errors.Is(err, io.EOF); entry, err = archive.Next() {
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(text)
		sums[entry.Name] = hex.EncodeToString(sum[:])
		if entry.Name == "manifest.json" {
			if err := json.Unmarshal(text, &listed); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(listed.Parts) != len(parts) {
		t.Fatalf("%d parts are listed", len(listed.Parts))
	}
	for _, part := range listed.Parts {
		if sums[part.Name] != part.SHA256 {
			t.Errorf("%s has the sum %s, the manifest says %s", part.Name, sums[part.Name], part.SHA256)
		}
	}
}

// TestEveryChangeIsRefused: any byte changed, any end cut off, anything added.
func TestEveryChangeIsRefused(t *testing.T) {
	text := write(t, header, parts)
	refused := func(what string, at int, changed []byte) {
		t.Helper()
		if _, _, err := read(bytes.NewReader(changed)); !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrNoBackup) {
			t.Errorf("%s %d of %d: %v", what, at, len(text), err)
		}
	}
	for at := range text {
		for _, bit := range []byte{0x01, 0x80} {
			changed := bytes.Clone(text)
			changed[at] ^= bit
			refused("flipped a bit at", at, changed)
		}
		refused("cut at", at, text[:at])
	}
	refused("added a byte at", len(text), append(bytes.Clone(text), 0))
	refused("twice, to", 2*len(text), append(bytes.Clone(text), text...))
}

func TestWhatIsNoBackup(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		text   []byte
		want   error
	}{
		"empty": {"nothing came", nil, ErrNoBackup},
		"text": {"another file",
			[]byte("hello, world, this is longer than a sum would be, certainly it is"), ErrNoBackup},
		"other zstd": {"a tar of others", packed(t, "README", "hi"), ErrNoBackup},
		"a newer one": {"its parts may mean something else",
			packed(t, headerName, `{"format": 2, "tend": "v9"}`), ErrVersion},
		"a path": {"it would leave the folder",
			packed(t, headerName, `{"format": 1}`, "root/../../etc/passwd", "x"), ErrDamaged},
		"an unknown part": {"nobody knows what it is",
			packed(t, headerName, `{"format": 1}`, "state/wal", "x"), ErrDamaged},
		"a part twice": {"which one counts?",
			packed(t, headerName, `{"format": 1}`, "root/token", "x", "root/token", "y"), ErrDamaged},
		"other bytes in a blob": {"its name is its sum",
			packed(t, headerName, `{"format": 1}`, blobName("a"), "b"), ErrDamaged},
		"another manifest": {"the parts are not those that were written",
			packed(t, headerName, `{"format": 1}`, "root/token", "x", manifestName, `{"format": 1}`), ErrDamaged},
	} {
		if _, _, err := read(bytes.NewReader(tc.text)); !errors.Is(err, tc.want) {
			t.Errorf("%s: %s: %v, want %v", name, tc.reason, err, tc.want)
		}
	}
}

// packed returns a file in the outer form of a backup, with any entries.
func packed(t *testing.T, entries ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	f := newFramed(&out)
	z, err := zstd.NewWriter(f)
	if err != nil {
		t.Fatal(err)
	}
	archive := tar.NewWriter(z)
	for i := 0; i < len(entries); i += 2 {
		err = errors.Join(err, archive.WriteHeader(&tar.Header{Name: entries[i],
			Size: int64(len(entries[i+1])), Mode: 0o600}))
		_, wrote := io.WriteString(archive, entries[i+1])
		err = errors.Join(err, wrote)
	}
	if err := errors.Join(err, archive.Close(), z.Close(), f.finish()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestAPartOfAnotherSizeIsNoPart(t *testing.T) {
	w, err := NewWriter(io.Discard, header)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Add(Store, 10, strings.NewReader("short")); !errors.Is(err, io.EOF) &&
		!errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a file that shrank while it was read: %v", err)
	}
	if err := w.Add("root/../x", 1, strings.NewReader("x")); err == nil {
		t.Error("a path was taken")
	}
}

func TestSuperseded(t *testing.T) {
	day := func(n int) string { return Name("c1", time.Date(2026, 11, n, 3, 0, 0, 0, time.UTC), n%2 == 0) }
	made := day(9)
	for name, tc := range map[string]struct {
		reason string
		names  []string
		keep   int
		want   []string
	}{
		"fewer than are kept": {"", []string{day(8), made}, 3, nil},
		"older ones": {"the newest stay", []string{day(5), day(8), made, day(6), day(7)}, 3,
			[]string{day(6), day(5)}},
		"one": {"the one that was just made", []string{day(7), day(8), made}, 1, []string{day(8), day(7)}},
		"the clock was set back": {"the one that was just made stays all the same", []string{day(20), day(21), made},
			2, []string{day(20)}},
		"others' files": {"another cluster's, a letter, what only looks alike", []string{
			Name("c2", time.Unix(0, 0), true), "letter.txt", "tend-c1-latest.tar.zst", day(1) + ".part", "x" + day(1), made},
			1, nil},
		"whole": {"one that lacks files stays beside whole ones that are as old", []string{day(7), Incomplete(day(8)),
			Incomplete(day(6)), day(5)}, 2, []string{Incomplete(day(6)), day(5)}},
		"nothing to keep": {"never the only one", []string{made}, 0, nil},
	} {
		if diff := cmp.Diff(tc.want, Superseded(tc.names, "c1", made, tc.keep)); diff != "" {
			t.Errorf("%s: %s:\n%s", name, tc.reason, diff)
		}
	}
	names := []string{day(7), day(8), Incomplete(day(6)), Incomplete(day(5)), Incomplete(made)}
	if diff := cmp.Diff([]string{Incomplete(day(5))}, Superseded(names, "c1", Incomplete(made), 2)); diff != "" {
		t.Errorf("of those that lack files the newest stay, and all whole ones:\n%s", diff)
	}
}
