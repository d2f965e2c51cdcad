package acmetest

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Server is an ACME server of a test, with a DNS server that resolves every name to this machine.
type Server struct {
	// Directory is the URL of the ACME directory.
	Directory string
	// DNS is the address of the DNS server, HOST:PORT.
	DNS string
	// Trust holds the authorities of the server's own certificate and of its proxies', Issued that of the certificates
	// that the server issues.
	Trust, Issued *x509.CertPool

	own   []byte // the authorities in Trust, in PEM
	names string // the URL of the DNS server's API that sets the answers
}

// Start builds pebble and starts it until the test ends. It verifies challenges at the given ports.
func Start(t *testing.T, httpPort, tlsPort int) *Server {
	t.Helper()
	folder := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-C", module(t), "-o", folder+"/",
		"github.com/letsencrypt/pebble/v2/cmd/pebble", "github.com/letsencrypt/pebble/v2/cmd/pebble-challtestsrv")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the ACME server: %v\n%s", err, out)
	}
	p := &Server{Trust: x509.NewCertPool(), Issued: x509.NewCertPool()}
	p.trusts(ownCertificate(t, folder))
	dns, names, management, listen := Port(t), Port(t), Port(t), Port(t)
	p.DNS, p.names = fmt.Sprintf("127.0.0.1:%d", dns), fmt.Sprintf("http://127.0.0.1:%d", names)
	start(t, folder, "anagement", "pebble-challtestsrv", "-defaultIPv4", "127.0.0.1", "-defaultIPv6", "", "-dnsserver",
		fmt.Sprintf("127.0.0.1:%d", dns),
		"-http01", "", "-https01", "", "-tlsalpn01", "", "-doh", "", "-management", fmt.Sprintf("127.0.0.1:%d", names))
	config, err := json.Marshal(map[string]any{"pebble": map[string]any{
		"listenAddress":           fmt.Sprintf("127.0.0.1:%d", listen),
		"managementListenAddress": fmt.Sprintf("127.0.0.1:%d", management),
		"certificate":             filepath.Join(folder, "own.crt"), "privateKey": filepath.Join(folder, "own.key"),
		"httpPort": httpPort, "tlsPort": tlsPort, "domainBlocklist": []string{"blocked.test"},
		"retryAfter": map[string]int{"authz": 1, "order": 1},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "pebble.json"), config, 0o600); err != nil {
		t.Fatal(err)
	}
	start(t, folder, "ACME directory available", "pebble", "-config", "pebble.json", "-dnsserver",
		fmt.Sprintf("127.0.0.1:%d", dns))
	p.Directory = fmt.Sprintf("https://127.0.0.1:%d/dir", listen)
	p.Issued.AppendCertsFromPEM(p.get(t, fmt.Sprintf("https://127.0.0.1:%d/roots/0", management)))
	return p
}

// start runs a program until the test ends and waits for a text in its output.
func start(t *testing.T, folder, until, name string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	command := exec.CommandContext(ctx, filepath.Join(folder, name), args...)
	command.Dir = folder
	command.Env = append(os.Environ(), "PEBBLE_VA_NOSLEEP=1", "PEBBLE_WFE_NONCEREJECT=10")
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	command.Stdout, command.Stderr = writer, writer
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	_ = writer.Close()
	ready := make(chan struct{})
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		lines, said := bufio.NewScanner(reader), false
		for lines.Scan() {
			if !said && strings.Contains(lines.Text(), until) {
				said = true
				close(ready)
			}
		}
	}()
	t.Cleanup(func() { cancel(); _ = command.Wait(); _ = reader.Close(); <-drained })
	select {
	case <-ready:
	case <-drained:
		t.Fatalf("%s ended before it was ready", name)
	case <-time.After(30 * time.Second):
		t.Fatalf("%s did not get ready", name)
	}
}

// get reads from the ACME server, and retries because the server reports that it listens a moment before it does.
func (p *Server) get(t *testing.T, where string) []byte {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: p.Trust, MinVersion: tls.VersionTLS12}}
	defer transport.CloseIdleConnections()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, where, nil)
	if err != nil {
		t.Fatal(err)
	}
	for limit := time.After(20 * time.Second); ; {
		response, err := (&http.Client{Transport: transport}).Do(request)
		if err == nil {
			defer response.Body.Close()
			text, err := io.ReadAll(response.Body)
			if err != nil {
				t.Fatal(err)
			}
			return text
		}
		select {
		case <-tick.C:
		case <-limit:
			t.Fatal(err)
		}
	}
}

// Answer changes the DNS server's answer for a name, by a call of pebble-challtestsrv's API and its argument.
func (p *Server) Answer(ctx context.Context, what string, about map[string]any) error {
	text, err := json.Marshal(about)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.names+"/"+what, bytes.NewReader(text))
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", what, response.Status)
	}
	return nil
}

// Limited returns the directory of a proxy in front of the server that refuses the requests that refuse picks by their
// path, as an authority's rate limit does: with an HTTP status, and an ACME error of a kind with a detail.
func (p *Server) Limited(t *testing.T, refuse func(path string) bool, status int, kind, detail string) string {
	t.Helper()
	target, err := url.Parse(p.Directory)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "https", Host: target.Host})
	proxy.Transport = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: p.Trust, MinVersion: tls.VersionTLS12}}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !refuse(r.URL.Path) {
			proxy.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/problem+json")
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"type":"urn:ietf:params:acme:error:%s","detail":%q,"status":%d}`, kind, detail, status)
	}))
	t.Cleanup(server.Close)
	p.trusts(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	return server.URL + "/dir"
}

// trusts adds an authority in PEM to those that a client of the server must trust.
func (p *Server) trusts(authority []byte) {
	p.own = append(p.own, authority...)
	p.Trust.AppendCertsFromPEM(authority)
}

// TrustFile returns a file with the authorities in Trust.
func (p *Server) TrustFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "acme-roots.pem")
	if err := os.WriteFile(path, p.own, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// module returns the folder of the module that the server is built from.
func module(t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", "GOMOD").Output()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(filepath.Dir(strings.TrimSpace(string(out))), "internal", "test", "e2e", "acme")
}

// ownCertificate writes the certificate the ACME server itself listens with.
func ownCertificate(t *testing.T, folder string) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed})
	for name, content := range map[string][]byte{
		"own.crt": certificate, "own.key": pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: encoded}),
	} {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return bytes.Clone(certificate)
}

// Port returns a free port of 127.0.0.1.
func Port(t *testing.T) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}
