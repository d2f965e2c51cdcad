//go:build integration

package hosts

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tend.dev/tend/internal/test/disktest"
)

// TestADiskOfANode: the disk of a node that isn't a server is full to the last byte, and then finishes no write.
// Running pods stay reachable, the node stays ready, the other nodes work and get the new pods. Pods that the node got
// before it reported its disk wait there with the reason, and are not made again and again. Once the disk works, they
// start by themselves.
func TestADiskOfANode(t *testing.T) {
	disk := disktest.New(t, 640<<20)
	l := newLabOn(t, 2, map[string]string{"h2": disk.Folder})
	t.Cleanup(disk.Thaw) // before anything waits for the engine
	ill := l.hosts[1]
	l.hosts[0].startServer()
	ill.startAgent()
	l.until("both have joined", func() bool { return strings.Count(l.command("nodes").output, "ready") == 2 })
	l.declareAt("web", 4, "")
	before := ill.containers("web")
	if len(before) != 2 {
		t.Fatalf("%s runs %v", ill.name, before)
	}

	t.Run("Full", func(t *testing.T) {
		scarce := func() bool {
			return strings.Contains(l.must("describe", "node", ill.name), "has less than 256 MiB free")
		}
		if scarce() {
			t.Errorf("%s says that its disk is full when it isn't", ill.name)
		}
		ill.cut(true) // it gets pods before it reports its full disk
		free := disk.Fill()
		l.must("scale", "prod/web", "8", "--no-wait")
		l.until("all pods have a node",
			func() bool { return strings.Count(l.must("get", "pods", "-o", "wide"), ill.name) == 4 })
		ill.cut(false)
		l.until("the pods that can't start say why", func() bool {
			return strings.Count(l.command("get", "pods").output, "preparing (DiskFull)") == 2 && l.count("web") == 6
		})
		said := l.command("describe", "deployment", "prod/web").output
		if !strings.Contains(said, "node "+ill.name+" has no disk space left") ||
			!strings.Contains(said, "Next: free space on node "+ill.name+" (tend system prune)") {
			t.Errorf("tend describe says:\n%s", said)
		}
		l.until("the node says so too", scarce)
		if said := l.command("nodes").output; !strings.Contains(said, "warning: node "+ill.name+": the disk of") {
			t.Errorf("tend nodes says:\n%s", said)
		}
		l.must("scale", "prod/web", "10", "--no-wait")
		l.until("the other gets the new pods", func() bool { return len(l.hosts[0].containers("web")) == 6 })
		pods := l.named("web")
		l.until("they were tried some more times", func() bool { return ill.tend.count("has no disk space left") >= 6 })
		ill.goesOn(t, before)
		free()
		l.until("they start once there is room",
			func() bool { return l.count("web") == 10 && len(ill.containers("web")) == 4 })
		if now := l.named("web"); !slices.Equal(now, pods) {
			t.Errorf("the pods are %v, were %v", now, pods)
		}
		l.until("the node says no more of it", func() bool { return !scarce() })
		l.until("the rollout ends", func() bool {
			return strings.Contains(l.command("describe", "deployment", "prod/web").output, "10 of 10 replicas run")
		})
	})

	onlyLong(t, "Stalled", func(t *testing.T) {
		before := ill.containers("web")
		disk.Freeze()
		l.must("scale", "prod/web", "11", "--no-wait")
		l.until("a pod waits for its container", func() bool {
			return strings.Contains(l.command("get", "pods").output, "preparing (Creating)") && l.count("web", ill) == 6
		})
		pods := l.named("web")
		l.declareAt("beside", 2, "node.id == h1") // longer than a node may be silent
		l.until("the pod says that it takes long", func() bool {
			return strings.Contains(l.command("describe", "deployment", "prod/web").output,
				"the container engine has not finished since")
		})
		ill.goesOn(t, before)
		disk.Thaw()
		l.until("it starts once the disk is well", func() bool { return len(ill.containers("web")) == 5 })
		l.until("nothing is left of that", func() bool {
			return !strings.Contains(l.command("get", "pods", "-o", "wide").output, "has not finished")
		})
		if now, all := l.named("web"),
			ill.docker("ps", "--all", "--quiet", "--filter", "label=tend.name=web").output; !slices.Equal(now, pods) ||
			len(strings.Fields(all)) != 5 {
			t.Errorf("the pods are %v, were %v; containers: %v", now, pods, all)
		}
	})
}

// declareAt applies a deployment of web:1, and waits until all its pods run; a constraint may keep them on a node.
func (l *lab) declareAt(name string, replicas int, constraint string) {
	l.Helper()
	text := fmt.Sprintf("deployment \"prod\" %q {\n  image = \"web:1\"\n  replicas = %d\n", name, replicas)
	if constraint != "" {
		text += fmt.Sprintf("  placement {\n    constraints = [%q]\n  }\n", constraint)
	}
	file := filepath.Join(l.folder, name+".hcl")
	if err := os.WriteFile(file, []byte(text+"}\n"), 0o644); err != nil {
		l.Fatal(err)
	}
	l.must("apply", "-f", file)
}

// named returns the names of a workload's pods.
func (l *lab) named(name string) (out []string) {
	l.Helper()
	for line := range strings.Lines(l.must("get", "pods")) {
		if strings.HasPrefix(line, "prod-"+name+".") {
			out = append(out, strings.Fields(line)[0])
		}
	}
	slices.Sort(out)
	return out
}

// goesOn demands that the host's node is ready, and that containers run on and answer.
func (h *host) goesOn(t *testing.T, before map[string]string) {
	t.Helper()
	if nodes := h.lab.command("nodes").output; strings.Count(nodes, "ready") != 2 {
		t.Errorf("the nodes:\n%s", nodes)
	}
	now := h.containers("web")
	maps.DeleteFunc(now, func(pod, _ string) bool { return before[pod] == "" })
	if !maps.Equal(now, before) {
		t.Errorf("%s runs %v, ran %v", h.name, now, before)
	}
	for pod, id := range before {
		address := h.docker("inspect", "--format", "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}", id).output +
			":8080"
		if status, err := h.get("http://"+address+"/", address); status != http.StatusOK {
			t.Errorf("%s at %s: %d, %v", pod, address, status, err)
		}
	}
}

// count returns the number of times that the process printed a text.
func (p *process) count(text string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Count(p.text.String(), text)
}
