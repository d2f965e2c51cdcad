//go:build integration

package e2e

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tend.dev/tend/api"
)

// front is a machine whose ingress listens on free ports of loopback.
type front struct {
	*machine
	plain, secure string
}

func newFront(t *testing.T, flags ...string) *front {
	t.Helper()
	plain, secure := fmt.Sprintf("127.0.0.1:%d", freePort(t)), fmt.Sprintf("127.0.0.1:%d", freePort(t))
	flags = append([]string{"--ingress-http", plain, "--ingress-https", secure}, flags...)
	return &front{newMachine(t, flags...).start(), plain, secure}
}

// serve applies an ingress to a deployment and waits until it is served.
func (f *front) serve(name string, spec api.IngressSpec) {
	f.Helper()
	ref := api.Ref{Kind: api.KindIngress, Scope: f.scope, Name: name}
	f.apply(api.Object{Kind: ref.Kind, Scope: ref.Scope, Name: ref.Name, Spec: mustJSON(f.T, spec)})
	f.until(name+" is served", func() bool { return f.ingress(name, "Ready").Status == api.ConditionTrue })
}

// ingress returns a condition of an ingress.
func (f *front) ingress(name, condition string) api.Condition {
	object, err := f.client.Object(f.Context(), api.Ref{Kind: api.KindIngress, Scope: f.scope, Name: name})
	if err != nil {
		return api.Condition{}
	}
	status, err := api.DecodeStatus[api.IngressStatus](object)
	if err != nil {
		f.Fatal(err)
	}
	if found := api.FindCondition(status.Conditions, condition); found != nil {
		return *found
	}
	return api.Condition{}
}

// asks returns a client that always connects to one address, for any host.
func (f *front) asks(address string, roots *x509.CertPool) *http.Client {
	transport := &http.Transport{
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, address)
		},
		TLSClientConfig: &tls.Config{RootCAs: roots}, MaxIdleConnsPerHost: 100,
	}
	f.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

func (f *front) body(c *http.Client, where string) (int, string) {
	f.Helper()
	response, err := c.Get(where)
	if err != nil {
		f.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		f.Fatal(err)
	}
	return response.StatusCode, strings.TrimSpace(string(text))
}

// TestIngress: from a manifest to a served host, with a certificate of the cluster's own authority, and back.
func TestIngress(t *testing.T) {
	f := newFront(t)
	f.deploy(f.manifest("app", replicas(2)))
	f.serve("app", api.IngressSpec{Host: "app.test", Port: 8080, TLS: &api.IngressTLS{Provider: "internal"}})
	root, err := f.client.Authority(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(root)
	secure, plain := f.asks(f.secure, roots), f.asks(f.plain, nil)
	if status, text := f.body(secure, "https://app.test/"); status != 200 || !strings.HasPrefix(text, "hello v1 ") {
		t.Errorf("%d %q", status, text)
	}
	if _, text := f.body(secure, "https://app.test/address"); text != "127.0.0.1 https" {
		t.Errorf("the pod receives %q", text)
	}
	if status, _ := f.body(plain, "http://app.test/"); status != http.StatusPermanentRedirect {
		t.Errorf("plain: %d", status)
	}
	if status, _ := f.body(plain, "http://other.test/"); status != http.StatusNotFound {
		t.Errorf("another host: %d", status)
	}

	f.wantSaid(f.tend("ingress", "maintenance", f.scope+"/app", "--message", "back at noon"), 0)
	f.until("it is in maintenance", func() bool {
		status, text := f.body(secure, "https://app.test/")
		return status == 503 && text == "503 back at noon"
	})
	f.wantSaid(f.tend("ingress", "resume", f.scope+"/app"), 0)
	f.until("it is back", func() bool { status, _ := f.body(secure, "https://app.test/"); return status == 200 })

	f.deploy(f.manifest("app", replicas(0)))
	f.until("it says that no pod serves", func() bool { return f.ingress("app", "Ready").Reason == "NoReadyPods" })
	f.wantSaid(f.tend("delete", "ingress", f.scope+"/app"), 0)
	f.until("the listener is closed", func() bool {
		conn, err := net.Dial("tcp", f.plain)
		if err == nil {
			conn.Close()
		}
		return err != nil
	})
}

// clients are the clients of one front; their failures are counted, with the first error.
type clients struct {
	*front
	ctx            context.Context
	all            sync.WaitGroup
	served, failed atomic.Int64
	first          atomic.Pointer[string]
}

func (c *clients) fault(format string, args ...any) {
	if c.ctx.Err() != nil {
		return // the end of the test, not a fault
	}
	c.failed.Add(1)
	text := fmt.Sprintf(format, args...)
	c.first.CompareAndSwap(nil, &text)
}

// run repeats do until the clients are stopped. It pauses in between: otherwise it would take all processors from the
// tested server and from parallel tests.
func (c *clients) run(n int, do func() error) {
	for range n {
		c.all.Go(func() {
			tick := time.NewTicker(5 * time.Millisecond)
			defer tick.Stop()
			for c.ctx.Err() == nil {
				if err := do(); err != nil {
					c.fault("%v", err)
				} else {
					c.served.Add(1)
				}
				<-tick.C
			}
		})
	}
}

func (c *clients) get(client *http.Client, fresh bool) error {
	request, err := http.NewRequestWithContext(c.ctx, http.MethodGet, "http://app.test/", nil)
	if err != nil {
		return err
	}
	request.Close = fresh
	return c.answered(client, request, "hello ")
}

func (c *clients) answered(client *http.Client, request *http.Request, want string) error {
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("the answer broke off: %w", err)
	}
	if response.StatusCode != http.StatusOK || !strings.HasPrefix(string(text), want) {
		return fmt.Errorf("%s %s: %d %q", request.Method, request.URL.Path, response.StatusCode, text)
	}
	return nil
}

// slowly sends a body in parts, with pauses between.
func (c *clients) slowly(client *http.Client) error {
	reader, writer := io.Pipe()
	go func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for range 20 {
			if _, err := writer.Write(make([]byte, 1000)); err != nil {
				return
			}
			<-tick.C
		}
		_ = writer.Close()
	}()
	request, err := http.NewRequestWithContext(c.ctx, http.MethodPost, "http://app.test/sum", reader)
	if err != nil {
		return err
	}
	return c.answered(client, request, "20000\n")
}

// talk upgrades a connection and exchanges a few lines over it.
func (c *clients) talk() error {
	conn, err := new(net.Dialer).DialContext(c.ctx, "tcp", c.plain)
	if err != nil {
		return err
	}
	defer conn.Close()
	fmt.Fprint(conn, "GET /echo HTTP/1.1\r\nHost: app.test\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
	reader := bufio.NewReader(conn)
	response, err := http.ReadResponse(reader, nil)
	if err != nil || response.StatusCode != http.StatusSwitchingProtocols {
		return fmt.Errorf("no upgrade: %v %v", response, err)
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for n := range 20 {
		fmt.Fprintf(conn, "line %d\n", n)
		if line, err := reader.ReadString('\n'); line != fmt.Sprintf("line %d\n", n) {
			return fmt.Errorf("the connection broke: %q %v", line, err)
		}
		<-tick.C
	}
	return nil
}

// TestNoRequestIsLostInRollouts: while a deployment is replaced over and over, no request fails: on new, kept and
// upgraded connections, with slow bodies, by host and at a port of the node. The pods end at once when they are
// stopped: only their draining keeps requests whole.
func TestNoRequestIsLostInRollouts(t *testing.T) {
	const rollouts = 2
	f := newFront(t)
	f.deploy(f.manifest("app", replicas(3)))
	f.serve("app", api.IngressSpec{Host: "app.test", Port: 8080})
	ctx, cancel := context.WithCancel(t.Context())
	c := &clients{front: f, ctx: ctx}
	keep := f.asks(f.plain, nil)
	c.run(4, func() error { return c.get(keep, true) })
	c.run(2, func() error { return c.get(keep, false) })
	c.run(2, func() error { return c.slowly(keep) })
	c.run(2, c.talk)
	port := fmt.Sprintf("127.0.0.1:%d", freePort(t))
	f.serve("app-port", api.IngressSpec{Listen: port, Service: "app", Port: 8080})
	direct := f.asks(port, nil)
	c.run(2, func() error { return c.get(direct, true) })
	c.run(1, func() error { return c.slowly(f.asks(port, nil)) })
	for n := range rollouts {
		f.deploy(f.manifest("app", replicas(3), runs([]string{"v2", "v1"}[n%2])))
	}
	f.deploy(f.manifest("app", replicas(1)))
	f.deploy(f.manifest("app", replicas(1), runs("v2"))) // one replica, start-first: no gap either
	cancel()
	c.all.Wait()
	t.Logf("%d requests served", c.served.Load())
	if first := c.first.Load(); first != nil {
		t.Errorf("%d of %d requests failed, the first: %s", c.failed.Load(), c.served.Load(), *first)
	}
	if c.served.Load() < 1000 {
		t.Errorf("only %d requests were made: that proves little", c.served.Load())
	}
}
