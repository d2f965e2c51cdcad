package cli

import (
	"io"
	"strings"
	"testing"

	"tend.dev/tend/internal/server/backup"
	"tend.dev/tend/internal/server/backup/restore"
)

// TestRestoreAsksForTheRoot: a root that nobody has named is made only if that is confirmed, and never moved aside.
func TestRestoreAsksForTheRoot(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, env       string
		named, force, yes bool
		want              string // the refusal
	}{
		"named":              {"--root says it", "", true, true, false, ""},
		"of TEND_ROOT":       {"the environment says it", "/srv/tend", false, true, false, ""},
		"default":            {"a person must see where", "", false, false, false, "This restores to /r,"},
		"confirmed":          {"--yes is the word", "", false, false, true, ""},
		"over it":            {"what a machine's own server has stays", "", false, true, false, "--root /r"},
		"over it with --yes": {"the word is not about moving", "", false, true, true, "--root /r"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TEND_ROOT", tc.env)
			a := &app{streams: streams{in: strings.NewReader("y\n"), err: io.Discard}}
			err := a.confirmRoot(restore.Options{Root: "/r", Force: tc.force}, tc.named, tc.yes)
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: %v, want %q", tc.reason, err, tc.want)
			}
		})
	}
}

// TestMissingFilesAreNamed: a restore of a backup that lacks files names them, and a check of it finds it wanting.
func TestMissingFilesAreNamed(t *testing.T) {
	report := restore.Report{Manifest: backup.Manifest{Header: backup.Header{MissingBlobs: []string{"sha256:f00d"}}}}
	const lost = "had lost file sha256:f00d"
	var out, said strings.Builder
	a := &app{streams: streams{out: &out, err: &said}}
	a.restored(a.out, "/r", restore.Result{Report: report})
	if !strings.Contains(said.String(), lost) || !strings.Contains(out.String(), "tend resume") {
		t.Errorf("a restore says %q and %q", said.String(), out.String())
	}
	for _, format := range []string{"", "json"} {
		out.Reset()
		said.Reset()
		a.output = format
		err := a.printReport(report)
		if code, _ := exitOf(err); code != exitError || !strings.Contains(said.String()+out.String(), "sha256:f00d") ||
			strings.Contains(out.String(), "ok\n") {
			t.Errorf("-o %q: exit %d, %q and %q", format, code, out.String(), said.String())
		}
	}
	if err := a.printReport(restore.Report{}); err != nil {
		t.Errorf("a whole one: %v", err)
	}
}
