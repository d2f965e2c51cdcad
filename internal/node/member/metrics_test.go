package member

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"

	"tend.dev/tend/internal/store/secret"
)

// TestMetrics: a running agent serves the metrics of its parts and of its process, and a health check; both end with
// it.
func TestMetrics(t *testing.T) {
	root, i := joined(t, newServer(t))
	keys, err := secret.Open(root+"/secret.key", "")
	if err != nil {
		t.Fatal(err)
	}
	o := options(root, "", "")
	o.Runtime, o.MetricsListen, o.Ingress.HTTP, o.Ingress.HTTPS = "process", "127.0.0.1:0", "off", "off"
	o.Options = o.WithDefaults()
	o.Dial = (&net.Dialer{}).DialContext
	listens := make(chan string, 1)
	o.Logger = slog.New(slog.NewTextHandler(addressOf(listens), nil))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, o, i, keys, false) }()
	base := "http://" + <-listens
	web := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	ask := func(path string) (int, string) {
		t.Helper()
		response, err := web.Get(base + path)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, string(body)
	}
	if status, body := ask("/healthz"); status != 200 || body != `{"status":"ok"}`+"\n" {
		t.Errorf("health: %d %s", status, body)
	}
	status, body := ask("/metrics")
	for _, want := range []string{`tend_build_info{`, `tend_queue_depth{kind="task"}`, "go_goroutines ",
		"process_open_fds "} {
		if !strings.Contains(body, want) {
			t.Errorf("%d, the metrics lack %s:\n%s", status, want, body)
		}
	}
	if status, _ := ask("/v1/nodes"); status != 404 {
		t.Errorf("another path: %d", status)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if conn, err := net.Dial("tcp", strings.TrimPrefix(base, "http://")); err == nil {
		_ = conn.Close()
		t.Error("it listens after its end")
	}
}

// addressOf sends the address of the log's line about metrics.
type addressOf chan<- string

// Write implements io.Writer.
func (a addressOf) Write(line []byte) (int, error) {
	if _, address, ok := bytes.Cut(line, []byte("msg=metrics address=")); ok {
		a <- strings.TrimSpace(string(address))
	}
	return len(line), nil
}

// TestMetricsWithoutAnAddress: the agent says which flag is wrong, and leaves nothing behind.
func TestMetricsWithoutAnAddress(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	root, i := joined(t, newServer(t))
	o := options(root, "", "")
	o.MetricsListen = taken.Addr().String()
	if err := run(t.Context(), o, i, nil, false); err == nil ||
		!strings.Contains(err.Error(), "--metrics-listen "+o.MetricsListen) {
		t.Errorf("%v", err)
	}
}
