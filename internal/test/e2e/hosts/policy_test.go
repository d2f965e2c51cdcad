//go:build integration

package hosts

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netns"

	"tend.dev/tend/internal/test/testimage"
)

const scopes = `
network "tend0" {
  driver = "vxlan"
  %s
}

deployment "shop" "front" {
  image    = "web:1"
  replicas = 3
  ports    = ["8080"]
}

deployment "db" "store" {
  image    = "web:1"
  replicas = 3
  ports    = ["8080"]
}

ingress "db" "store" {
  host = "store.example"
  port = 8080
}
`

// late starts once its init container has reached a pod.
const late = `
deployment "shop" "late" {
  image    = "web:1"
  replicas = 3

  init "reach" {
    command = ["%s", "call", "GET", "http://%s:8080/"]
    timeout = "1m"
    retries = 3
  }
}
`

// The policies of the test.
const (
	apart     = ""
	shopToDB  = "allow {\n from = [\"shop\"]\n to = [\"db\"]\n }"
	allToAll  = "allow {\n from = [\"*\"]\n to = [\"*\"]\n }"
	frontPods = "front"
	storePods = "store"
)

// allow declares both scopes, and the policy between them.
func (l *lab) allow(policy string) {
	l.Helper()
	file := filepath.Join(l.folder, "scopes.hcl")
	if err := os.WriteFile(file, fmt.Appendf(nil, scopes, policy), 0o644); err != nil {
		l.Fatal(err)
	}
	l.must("apply", "-f", file)
}

// named returns a host's ready pod of a deployment.
func named(on []pod, name string) pod {
	for _, p := range on {
		if strings.Contains(p.Name, "-"+name+".") {
			return p
		}
	}
	return pod{}
}

// scopesEverywhere waits until each host has a ready pod of each scope, and returns them by host.
func (l *lab) scopesEverywhere() (pods map[string][]pod) {
	l.Helper()
	l.until("each host has a pod of each scope", func() bool {
		pods = l.pods()
		return !slices.ContainsFunc(l.hosts, func(h *host) bool {
			return named(pods[h.name], frontPods).Name == "" || named(pods[h.name], storePods).Name == ""
		})
	})
	return pods
}

// calls makes a request from within a container, by its host's engine: also where the host is cut off.
func (h *host) calls(from pod, url string) said {
	return h.docker("exec", from.Name, testimage.Program, "call", "GET", url)
}

// answers waits until the pod of one deployment gets an answer from another's, on all hosts.
func (l *lab) answers(pods map[string][]pod, from, to string) {
	l.Helper()
	for _, h := range l.hosts {
		for _, other := range l.hosts {
			target := named(pods[other.name], to)
			l.until(fmt.Sprintf("%s of %s reaches %s of %s", from, h.name, to, other.name), func() bool {
				return strings.Contains(h.calls(named(pods[h.name], from), "http://"+target.Address+":8080/").output, target.Name)
			})
		}
	}
}

// refuses waits until the pod of one deployment is refused by another's, on all hosts, by address and by name.
func (l *lab) refuses(pods map[string][]pod, from, to string) {
	l.Helper()
	for _, h := range l.hosts {
		for _, other := range l.hosts {
			url := "http://" + named(pods[other.name], to).Address + ":8080/"
			l.until(fmt.Sprintf("%s of %s is refused by %s of %s", from, h.name, to, other.name), func() bool {
				return strings.Contains(h.calls(named(pods[h.name], from), url).output, "no route to host")
			})
		}
	}
}

func TestScopesAreApart(t *testing.T) {
	l := newLab(t, 3)
	l.hosts[0].startServer()
	for _, h := range l.hosts[1:] {
		h.startAgent()
	}
	l.until("all have joined", func() bool { return strings.Count(l.command("nodes").output, "ready") == 3 })
	l.allow(apart)
	pods := l.scopesEverywhere()
	t.Run("Apart", func(t *testing.T) {
		l.answers(pods, frontPods, frontPods)
		l.answers(pods, storePods, storePods)
		l.refuses(pods, frontPods, storePods)
		l.refuses(pods, storePods, frontPods)
		l.until("the name of another scope is answered",
			func() bool { return l.names(named(pods["h2"], frontPods), "store.db") != "" })
		if got := l.hosts[1].calls(named(pods["h2"], frontPods), "http://store.db:8080/"); !strings.Contains(got.output,
			"no route to host") {
			t.Errorf("by name: %s", got.output)
		}
	})
	t.Run("Inits", func(t *testing.T) {
		// only their own node knows their addresses, yet they reach pods of their scope on others
		for _, h := range l.hosts {
			file := filepath.Join(l.folder, "late.hcl")
			text := fmt.Appendf(nil, late, testimage.Program, named(pods[h.name], frontPods).Address)
			if err := os.WriteFile(file, text, 0o644); err != nil {
				t.Fatal(err)
			}
			l.must("apply", "-f", file)
		}
		l.must("delete", "deployment", "shop/late")
	})
	t.Run("Ingress", func(*testing.T) { // the proxy of each host reaches the pods of all
		for _, h := range l.hosts {
			for range 6 {
				l.until("the ingress of "+h.name+" answers", func() bool {
					code, err := h.get("http://store.example/", h.address+":80")
					return err == nil && code == 200
				})
			}
		}
	})
	t.Run("Allowed", func(t *testing.T) {
		l.allow(shopToDB)
		l.answers(pods, frontPods, storePods)
		l.refuses(pods, storePods, frontPods)
		held := l.hosts[1].dial(t, named(pods["h2"], frontPods), named(pods["h2"], storePods).Address+":8080")
		far := l.hosts[1].dial(t, named(pods["h2"], frontPods), named(pods["h3"], storePods).Address+":8080")
		for _, conn := range []net.Conn{held, far} {
			if !speaks(conn) {
				t.Error("a connection that is allowed has no answer")
			}
		}
		l.allow(apart)
		l.refuses(pods, frontPods, storePods)
		for _, conn := range []net.Conn{held, far} {
			if speaks(conn) {
				t.Error("a connection outlives the policy that allowed it")
			}
		}
	})
	onlyLong(t, "PutBack", func(*testing.T) { // rules that another program removes
		for _, harm := range []string{"delete table inet tend", "flush chain inet tend from-shop",
			"insert rule inet tend between accept"} {
			l.hosts[1].run(append([]string{"nft"}, strings.Fields(harm)...)...)
			l.refuses(pods, frontPods, storePods)
		}
	})
	onlyLong(t, "CutOff", func(*testing.T) { apartWhileCutOff(l) })
	onlyLong(t, "AllToAll", func(*testing.T) {
		l.allow(allToAll)
		for _, h := range l.hosts {
			l.until(h.name+" has no rules", func() bool { return h.run("nft", "list", "table", "inet", "tend").err != nil })
		}
		l.must("scale", "shop/front", "5") // the pods of the host that was cut off are elsewhere: new ones go there
		l.must("scale", "db/store", "5")
		pods := l.scopesEverywhere()
		l.answers(pods, frontPods, storePods)
		l.answers(pods, storePods, frontPods)
	})
}

// apartWhileCutOff: a host that is cut off keeps its scopes apart and the pods of each together, also in containers
// that it replaced meanwhile.
func apartWhileCutOff(l *lab) {
	lost := l.hosts[2]
	l.must("scale", "db/store", "6")
	var front pod
	var stores []pod
	l.until(lost.name+" has two pods of a scope", func() bool {
		on := l.pods()[lost.name]
		front, stores = named(on, frontPods),
			slices.DeleteFunc(on, func(p pod) bool { return !strings.Contains(p.Name, "-"+storePods+".") })
		return front.Name != "" && len(stores) >= 2
	})
	store, mate := stores[0], stores[1]
	lost.cut(true)
	id := lost.docker("inspect", "--format", "{{.Id}}", store.Name).output
	lost.docker("rm", "--force", id)
	l.until("it is there again", func() bool {
		is := lost.docker("inspect", "--format", "{{.Id}} {{.State.Running}}", store.Name)
		return is.err == nil && !strings.HasPrefix(is.output, id) && strings.HasSuffix(is.output, "true")
	})
	judged := func(from, to pod) {
		url := "http://" + lost.docker("inspect", "--format", "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}",
			to.Name).output + ":8080/"
		l.until("its other scope is refused",
			func() bool { return strings.Contains(lost.calls(front, url).output, "no route to host") })
		l.until("another pod of its own scope is answered",
			func() bool { return strings.Contains(lost.calls(from, url).output, to.Name) })
	}
	judged(mate, store)
	lost.run("nft", "delete", "table", "inet", "tend") // the table is restored there too
	judged(mate, store)
	lost.tend.end(syscall.SIGKILL)
	lost.startAgent()
	lost.docker("stop", mate.Name, store.Name)
	lost.docker("start", store.Name) // which may get the address that the other had
	lost.docker("start", mate.Name)
	judged(store, mate)
	judged(mate, store)
	lost.cut(false)
	l.until("it is back", func() bool { return strings.Count(l.command("nodes").output, "ready") == 3 })
}

// dial connects from within a container's namespace.
func (h *host) dial(t *testing.T, from pod, address string) (conn net.Conn) {
	t.Helper()
	pid, err := strconv.Atoi(h.docker("inspect", "--format", "{{.State.Pid}}", from.Name).output)
	if err != nil {
		t.Fatal(err)
	}
	err = within(func() (netns.NsHandle, error) { return netns.GetFromPid(pid) }, func() (err error) {
		conn, err = net.DialTimeout("tcp", address, 30*time.Second)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// speaks reports whether a request over a connection is answered.
func speaks(conn net.Conn) bool {
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := conn.Write([]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n")); err != nil {
		return false
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return false
	}
	_, err = io.Copy(io.Discard, answer.Body)
	return err == nil && answer.StatusCode == 200
}
