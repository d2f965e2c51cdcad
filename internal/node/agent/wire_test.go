package agent_test

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/test/bufconn"

	"tend.dev/tend/internal/node/nodeapi"
	"tend.dev/tend/internal/node/nodeapi/authority"
	"tend.dev/tend/internal/node/nodeapi/local"
	"tend.dev/tend/internal/node/nodeapi/nodeapitest"
	"tend.dev/tend/internal/node/nodeapi/remote"
)

// wireVariable is set for the process whose agents reach their server over HTTP/2 with mutual TLS.
const wireVariable = "TEND_TEST_WIRE"

var overWire = os.Getenv(wireVariable) != ""

// TestOverTheWire runs every test of the package again with agents that have only a connection to their server, but for
// those that take an engine's time: internal/test/e2e/hosts covers agents with Docker over a connection.
func TestOverTheWire(t *testing.T) {
	if overWire {
		t.Fatal("it runs itself")
	}
	again := exec.Command(os.Args[0], "-test.skip=^(TestOverTheWire$|TestDocker)", "-test.timeout=10m")
	again.Env = append(os.Environ(), wireVariable+"=1")
	if output, err := again.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, output)
	}
}

// connect returns what the harness's agent knows of its server.
func (l *harness) connect(service *local.Service, log *slog.Logger) (control nodeapi.Control, stop func()) {
	if !overWire {
		return service.Node(nodeID), func() {}
	}
	l.t.Helper()
	ca, err := authority.Found("test", time.Now)
	l.must(err)
	own, err := ca.Server(24 * 365 * time.Hour)
	l.must(err)
	p := bufconn.Listen(1 << 20) // a listener without a network
	server := &http.Server{
		Handler:   remote.NewHandler(remote.HandlerOptions{Service: service, Node: nodeapitest.NodeOf, Logger: log}),
		ErrorLog:  slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		TLSConfig: ca.TLS(func() (*tls.Certificate, error) { return &own, nil }),
	}
	transport := &http.Transport{TLSClientConfig: l.nodeTLS(ca), ForceAttemptHTTP2: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return p.DialContext(ctx) }}
	client := remote.New(remote.Options{Server: "https://server", HTTP: &http.Client{Transport: transport}, Logger: log})
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = server.ServeTLS(p, "", "") })
	running.Go(func() { _ = client.Run(ctx) })
	return client, func() {
		cancel()
		transport.CloseIdleConnections()
		_ = server.Close()
		running.Wait()
	}
}

func (l *harness) nodeTLS(ca *authority.Authority) *tls.Config {
	l.t.Helper()
	key, request, err := authority.NewRequest()
	l.must(err)
	certificate, err := ca.Node(authority.Machine{Node: nodeID}, request)
	l.must(err)
	pair, err := nodeapitest.Pair(certificate, key)
	l.must(err)
	config, err := authority.NodeTLS(ca.PEM(), func() (*tls.Certificate, error) { return &pair, nil }, "h2")
	l.must(err)
	return config
}
