package tree

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"strings"
	"testing"
)

func zipped(t testing.TB, content io.Reader) []byte {
	t.Helper()
	var out bytes.Buffer
	writer := gzip.NewWriter(&out)
	if _, err := io.Copy(writer, content); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

type nothing struct{}

func (nothing) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func TestInflate(t *testing.T) {
	plain := tarOf(t, entry{name: "a", content: "x"})
	for name, packed := range map[string][]byte{"plain": plain, "gzip": zipped(t, bytes.NewReader(plain)), "empty": {}} {
		reader, err := Inflate(bytes.NewReader(packed), 1<<20)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, err := io.ReadAll(reader)
		if err != nil || name != "empty" && !bytes.Equal(got, plain) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
}

func TestInflateRefuses(t *testing.T) {
	bomb := zipped(t, io.LimitReader(nothing{}, 2*smallGrowth))
	whole := zipped(t, strings.NewReader(strings.Repeat("x", 100)))
	for name, test := range map[string]struct {
		packed []byte
		limit  int64
		want   string
	}{
		"a bomb":            {bomb, 1 << 40, "grows"},
		"too large":         {bomb, 1 << 20, "larger than 1 MiB"},
		"too large, plain":  {bytes.Repeat([]byte("x"), 2<<20), 1 << 20, "larger than 1 MiB"},
		"a broken head":     {[]byte{0x1f, 0x8b, 9}, 1 << 20, ""},
		"a broken checksum": {append(whole[:len(whole)-8:len(whole)-8], 0, 0, 0, 0, 0, 0, 0, 0), 1 << 20, "damaged"},
		"cut off":           {whole[:len(whole)-8], 1 << 20, ""},
	} {
		reader, err := Inflate(bytes.NewReader(test.packed), test.limit)
		if err == nil {
			_, err = io.Copy(io.Discard, reader)
		}
		var hostile *HostileError
		if err == nil || test.want != "" && (!errors.As(err, &hostile) || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
