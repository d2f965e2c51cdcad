package docker

import (
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/moby/moby/api/types/volume"
)

// TestPlacesDoNotWaitForADeadFileSystem: a path that never resolves is used as it is, costs one wait, and leaves one
// open request. It is resolved again once it answers.
func TestPlacesDoNotWaitForADeadFileSystem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		back := make(chan struct{})
		var asked atomic.Int32
		at := placesOf(nil, true, &paths{follow: func(source string) string {
			asked.Add(1)
			<-back
			return "/real" + source
		}})
		for range 3 {
			if got := at.of("/mnt/gone/"); got != "/mnt/gone" {
				t.Errorf("it is taken for %q", got)
			}
		}
		if n := asked.Load(); n != 1 {
			t.Errorf("it was asked %d times", n)
		}
		close(back)
		synctest.Wait()
		if got := at.of("/mnt/gone"); got != "/real/mnt/gone" {
			t.Errorf("it answers, and is taken for %q", got)
		}
	})
}

// TestVolumesAreNotLookedAt: a volume's driver may mount a file system that doesn't answer. Only the engine's own
// folder is resolved, and a container that mounts a volume by its folder is found without resolving that, by either
// name of the folder.
func TestVolumesAreNotLookedAt(t *testing.T) {
	var asked []string
	at := placesOf([]volume.Volume{
		{Name: "a", Driver: "local", Mountpoint: "/var/lib/docker/volumes/a/_data"},
		{Name: "b", Driver: "local", Mountpoint: "/var/lib/docker/volumes/b/_data"},
		{Name: "c", Driver: "nfs", Mountpoint: "/mnt/nfs/c"},
	}, true, &paths{follow: func(source string) string {
		asked = append(asked, source)
		if source == "/var/lib/docker/volumes" {
			return "/big/docker/volumes"
		}
		return source
	}})
	for source, want := range map[string]string{
		"/var/lib/docker/volumes/a/_data/": "a", "/var/lib/docker/volumes/b/_data": "b", "/mnt/nfs/c": "c", "c": "c",
	} {
		if got := at.of(source); got != want {
			t.Errorf("%s is %q, want %q", source, got, want)
		}
	}
	if want := []string{"/var/lib/docker/volumes"}; !slices.Equal(asked, want) {
		t.Errorf("looked at %q, want %q", asked, want)
	}
	if got := at.of("/big/docker/volumes/a/_data"); got != "a" {
		t.Errorf("by the other name it is %q", got)
	}
}
