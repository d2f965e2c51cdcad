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

// slowly is a body that takes seconds to send.
type slowly struct{ left int }

func (s *slowly) Read(into []byte) (int, error) {
	if s.left == 0 {
		return 0, io.EOF
	}
	<-time.After(200 * time.Millisecond)
	s.left--
	into[0] = 'x'
	return 1, nil
}

// TestAnAgentsRestartCutsNoRequest: requests that come through another node's ingress to the only pod of a workload,
// whose agent is restarted meanwhile: short ones, and ones with a body that is half sent.
func TestAnAgentsRestartCutsNoRequest(t *testing.T) {
	l := newLab(t, 2)
	l.hosts[0].startServer()
	l.hosts[1].startAgent()
	l.until("both have joined", func() bool { return strings.Count(l.command("nodes").output, "ready") == 2 })
	file := filepath.Join(l.folder, "restart.hcl")
	text := pinned("shop", "web", "h2", "", 1) + `ingress "shop" "web" { host = "web.example" }` + "\n"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	l.must("apply", "-f", file)
	h := l.hosts[0]
	l.until("the ingress of h1 serves it", func() bool {
		code, err := h.get("http://web.example/", h.address+":80")
		return err == nil && code == 200
	})
	short, long, stop := newAsked(), newAsked(), make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() { h.ask("web.example", "80", "shop-web", short, stop) })
	for range 4 {
		running.Go(func() { h.send("web.example", long, stop) })
	}
	rounds := 1
	if whole {
		rounds = 3
	}
	for range rounds {
		before := long.answered.Load()
		l.until("requests are under way", func() bool { return long.answered.Load() > before+4 })
		began := time.Now()
		l.hosts[1].tend.end(syscall.SIGTERM)
		t.Logf("the agent ended after %s", time.Since(began).Round(time.Millisecond))
		l.hosts[1].startAgent()
		before = short.answered.Load()
		l.until("it answers again", func() bool { return short.answered.Load() > before+100 })
	}
	close(stop)
	running.Wait()
	for name, a := range map[string]*asked{"short": short, "long": long} {
		t.Logf("%s: %d answered, %d failed", name, a.answered.Load(), a.failed.Load())
		if a.failed.Load() > 0 || a.answered.Load() == 0 {
			t.Errorf("%s: %d requests failed, the last one: %v", name, a.failed.Load(), a.last.Load())
		}
	}
}

// send sends requests with a slow body to the ingress of a machine until stop is closed.
func (h *host) send(name string, a *asked, stop <-chan struct{}) {
	client := &http.Client{Timeout: 15 * time.Second, Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext:       func(context.Context, string, string) (net.Conn, error) { return h.open("tcp", "80") },
	}}
	for {
		select {
		case <-stop:
			return
		default:
		}
		answer, err := client.Post("http://"+name+"/sum", "text/plain", &slowly{left: 10})
		if err != nil {
			a.failed.Add(1)
			a.last.Store(err.Error())
			continue
		}
		text, _ := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			a.failed.Add(1)
			a.last.Store(fmt.Sprint(answer.StatusCode, " ", string(text)))
			continue
		}
		a.answered.Add(1)
	}
}
