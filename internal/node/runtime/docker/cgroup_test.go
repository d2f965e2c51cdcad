package docker

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/internal/node/runtime"
)

// TestBothLayoutsOfControlGroups: the same usage gives the same sample in either version.
func TestBothLayoutsOfControlGroups(t *testing.T) {
	want := runtime.Stats{CPUTime: 1500 * time.Millisecond, MemoryBytes: 70, MemoryLimit: 4 << 10, PIDs: 3, NetRx: 100,
		NetTx: 200, BlockRead: 8, BlockWrite: 9}
	unified := map[string]string{
		"cpu.stat": "usage_usec 1500000\nuser_usec 1\n", "memory.current": "100\n",
		"memory.stat": "anon 5\ninactive_file 30\n",
		"memory.max":  "max\n", "pids.current": "3\n", "io.stat": "8:0 rbytes=5 wbytes=9 rios=1\n8:16 rbytes=3 wbytes=0\n",
		"cgroup.procs": "41\n42\n",
	}
	for name, files := range map[string]map[string]string{
		"version 2, systemd":  below("system.slice/docker-c1.scope", unified),
		"version 2, cgroupfs": below("docker/c1", unified),
		"version 1": {
			"cpuacct/docker/c1/cpuacct.usage": "1500000000\n", "memory/docker/c1/memory.usage_in_bytes": "100\n",
			"memory/docker/c1/memory.stat":           "total_inactive_file 30\n",
			"memory/docker/c1/memory.limit_in_bytes": "9223372036854771712\n",
			"pids/docker/c1/pids.current":            "3\n", "pids/docker/c1/cgroup.procs": "41\n42\n",
			"blkio/docker/c1/blkio.throttle.io_service_bytes_recursive": "8:0 Read 5\n8:0 Write 9\n8:16 Read 3\nTotal 17\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := cgroups{sys: t.TempDir(), proc: t.TempDir()}
			write(t, c.sys, files)
			write(t, c.proc, map[string]string{
				"meminfo": "MemTotal:       4 kB\n",
				// 41 has ended
				"42/net/dev": "Inter-| Receive\n face |bytes\n    lo: 7 0 0 0 0 0 0 0 7 0\n  eth0: 100 1 0 0 0 0 0 0 200 1\n",
			})
			got, err := c.read("c1")
			if err != nil {
				t.Fatal(err)
			}
			got.At = time.Time{}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			if _, err := c.read("c2"); !errors.Is(err, errElsewhere) {
				t.Errorf("a container that isn't there: %v", err)
			}
		})
	}
}

func below(dir string, files map[string]string) map[string]string {
	out := map[string]string{}
	for name, text := range files {
		out[filepath.Join(dir, name)] = text
	}
	return out
}

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
