//go:build integration

package hosts

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// asked counts the requests for a host, or to a port of the nodes, and who answered them.
type asked struct {
	answered, failed, wrong atomic.Int64
	last                    atomic.Value

	mu sync.Mutex
	// by holds the pod that answered, by the path of the request; each has a path of its own.
	by map[string]string
	// times holds how often a pod answered, by the machine that was asked and by the pod.
	times map[[2]string]int
}

func newAsked() *asked { return &asked{by: map[string]string{}, times: map[[2]string]int{}} }

// answeredBy notes which pod has answered a request to a machine, as the pod itself says. path is empty if the
// machine's log doesn't name the request.
func (a *asked) answeredBy(machine, path, pod string) {
	a.answered.Add(1)
	a.mu.Lock()
	defer a.mu.Unlock()
	if path != "" {
		a.by[path] = pod
	}
	a.times[[2]string{machine, pod}]++
}

// chosen holds the pods that the proxies meant, by the access logs of all machines.
type chosen struct {
	// by holds the pod to which a proxy sent a request, by its path.
	by map[string]string
	// times holds how many connections to a port a proxy opened to a pod, by the machine, the port and the pod.
	times map[[3]string]int
	// pods are all that were meant, by their ingress.
	pods map[[2]string]bool
}

// access is the file in which the host's proxy logs each request.
func (h *host) access() string { return filepath.Join(h.folder, "access") }

// chosen reads the access logs.
func (l *lab) chosen() chosen {
	l.Helper()
	all := chosen{map[string]string{}, map[[3]string]int{}, map[[2]string]bool{}}
	for _, h := range l.hosts {
		file, err := os.Open(h.access())
		if err != nil {
			l.Fatal(err)
		}
		for lines := bufio.NewScanner(file); lines.Scan(); {
			var line struct{ Msg, Path, Listen, Ingress, Pod string }
			if json.Unmarshal(lines.Bytes(), &line) != nil || line.Pod == "" {
				continue // the last line before a kill may be cut off
			}
			all.pods[[2]string{line.Ingress, line.Pod}] = true
			if line.Msg == "request" {
				all.by[line.Path] = line.Pod
			} else {
				all.times[[3]string{h.name, line.Listen, line.Pod}]++
			}
		}
		_ = file.Close()
	}
	return all
}

// judge requires that each request was answered by the pod to which the proxy sent it. unlogged is the number of
// requests whose line may be missing, because the proxy was killed before it wrote it.
func (a *asked) judge(t *testing.T, name string, all chosen, unlogged int) {
	t.Helper()
	missing := 0
	for path, pod := range a.by {
		switch meant, logged := all.by[path]; {
		case !logged:
			missing++
		case meant != pod:
			a.wrong.Add(1)
			a.last.Store(path + " was meant for " + meant + ", and answered by " + pod)
		}
	}
	if missing > unlogged {
		t.Errorf("%s: no log has %d of %d requests, so nobody knows whom they were for", name, missing, len(a.by))
	}
	port, isPort := strings.CutPrefix(name, "port ")
	for of, n := range a.times {
		switch machine, pod := of[0], of[1]; {
		case !isPort:
		case strings.HasSuffix(port, "/udp"): // what is logged once a client is silent
			if !all.pods[[2]string{"bank/api", pod}] {
				a.wrong.Add(int64(n))
				a.last.Store(pod + " answered, which bank/api never meant")
			}
		default:
			if meant := all.times[[3]string{machine, port, pod}]; n > meant+unlogged {
				a.wrong.Add(int64(n - meant))
				a.last.Store(pod + " answered more connections to " + machine + " than were for it")
			}
		}
	}
}
