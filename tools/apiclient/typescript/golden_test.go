package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the golden client")

// TestGolden prints the client of a document that has each construct that the generator knows.
func TestGolden(t *testing.T) {
	document, err := os.ReadFile(filepath.Join("testdata", "small.json"))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := run(nil, bytes.NewReader(document), &out); err != nil {
		t.Fatal(err)
	}
	// What is the same in every client would only hide the rest.
	if strings.Count(out.String(), runtime) != 1 {
		t.Fatal("the client doesn't contain runtime.ts once")
	}
	got := strings.Replace(out.String(), runtime, "// runtime.ts\n", 1)
	golden := filepath.Join("testdata", "small.ts.golden")
	if *rewrite {
		if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("another client than %s; if it is right: go test ./typescript -run TestGolden -rewrite\n%s", golden, got)
	}
}
