package main

import (
	"strings"
	"testing"
)

func TestWhatNeedsLinuxIsNamed(t *testing.T) {
	for target, want := range map[string]string{"linux/arm64": "", "darwin/arm64": "undefined: syscall.EpollCreate1"} {
		faults, err := check("./testdata/bound", target)
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Join(faults, "\n")
		if (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", target, got, want)
		}
	}
	if _, err := check(command, "darwin"); err == nil {
		t.Error("a system without a processor was accepted")
	}
}
