//go:build integration

package hosts

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// everyNode is served at a port of every node, and for a host by the nodes that may hold its keys.
const everyNode = `
%s
ingress "shop" "web" { host = "web.example" }
ingress "shop" "web-port" {
  listen  = "7000"
  service = "web"
}
`

// TestAPortAnswersOnAPlainWorker: a machine that joined without --ingress answers at a port of every node, from a pod
// of another machine, and at no host.
func TestAPortAnswersOnAPlainWorker(t *testing.T) {
	l := newLab(t, 2)
	l.hosts[0].startServer()
	worker := l.hosts[1]
	worker.plain = true
	worker.startAgent()
	l.until("both have joined", func() bool { return strings.Count(l.command("nodes").output, "ready") == 2 })
	file := filepath.Join(l.folder, "every.hcl")
	if err := os.WriteFile(file, []byte(fmt.Sprintf(everyNode, pinned("shop", "web", "h1", "", 1))), 0o644); err != nil {
		t.Fatal(err)
	}
	l.must("apply", "-f", file)
	var running sync.WaitGroup
	port, stop := newAsked(), make(chan struct{})
	l.until("the worker listens", func() bool {
		conn, err := worker.open("tcp", "7000")
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
	running.Go(func() { worker.ask("any.example", "7000", "shop-web", port, stop) })
	l.until("it answers", func() bool { return port.answered.Load() > 100 })
	close(stop)
	running.Wait()
	if port.wrong.Load() > 0 {
		t.Errorf("%d requests were answered by another workload: %v", port.wrong.Load(), port.last.Load())
	}
	if code, err := worker.get("http://web.example/", worker.address+":80"); err == nil && code == 200 {
		t.Error("the worker serves a host, whose keys it may not have")
	}
	l.must("nodes", "ingress", "h1", "off")
	l.until("it answers still", func() bool {
		conn, err := worker.open("tcp", "7000")
		if err != nil {
			return false
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(3 * time.Second))
		_, err = conn.Write([]byte("GET / HTTP/1.0\r\n\r\n"))
		answer := make([]byte, 4<<10)
		n, _ := conn.Read(answer)
		return err == nil && strings.Contains(string(answer[:n]), "200 OK")
	})
	l.must("delete", "ingress", "shop/web-port")
	l.until("the port is closed", func() bool {
		conn, err := worker.open("tcp", "7000")
		if err == nil {
			_ = conn.Close()
		}
		return err != nil
	})
}
