//go:build integration

package hosts

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"tend.dev/tend/internal/test/testimage"
)

const manifest = `
network "tend0" {
  driver = "%s"
}

deployment "prod" "web" {
  image    = "web:%d"
  replicas = %d
  ports    = ["8080"]
}

ingress "prod" "web" {
  host = "web.example"
  port = 8080
}
`

// pod is one as `tend get pods` lists it.
type pod struct {
	Name, Node, Address string
	Ready               bool
}

// declare writes the manifest, and returns its file.
func (l *lab) declare(driver string, version, replicas int) string {
	l.Helper()
	file := filepath.Join(l.folder, "web.hcl")
	if err := os.WriteFile(file, fmt.Appendf(nil, manifest, driver, version, replicas), 0o644); err != nil {
		l.Fatal(err)
	}
	return file
}

func (l *lab) apply(driver string) {
	l.Helper()
	l.must("apply", "-f", l.declare(driver, 1, 3))
}

// pods returns those that are ready, by node.
func (l *lab) pods() map[string][]pod {
	l.Helper()
	var list struct{ Items []pod }
	output, err := l.hosts[0].inside(tendBinary, "get", "pods", "-o", "json").Output()
	if err == nil {
		err = json.Unmarshal(output, &list)
	}
	if err != nil {
		l.Logf("get pods: %v: %s", err, output)
		return nil
	}
	out := map[string][]pod{}
	for _, p := range list.Items {
		if p.Ready {
			out[p.Node] = append(out[p.Node], p)
		}
	}
	return out
}

// names returns the addresses of a name as a pod resolves it, sorted.
func (l *lab) names(inside pod, name string) string {
	words := strings.Fields(l.command("exec", inside.Name, "--", testimage.Program, "lookup", name).output)
	slices.Sort(words)
	return strings.Join(words, " ")
}

func addresses(pods map[string][]pod) string {
	var out []string
	for _, on := range pods {
		for _, p := range on {
			out = append(out, p.Address)
		}
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// reach requires that each pod reaches every other one by its address.
func (l *lab) reach() {
	l.Helper()
	pods := l.pods()
	for from, sources := range pods {
		for to, targets := range pods {
			l.until(from+" reaches "+to, func() bool {
				answer := l.command("exec", sources[0].Name, "--", testimage.Program, "call", "GET", "http://"+
					targets[0].Address+":8080/")
				return strings.Contains(answer.output, "hello v1 from "+targets[0].Name)
			})
		}
	}
}

func TestContainersOfAllHosts(t *testing.T) {
	l := newLab(t, 3)
	l.hosts[0].startServer()
	for _, h := range l.hosts[1:] {
		h.startAgent()
	}
	l.until("all have joined", func() bool { return strings.Count(l.command("nodes").output, "ready") == 3 })
	spread := func() map[string][]pod {
		t.Helper()
		var pods map[string][]pod
		l.until("each host has a pod", func() bool { pods = l.pods(); return len(pods) == 3 })
		return pods
	}
	early := filepath.Join(l.folder, "early.hcl")
	if err := os.WriteFile(early, []byte("deployment \"prod\" \"early\" {\n  image    = \"web:1\"\n  replicas = 3\n}\n"),
		0o644); err != nil {
		t.Fatal(err)
	}
	l.must("apply", "-f", early)
	before := addresses(spread())
	l.must("apply", "-f", l.declare("wireguard", 1, 0))
	t.Run("FromBefore", func(t *testing.T) {
		// before the network is declared: each host has a subnet of its own since it joined
		l.reach()
		if after := addresses(l.pods()); after != before {
			t.Errorf("the pods have moved from %s to %s", before, after)
		}
	})
	l.must("delete", "-f", early)
	t.Run("EarlierOutput", func(*testing.T) { l.earlierOutput() })
	l.apply("wireguard")
	pods := spread()
	t.Run("Reach", func(*testing.T) { l.reach() })
	t.Run("Names", func(t *testing.T) {
		for host, on := range pods {
			for _, name := range []string{"web.prod", "web.prod.tend"} {
				l.until("the pod of "+host+" finds all", func() bool { return l.names(on[0], name) == addresses(pods) })
			}
			if got := l.command("exec", on[0].Name, "--", testimage.Program, "lookup",
				"nobody.prod.tend"); !strings.Contains(got.output, "no such host") {
				t.Errorf("a name of nothing: %s", got.output)
			}
		}
	})
	t.Run("Ingress", func(t *testing.T) {
		// each host's ingress reaches the pods of all: with three requests in turn each gets one
		for _, h := range l.hosts {
			for range 6 {
				l.until("the ingress of "+h.name+" answers", func() bool {
					code, err := h.get("http://web.example/", h.address+":80")
					return err == nil && code == 200
				})
			}
		}
	})
	t.Run("Encrypted", func(t *testing.T) {
		if seen := l.listen("hello v1"); seen {
			t.Error("the switch sees what containers say to each other")
		}
		l.apply("vxlan")
		l.reach()
		if seen := l.listen("hello v1"); !seen {
			t.Error("the switch sees nothing without encryption either: the test proves nothing")
		}
		l.apply("wireguard")
		l.reach()
	})
	onlyLong(t, "CutAndHealed", func(*testing.T) { cutAndHealed(l) })
	onlyLong(t, "RestartedAgent", func(*testing.T) {
		h := l.hosts[2]
		h.tend.end(syscall.SIGKILL)
		h.startAgent()
		spread()
		l.reach()
	})
	onlyLong(t, "PutBack", func(*testing.T) { // rules that another program removes
		h := l.hosts[1]
		h.run("iptables", "-t", "nat", "-D", "POSTROUTING", "-o", "tend-overlay", "-j", "RETURN")
		l.ip("-n", h.space, "route", "flush", "dev", "tend-overlay")
		l.reach()
	})
	onlyLong(t, "AnotherAddress", func(*testing.T) {
		h := l.hosts[2]
		l.ip("-n", h.space, "addr", "flush", "dev", "eth0")
		h.address = "192.168.77.33"
		l.ip("-n", h.space, "addr", "add", h.address+"/24", "dev", "eth0")
		l.until("the network has learned it",
			func() bool { return strings.Contains(l.command("describe", "network", "tend0").output, h.address) })
		l.must("scale", "prod/web", "8") // its pods may have been replaced meanwhile: the new ones go where there are fewest
		spread()
		l.reach()
	})
	t.Run("Deleted", func(t *testing.T) {
		l.must("delete", "network", "tend0")
		for _, h := range l.hosts {
			l.until(h.name+" has removed what it made", func() bool {
				return h.run("ip", "link", "show", "tend-overlay").err != nil &&
					!strings.Contains(h.run("iptables-save").output, "tend-overlay")
			})
		}
	})
}

// cutAndHealed: the pod of a host that is cut off gets no requests and is replaced; once the host is back, the one too
// many is stopped, and the rest is connected again.
func cutAndHealed(l *lab) {
	lost := l.hosts[1]
	before := l.pods()[lost.name][0]
	lost.cut(true)
	var pods map[string][]pod
	l.until("its pod is replaced", func() bool {
		pods = l.pods()
		return len(pods[l.hosts[0].name])+len(pods[l.hosts[2].name]) == 3
	})
	l.until("the answers lack its pod's address", func() bool {
		return !strings.Contains(l.names(pods[l.hosts[0].name][0], "web.prod"), before.Address)
	})
	for range 20 {
		if code, err := l.hosts[0].get("http://web.example/", l.hosts[0].address+":80"); err != nil || code != 200 {
			l.Errorf("while a host is cut off: %d, %v", code, err)
		}
	}
	if running := lost.docker("ps", "--format", "{{.Names}}").output; !strings.Contains(running, before.Name) {
		l.Errorf("the host that is cut off runs %q, had %s", running, before.Name)
	}
	lost.cut(false)
	l.until("the one too many is stopped", func() bool {
		return !strings.Contains(lost.docker("ps", "--format", "{{.Names}}").output, before.Name)
	})
	l.must("scale", "prod/web", "4")
	l.must("scale", "prod/web", "5")
	l.until("all hosts have pods", func() bool { return len(l.pods()) == 3 })
	l.reach()
}

// listen reports whether the switch sees a text in the traffic between pods.
func (l *lab) listen(text string) bool {
	l.Helper()
	var seen atomic.Bool
	stop, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- in(l.plug, func() error {
			socket, err := syscall.Socket(syscall.AF_PACKET, syscall.SOCK_RAW, 0x0300) // ETH_P_ALL in the order of the network
			if err != nil {
				return err
			}
			defer syscall.Close(socket)
			if err := syscall.SetsockoptTimeval(socket, syscall.SOL_SOCKET, syscall.SO_RCVTIMEO,
				&syscall.Timeval{Usec: 50_000}); err != nil {
				return err
			}
			packet := make([]byte, 65536)
			for {
				select {
				case <-stop:
					return nil
				default:
				}
				if n, _, err := syscall.Recvfrom(socket, packet, 0); err == nil && bytes.Contains(packet[:n], []byte(text)) {
					seen.Store(true)
				}
			}
		})
	}()
	for range 3 {
		l.reach()
	}
	time.AfterFunc(200*time.Millisecond, func() { close(stop) })
	if err := <-ended; err != nil {
		l.Fatal(err)
	}
	return seen.Load()
}
