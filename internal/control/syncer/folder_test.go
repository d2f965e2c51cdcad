package syncer

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tend.dev/tend/api"
)

func TestAFolder(t *testing.T) {
	w, folder := newWorld(t), t.TempDir()
	spec := api.SyncSpec{Dir: folder}
	lay(t, folder, map[string]string{"web.hcl": manifestOf("web", "web:1"), "more/api.hcl": manifestOf("api", "api:1"),
		".git/x.hcl": manifestOf("hidden", "x")})
	first := w.want("a folder", spec, "api=api:1 web=web:1")
	past := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(folder, "web.hcl"), past, past); err != nil {
		t.Fatal(err)
	}
	if got := w.want("touched", spec, "api=api:1 web=web:1"); got != first {
		t.Errorf("revision %s, then %s of the same content", first, got)
	}
	w.want("a folder in it", api.SyncSpec{Dir: folder, Path: "more"}, "api=api:1")
	w.wantFault("none in it", api.SyncSpec{Dir: folder, Path: "none"}, api.ReasonFetchFailed, "none")

	// Links inside are followed, as of a mounted ConfigMap; those that lead out are refused, and pipes are not opened.
	for link, target := range map[string]string{"linked.hcl": ".git/x.hcl"} {
		if err := os.Symlink(target, filepath.Join(folder, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(folder, "pipe.hcl"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.want("a link inside", spec, "api=api:1 hidden=x web=web:1")
	outside := t.TempDir()
	lay(t, outside, map[string]string{"secret.hcl": manifestOf("secret", "s3cret")})
	if err := os.Symlink(filepath.Join(outside, "secret.hcl"), filepath.Join(folder, "out.hcl")); err != nil {
		t.Fatal(err)
	}
	w.wantFault("a link that leads out", spec, api.ReasonNotAllowed, "the link out.hcl leads out of the folder")
	if err := os.Remove(filepath.Join(folder, "out.hcl")); err != nil {
		t.Fatal(err)
	}
	lay(t, folder, map[string]string{"big": strings.Repeat("x", 1<<20+1)})
	w.syncer.MaxBytes = 1 << 20
	w.wantFault("too large", spec, api.ReasonNotAllowed, "larger than 1 MiB")
}

// TestAHalfWrittenFileIsNotRead: an editor empties a file before it writes it. The poll waits until it is whole.
func TestAHalfWrittenFileIsNotRead(t *testing.T) {
	w, folder := newWorld(t), t.TempDir()
	lay(t, folder, map[string]string{"web.hcl": ""})
	reads := 0
	w.syncer.Now = func() time.Time {
		info, err := os.Stat(filepath.Join(folder, "web.hcl"))
		if err != nil {
			t.Error(err)
			return time.Now()
		}
		if reads++; reads == 1 { // it was changed just now, and the rest of it follows
			lay(t, folder, map[string]string{"web.hcl": manifestOf("web", "web:1")})
			return info.ModTime()
		}
		return info.ModTime().Add(time.Hour)
	}
	w.want("written while it was read", api.SyncSpec{Dir: folder}, "web=web:1")
}

// TestWhatWasFetchedIsRemoved: a sync that is gone leaves nothing on the disk.
func TestWhatWasFetchedIsRemoved(t *testing.T) {
	w, folder := newWorld(t), t.TempDir()
	lay(t, folder, map[string]string{"web.hcl": manifestOf("web", "web:1")})
	w.want("a folder", api.SyncSpec{Dir: folder}, "web=web:1")
	kept := func() int {
		entries, err := os.ReadDir(w.syncer.Folder)
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	if w.syncer.Keep([]string{"uid-1"}); kept() != 1 {
		t.Error("what is kept was removed")
	}
	if w.syncer.Keep(nil); kept() != 0 {
		t.Error("what nobody needs is still there")
	}
	w.want("added again", api.SyncSpec{Dir: folder}, "web=web:1")
	if w.syncer.Drop("uid-1"); kept() != 0 {
		t.Error("what was dropped is still there")
	}
}
