//go:build integration && long

package e2e

import (
	"context"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"tend.dev/tend/api"
)

// TestALateEngineDoesNotMixUpApps: while the server is down, the containers of two apps change addresses. The server
// starts, and the engine answers late. No request reaches the other app: those that come meanwhile wait.
func TestALateEngineDoesNotMixUpApps(t *testing.T) {
	d := &relay{t: t, path: filepath.Join(t.TempDir(), "engine.sock")}
	d.open()
	defer d.shut()
	f := newFront(t, "--docker-host", "unix://"+d.path)
	apps := map[string]string{"a": "v1", "b": "v2"}
	addresses, containers := map[string]string{}, map[string]string{}
	address := func(name string) string {
		return f.inspect(containers[name]).NetworkSettings.Networks[f.network].IPAddress
	}
	for name, version := range apps {
		f.deploy(f.manifest(name, runs(version)))
		f.serve(name, api.IngressSpec{Host: name + ".test", Port: 8080})
		containers[name] = f.pods(name)[0].Name
		addresses[name] = address(name)
	}

	f.process.kill()
	f.engine("stop", "-t", "0", containers["a"], containers["b"]).must()
	first, second := "a", "b" // the engine assigns the lowest free address: the container with the higher one starts first
	if strings.Compare(addresses["a"], addresses["b"]) < 0 {
		first, second = second, first
	}
	f.engine("start", containers[first]).must()
	f.engine("start", containers[second]).must()
	if address("a") != addresses["b"] || address("b") != addresses["a"] {
		t.Fatalf("the addresses were not swapped: %v became %s and %s", addresses, address("a"), address("b"))
	}

	d.shut()
	f.machine.startWithout()
	var asked, answered, wrong atomic.Int64
	var served sync.Map
	ctx, cancel := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	for name, version := range apps {
		c := f.asks(f.plain, nil)
		for range 4 {
			clients.Go(func() {
				for ctx.Err() == nil {
					request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+name+".test/", nil)
					if err != nil {
						t.Error(err)
						return
					}
					request.Close = true
					asked.Add(1)
					status, text := f.answer(c, request)
					if status != http.StatusOK {
						continue // it waited in vain, or the relay is not open yet
					}
					answered.Add(1)
					served.Store(name, true)
					if !strings.HasPrefix(text, "hello "+version+" ") {
						wrong.Add(1)
						t.Errorf("%s.test is answered %q", name, text)
					}
				}
			})
		}
	}
	f.until("every client waits, or was answered", func() bool { return asked.Load() >= 8 })
	f.degraded("a", "EngineUnavailable")
	f.degraded("b", "EngineUnavailable")
	if n := answered.Load(); n > 0 {
		t.Errorf("%d requests were answered before the engine said where the containers are", n)
	}
	d.open()
	f.until("both are served again", func() bool {
		_, a := served.Load("a")
		_, b := served.Load("b")
		return a && b && answered.Load() > 200
	})
	cancel()
	clients.Wait()
	if n := wrong.Load(); n > 0 {
		t.Errorf("%d of %d requests were answered by the other app", n, answered.Load())
	}
}

// answer returns the status and the text of a response; 0 if the request failed.
func (f *front) answer(c *http.Client, request *http.Request) (int, string) {
	response, err := c.Do(request)
	if err != nil {
		return 0, ""
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, ""
	}
	return response.StatusCode, string(text)
}
