//go:build integration

package hosts

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Each deployment is on one host, so that the containers of both hosts have the same addresses; the last one has none
// of its own.
const equalRanges = `
%s
%s
%s
ingress "shop" "web" { host = "web.example" }
ingress "bank" "api" { host = "api.example" }
ingress "bank" "own" {
  host = "own.example"
  port = 8081
}
ingress "shop" "web-port" {
  listen  = "7000"
  service = "web"
}
ingress "bank" "api-port" {
  listen  = "7053/udp"
  service = "api"
  port    = 5353
}
`

func pinned(scope, name, host, more string, replicas int) string {
	return fmt.Sprintf(`deployment %q %q {
  image    = "web:1"
  replicas = %d
  ports    = ["8080"]
  placement { constraints = ["node.id == %s"] }
  %s
}
`, scope, name, replicas, host, more)
}

// open opens a connection from the machine to one of its own ports.
func (h *host) open(protocol, port string) (conn net.Conn, err error) {
	err = in(h.space, func() (err error) {
		conn, err = net.DialTimeout(protocol, net.JoinHostPort(h.address, port), 3*time.Second)
		return err
	})
	return conn, err
}

// ask sends requests for a host to a port of a machine until stop is closed: to its ingress over connections that are
// kept. Each has a path of its own, and is answered with the name of the pod, which is of the object that is meant.
func (h *host) ask(name, port, object string, a *asked, stop <-chan struct{}) {
	transport := &http.Transport{
		MaxIdleConnsPerHost: 2, DisableKeepAlives: port != "80",
		DialContext: func(context.Context, string, string) (net.Conn, error) { return h.open("tcp", port) },
	}
	defer transport.CloseIdleConnections()
	client := &http.Client{Timeout: 15 * time.Second, Transport: transport}
	for n := 0; ; n++ {
		select {
		case <-stop:
			return
		default:
		}
		path := fmt.Sprint("/who/", h.name, "/", name, "/", n)
		answer, err := client.Get("http://" + name + path)
		if err != nil {
			a.failed.Add(1)
			a.last.Store(err.Error())
			continue
		}
		text, _ := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		switch pod := strings.TrimSpace(string(text)); {
		case answer.StatusCode == http.StatusOK && strings.HasPrefix(pod, object+"."):
			if port != "80" {
				path = "" // a proxy of connections reads none
			}
			a.answeredBy(h.name, path, pod)
		case answer.StatusCode == http.StatusOK:
			a.wrong.Add(1)
			a.last.Store(string(text))
		default:
			a.failed.Add(1)
			a.last.Store(fmt.Sprint(answer.StatusCode, " ", string(text)))
		}
	}
}

// askDatagrams sends datagrams to a port of a machine until stop is closed, each from another port of the client.
func (h *host) askDatagrams(port, object string, a *asked, stop <-chan struct{}) {
	buffer := make([]byte, 1<<10)
	for {
		select {
		case <-stop:
			return
		default:
		}
		conn, err := h.open("udp", port)
		if err != nil {
			a.failed.Add(1)
			a.last.Store(err.Error())
			continue
		}
		_ = conn.SetDeadline(time.Now().Add(3 * time.Second))
		_, _ = io.WriteString(conn, "who")
		n, err := conn.Read(buffer)
		_ = conn.Close()
		_, pod, _ := strings.Cut(strings.TrimSpace(string(buffer[:n])), " from ")
		switch {
		case err != nil:
			a.failed.Add(1)
			a.last.Store(err.Error())
		case strings.HasPrefix(pod, object+"."):
			a.answeredBy(h.name, "", pod)
		default:
			a.wrong.Add(1)
			a.last.Store(string(buffer[:n]))
		}
	}
}

// TestARequestReachesItsPod: without a network object, on engines that give the same addresses, with pods that move,
// addresses that change hands and an agent that is killed, each request is answered by the pod to which the proxy sent
// it, one of the workload that its host names, on every node; and so is traffic to a port of the nodes, over TCP and
// UDP. Each pod says its own name, and the access logs say whom the proxies meant.
func TestARequestReachesItsPod(t *testing.T) {
	l := newLab(t, 2)
	l.logs = true
	for _, h := range l.hosts { // as a Tend of before made them, whose nodes were given no subnets when they joined
		if made := h.docker("network", "create", "--subnet", "172.18.0.0/16", "tend0"); made.err != nil {
			t.Fatal(made.output)
		}
	}
	l.hosts[0].startServer()
	l.hosts[1].startAgent()
	l.until("both have joined", func() bool { return strings.Count(l.command("nodes").output, "ready") == 2 })
	declare := func(web, api int) {
		t.Helper()
		file := filepath.Join(l.folder, "apart.hcl")
		text := fmt.Sprintf(equalRanges, pinned("shop", "web", "h2", "", web),
			pinned("bank", "api", "h1", `env = { UDP = "5353" }`, api),
			pinned("bank", "own", "h2", `network_mode = "host"
  env          = { PORT = "8081" }`, 1))
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		l.must("apply", "-f", file)
	}
	declare(3, 3)
	total, stop := map[string]*asked{}, make(chan struct{})
	var running sync.WaitGroup
	for name, object := range map[string]string{"web.example": "shop-web", "api.example": "bank-api",
		"own.example": "bank-own"} {
		total[name] = newAsked()
		for _, h := range l.hosts {
			l.until("the ingress of "+h.name+" serves "+name, func() bool {
				code, err := h.get("http://"+name+"/", h.address+":80")
				return err == nil && code == 200
			})
			running.Go(func() { h.ask(name, "80", object, total[name], stop) })
		}
	}
	total["port 7000/tcp"], total["port 7053/udp"] = newAsked(), newAsked()
	for _, h := range l.hosts {
		for _, port := range []struct{ protocol, number string }{{"tcp", "7000"}, {"udp", "7053"}} {
			l.until("a port answers on "+h.name, func() bool {
				conn, err := h.open(port.protocol, port.number)
				if err == nil {
					_ = conn.Close()
				}
				return err == nil
			})
		}
		running.Go(func() { h.ask("any.example", "7000", "shop-web", total["port 7000/tcp"], stop) })
		running.Go(func() { h.askDatagrams("7053", "bank-api", total["port 7053/udp"], stop) })
	}
	rounds := 1
	if whole {
		rounds = 12
	}
	for i := range rounds {
		l.must("restart", "shop/web")
		l.must("restart", "bank/api")
		declare(2+i%2, 4-i%2)
		for _, h := range l.hosts { // what leaves its address to the others
			for _, id := range h.containers(map[bool]string{true: "api", false: "web"}[h == l.hosts[0]]) {
				h.docker("kill", id)
			}
		}
		l.hosts[1].tend.end(syscall.SIGKILL)
		l.hosts[1].startAgent()
		l.until("all is ready again", func() bool { pods := l.pods(); return len(pods["h1"])+len(pods["h2"]) == 7 })
	}
	close(stop)
	running.Wait()
	answered, all := int64(0), l.chosen()
	for name, a := range total {
		a.judge(t, name, all, 2*rounds) // one of each connection that a killed agent had
		answered += a.answered.Load()
		t.Logf("%s: %d answered, %d failed, %d by another; %v", name, a.answered.Load(), a.failed.Load(),
			a.wrong.Load(), a.last.Load())
		if a.wrong.Load() > 0 || a.answered.Load() == 0 {
			t.Errorf("%s: %d requests were answered by another pod, the last one by %v", name,
				a.wrong.Load(), a.last.Load())
		}
	}
	if want := int64(100_000); whole && answered < want {
		t.Errorf("only %d requests were answered, want %d", answered, want)
	}
}
