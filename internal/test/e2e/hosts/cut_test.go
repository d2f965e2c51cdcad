//go:build integration

package hosts

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

const mixed = `
deployment "prod" "web" {
  image    = "web:1"
  replicas = 6
}

statefulset "prod" "db" {
  image    = "web:%d"
  replicas = 3
}
`

// declareMixed writes the manifest with a version of the statefulset, and returns its file.
func (l *lab) declareMixed(version int) string {
	l.Helper()
	file := filepath.Join(l.folder, "mixed.hcl")
	if err := os.WriteFile(file, fmt.Appendf(nil, mixed, version), 0o644); err != nil {
		l.Fatal(err)
	}
	return file
}

// containers returns the ids of a workload's running containers on a host, by their names.
func (h *host) containers(name string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(h.docker("ps", "--no-trunc", "--filter", "label=tend.name="+name, "--format",
		"{{.Names}} {{.ID}}").output) {
		if words := strings.Fields(line); len(words) == 2 {
			out[words[0]] = words[1]
		}
	}
	return out
}

// count returns the number of a workload's running containers on all hosts but some.
func (l *lab) count(name string, but ...*host) (n int) {
	for _, h := range l.hosts {
		if !slices.Contains(but, h) {
			n += len(h.containers(name))
		}
	}
	return n
}

// heals removes a container by hand, and waits until its host runs another one of the name.
func (h *host) heals(name string) {
	h.lab.Helper()
	var pod, id string
	for pod, id = range h.containers(name) {
		break
	}
	if pod == "" {
		h.lab.Fatalf("%s runs no container of %s", h.name, name)
	}
	h.docker("rm", "--force", id)
	h.lab.until(h.name+" runs "+pod+" again", func() bool {
		is := h.containers(name)[pod]
		return is != "" && is != id
	})
}

// TestACutHost: a host that is cut off heals its own pods, also if its agent was restarted before. Once it is back,
// containers that were replaced elsewhere stop before anything else starts. A killed agent leaves its pods alone. No
// slot is ever held twice, by the engines of all hosts.
func TestACutHost(t *testing.T) {
	l := newLab(t, 3)
	observed := l.observe()
	l.hosts[0].startServer()
	for _, h := range l.hosts[1:] {
		h.startAgent()
	}
	l.until("all have joined", func() bool { return strings.Count(l.command("nodes").output, "ready") == 3 })
	l.must("apply", "-f", l.declareMixed(1))
	for _, h := range l.hosts {
		if web, db := len(h.containers("web")), len(h.containers("db")); web != 2 || db != 1 {
			t.Fatalf("%s runs %d and %d", h.name, web, db)
		}
	}
	lost := l.hosts[1]
	onlyLong(t, "AgentKilled", func(t *testing.T) {
		before := lost.containers("web")
		lost.tend.end(syscall.SIGKILL)
		l.until("its node is silent", func() bool { return strings.Count(l.command("nodes").output, "ready") == 2 })
		l.until("its pods are replaced", func() bool { return l.count("web", lost) == 6 })
		if after := lost.containers("web"); len(after) != len(before) {
			t.Errorf("without its agent %s runs %v, ran %v", lost.name, after, before)
		}
		lost.startAgent()
		l.until("those too many are stopped", func() bool { return l.count("web") == 6 && l.count("db") == 3 })
		l.must("scale", "prod/web", "3")
		l.must("scale", "prod/web", "6")
		l.until("it has pods again", func() bool { return len(lost.containers("web")) > 0 && l.count("web") == 6 })
	})
	t.Run("CutAndHealed", func(t *testing.T) {
		before := lost.containers("web")
		lost.cut(true)
		lost.heals("web")
		lost.heals("db")
		l.until("its pods are replaced", func() bool { return l.count("web", lost) == 6 })
		lost.heals("web")
		if n := l.count("db", lost); n != 2 {
			t.Errorf("%d pods of the statefulset run elsewhere, want 2: the third may run", n)
		}
		l.must("apply", "--no-wait", "-f", l.declareMixed(2)) // work that waits for the host
		back := time.Now().UnixNano()
		lost.cut(false)
		l.until("those too many are stopped, and the statefulset is rolled out", func() bool {
			return l.count("web") == 6 && l.releasesOf("db")["v2"] == 3
		})
		stopped := 0
		for _, is := range observed.all() {
			if is.host != lost.name || is.at < back {
				continue
			}
			if is.action == "start" && stopped < len(before) {
				t.Errorf("only %d of %d superseded pods had stopped at the %s of %s", stopped, len(before), describe(is), is.of)
			}
			if is.action == "die" && strings.HasSuffix(is.of, "/web") {
				stopped++
			}
		}
	})
	observed.once(t, 12)
}
