//go:build integration

package histories

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tend.dev/tend/internal/test/disktest"
)

// onDisks starts three servers; those with the names have a disk of their own for their store.
func onDisks(t *testing.T, minFree int64, names ...string) (*trio, map[string]*disktest.Disk) {
	disks := map[string]*disktest.Disk{}
	for _, name := range names {
		disks[name] = disktest.New(t, 400<<20)
	}
	c := newTrio(t, func(r *role) {
		if disk := disks[r.Name]; disk != nil {
			r.Data, r.MinFree = filepath.Join(disk.Folder, "state"), minFree
		}
	})
	for _, disk := range disks {
		t.Cleanup(disk.Thaw) // before the servers end: a server that waits for its disk can't
	}
	return c, disks
}

// says waits until a server isn't ready, with a reason that contains a text.
func (c *trio) says(name, text string) {
	c.t.Helper()
	var last string
	c.until(name+" says "+text, func() bool {
		readiness, err := c.servers[name].client.Readiness(context.Background())
		if now := strings.Join(readiness.Missing, "; "); err == nil && now != last {
			last = now
			c.t.Logf("%s is not ready: %s", name, now)
		}
		return err == nil && !readiness.Ready && strings.Contains(last, text)
	})
}

// TestADiskOfOneServerStalls: the others go on, the one says so, its answers are honest, and it recovers.
func TestADiskOfOneServerStalls(t *testing.T) {
	c, disks := onDisks(t, -1, "a", "b", "c")
	for range rounds {
		name := c.led() // the first one also leads the members of the store
		disks[name].Freeze()
		stop, histories := c.recording(t)
		c.says(name, "has not finished a write")
		c.writable(but(c.names, name)...)
		disks[name].Thaw()
		c.ready(c.names...)
		stop()
		histories()
	}
}

// TestADiskOfOneServerIsFull to the last byte: that server reports it and refuses writes, until its store can't follow
// any more and it ends, with the reason; so does each start. The others continue. Once there is room, a start suffices.
func TestADiskOfOneServerIsFull(t *testing.T) {
	c, disks := onDisks(t, 16<<20, "a", "b", "c")
	for range rounds {
		name := c.led() // the first one also leads the members of the store
		full := c.servers[name]
		free := disks[name].Fill()
		stop, histories := c.recording(t)
		c.says(name, "must stay free")
		refusals := []int{http.StatusInsufficientStorage, http.StatusServiceUnavailable} // 503 once the server ends
		if r := full.caller()(asked{key: "full", verb: apply, value: "web:1"}.request()); r.err == nil &&
			!slices.Contains(refusals, r.status) {
			t.Errorf("a write on a full disk: %d %s", r.status, r.problem)
		}
		c.writable(but(c.names, name)...)
		c.within(5*time.Minute, name+" ends", func() bool { return !full.lives() })
		full.logs(t, "no space left on device")
		full.start()
		c.until(name+" ends again", func() bool { return !full.lives() })
		full.logs(t, "is full: free space there")
		free()
		full.start()
		c.ready(c.names...)
		stop()
		histories()
		c.writable(name)
	}
}

// logs demands that a server has logged a text.
func (s *server) logs(t *testing.T, text string) {
	t.Helper()
	if log, err := os.ReadFile(filepath.Join(s.role.Root, "log")); err != nil || !strings.Contains(string(log), text) {
		t.Errorf("%s has not logged %q: %v", s.role.Name, text, err)
	}
}

// but returns the names except one.
func but(names []string, without string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == without })
}

// writable waits until servers accept writes, and show them.
func (c *trio) writable(names ...string) {
	c.t.Helper()
	for _, name := range names {
		next := c.servers[name].caller()
		key := fmt.Sprintf("w-%s-%d", name, hosts.Add(1))
		c.until(name+" takes writes", func() bool {
			return next(asked{key: key, verb: apply, value: "web:1", replicas: 1}.request()).status == http.StatusOK
		})
		var seen reply // a stale read may lack it: the store may be between two leaders
		c.until(name+" reads from the store", func() bool {
			seen = next(asked{key: key, verb: read}.request())
			return seen.stale == ""
		})
		if seen.status != http.StatusOK || !bytes.Contains(seen.body, []byte("web:1")) {
			c.t.Errorf("%s doesn't show what it has stored: %d, %v, %s", name, seen.status, seen.err, seen.body)
		}
	}
}

// recording records histories until stop is called, or the test ends; judged waits for them and reports faults.
func (c *trio) recording(t *testing.T) (stop, judged func()) {
	counted, failed := &counts{}, make(chan []string, 1)
	ends := make(chan struct{})
	stop = sync.OnceFunc(func() { close(ends) })
	t.Cleanup(stop)
	go func() { failed <- c.recordUntil(ends, counted) }()
	return stop, func() {
		t.Helper()
		for _, wrong := range <-failed {
			t.Error(wrong)
		}
		t.Log(counted)
		if counted.done.Load() == 0 {
			t.Error("nothing was done")
		}
	}
}
