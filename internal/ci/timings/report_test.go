package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReport(t *testing.T) {
	r := report{}
	if err := r.readSteps(strings.NewReader("lint 1795780744.2 61.4 100.1 20.2 0\ntest-memory 1795780844.2 99.6 150 30 1\n")); err != nil {
		t.Fatal(err)
	}
	events := `{"Action":"run","Package":"tend.dev/tend/internal/a","Test":"TestSlow"}
{"Action":"pass","Package":"tend.dev/tend/internal/a","Test":"TestSlow/part","Elapsed":3}
{"Action":"fail","Package":"tend.dev/tend/internal/a","Test":"TestSlow","Elapsed":4}
{"Action":"fail","Package":"tend.dev/tend/internal/a","Elapsed":4.5}
{"Action":"pass","Package":"tend.dev/tend/internal/b","Test":"TestQuick","Elapsed":0.5}
{"Action":"pass","Package":"tend.dev/tend/internal/b","Elapsed":0.6}
{"Action":"skip","Package":"tend.dev/tend/internal/without","Elapsed":0}
`
	if err := r.readEvents("memory", strings.NewReader(events)); err != nil {
		t.Fatal(err)
	}
	var printed strings.Builder
	if err := r.print(&printed, 1, 2); err != nil {
		t.Fatal(err)
	}
	want := `| step | seconds | processor seconds |
| --- | ---: | ---: |
| lint | 61 | 120 |
| test-memory (failed: exit status 1) | 100 | 180 |

| package | group | tests | seconds |
| --- | --- | ---: | ---: |
| internal/a | memory | 2 | 4.5 |
| 1 more | | 1 | 0.6 |

| test | package | group | seconds |
| --- | --- | --- | ---: |
| TestSlow | internal/a | memory | 4.0 |
`
	if diff := cmp.Diff(want, printed.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestReportRefusesATornRecord(t *testing.T) {
	if err := (&report{}).readSteps(strings.NewReader("lint 1795780744.2\n")); err == nil {
		t.Error("a line that lacks its times was read")
	}
}
