package authority_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tend.dev/tend/internal/node/nodeapi/authority"
	"tend.dev/tend/internal/node/nodeapi/nodeapitest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// cluster is an authority with a clock that the test sets, and its server.
type cluster struct {
	*authority.Authority
	late   time.Duration
	server tls.Certificate
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{}
	var err error
	if c.Authority, err = authority.Found("test", func() time.Time { return time.Now().Add(c.late) }); err != nil {
		t.Fatal(err)
	}
	c.server = c.serverFor(t, time.Hour)
	return c
}

func (c *cluster) serverFor(t *testing.T, life time.Duration) tls.Certificate {
	t.Helper()
	own, err := c.Server(life)
	if err != nil {
		t.Fatal(err)
	}
	return own
}

// node returns a node's certificate.
func (c *cluster) node(t *testing.T, machine authority.Machine) tls.Certificate {
	t.Helper()
	key, request, err := authority.NewRequest()
	if err != nil {
		t.Fatal(err)
	}
	return c.answer(t, machine, key, request)
}

// answer issues a certificate for a request.
func (c *cluster) answer(
	t *testing.T, machine authority.Machine, key *ecdsa.PrivateKey, request []byte,
) tls.Certificate {
	t.Helper()
	text, err := c.Node(machine, request)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := nodeapitest.Pair(text, key)
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

// greet connects a node to the cluster's server. It returns the connection's state at the server, and the error of each
// side.
func (c *cluster) greet(t *testing.T, config *tls.Config) (state tls.ConnectionState, atServer, atNode error) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0") // not a pipe: both sides may write at once
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	here, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() {
		there, err := listener.Accept()
		if err != nil {
			served <- err
			return
		}
		conn := tls.Server(there, c.TLS(func() (*tls.Certificate, error) { return &c.server, nil }))
		err = conn.HandshakeContext(t.Context())
		state = conn.ConnectionState()
		_ = conn.Close()
		served <- err
	}()
	conn := tls.Client(here, config)
	if atNode = conn.HandshakeContext(t.Context()); atNode == nil {
		_, _ = io.Copy(io.Discard, conn) // the server checks the node's certificate after the node's half of the handshake
	}
	_ = here.Close()
	return state, <-served, atNode
}

// dialling returns the configuration of a node that has a certificate.
func dialling(t *testing.T, root []byte, own tls.Certificate) *tls.Config {
	t.Helper()
	config, err := authority.NodeTLS(root, func() (*tls.Certificate, error) { return &own, nil }, "h2")
	if err != nil {
		t.Fatal(err)
	}
	return config
}

// TestWhoIsANode: a connection belongs to the machine that its certificate was issued to. A certificate that the
// cluster didn't issue, or that is not valid now, belongs to none.
func TestWhoIsANode(t *testing.T) {
	n1 := authority.Machine{Node: "n1", UID: "u1"}
	for name, test := range map[string]struct {
		prepare func(t *testing.T, c *cluster) tls.Certificate
		want    authority.Machine
		// server and node are parts of the handshake's errors on each side, machine of the error of MachineOf.
		server, node, machine string
	}{
		"a node": {prepare: func(t *testing.T, c *cluster) tls.Certificate { return c.node(t, n1) }, want: n1},
		"another node": {prepare: func(t *testing.T, c *cluster) tls.Certificate {
			return c.node(t, authority.Machine{Node: "n2"})
		}, want: authority.Machine{Node: "n2"}},
		"a request that claims another name": {prepare: func(t *testing.T, c *cluster) tls.Certificate {
			key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
			if err != nil {
				t.Fatal(err)
			}
			claim := &x509.CertificateRequest{Subject: pkix.Name{CommonName: "n2", SerialNumber: "u2"}, DNSNames: []string{"tend"}}
			request, err := x509.CreateCertificateRequest(rand.Reader, claim, key)
			if err != nil {
				t.Fatal(err)
			}
			return c.answer(t, n1, key, request)
		}, want: n1},
		"a node just before its end": {prepare: func(t *testing.T, c *cluster) tls.Certificate {
			own := c.node(t, n1)
			c.late = authority.NodeLife - time.Minute
			return own
		}, want: n1},
		"a node after its end": {prepare: func(t *testing.T, c *cluster) tls.Certificate {
			own := c.node(t, n1)
			c.late = authority.NodeLife + time.Minute
			return own
		}, server: "expired"},
		"a node of another cluster": {prepare: func(t *testing.T, _ *cluster) tls.Certificate { return newCluster(t).node(t, n1) }, server: "unknown authority"},
		"a server's certificate":    {prepare: func(_ *testing.T, c *cluster) tls.Certificate { return c.server }, server: "incompatible key usage"},
		"a node without a name":     {prepare: func(t *testing.T, c *cluster) tls.Certificate { return c.node(t, authority.Machine{}) }, machine: "not a node's"},
		"no certificate":            {prepare: func(*testing.T, *cluster) tls.Certificate { return tls.Certificate{} }, machine: "tend agent --join"},
		"a server after its own end": {prepare: func(t *testing.T, c *cluster) tls.Certificate {
			c.server = c.serverFor(t, -time.Minute)
			return c.node(t, n1)
		}, node: "expired"},
		"a server of another cluster": {prepare: func(t *testing.T, c *cluster) tls.Certificate {
			c.server = newCluster(t).server
			return c.node(t, n1)
		}, node: "unknown authority"},
		"a node that poses as the server": {prepare: func(t *testing.T, c *cluster) tls.Certificate {
			c.server = c.node(t, n1)
			return c.node(t, n1)
		}, node: "x509"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			state, atServer, atNode := c.greet(t, dialling(t, c.PEM(), test.prepare(t, c)))
			if test.node != "" {
				wantError(t, "the node", atNode, test.node)
				return
			}
			wantError(t, "the server", atServer, test.server)
			if test.server != "" {
				return
			}
			got, err := authority.MachineOf(state)
			wantError(t, "MachineOf", err, test.machine)
			if got != test.want {
				t.Errorf("it is %+v, want %+v", got, test.want)
			}
		})
	}
}

// wantError checks that an error contains want, or that there is no error if want is empty.
func wantError(t *testing.T, of string, err error, want string) {
	t.Helper()
	if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
		t.Errorf("%s: %v, want %q", of, err, want)
	}
}

// TestJoinTLS: with a token alone, a machine talks to a server of the token's cluster only.
func TestJoinTLS(t *testing.T) {
	for name, test := range map[string]struct {
		prepare func(*testing.T, *cluster)
		pinned  string
		want    string
	}{
		"the token's cluster": {},
		"another cluster":     {pinned: "00", want: "address of the right cluster"},
		"an expired server":   {prepare: func(t *testing.T, c *cluster) { c.server = c.serverFor(t, -time.Minute) }, want: "expired"},
		"without its root":    {prepare: func(_ *testing.T, c *cluster) { c.server.Certificate = c.server.Certificate[:1] }, want: "right cluster"},
		"another's certificate before the root": {prepare: func(t *testing.T, c *cluster) {
			root := c.server.Certificate[1]
			c.server = newCluster(t).server
			c.server.Certificate[1] = root
		}, want: "the server's certificate"},
		"a node's certificate before the root": {prepare: func(t *testing.T, c *cluster) {
			root := c.server.Certificate[1]
			c.server = c.node(t, authority.Machine{Node: "n1"})
			c.server.Certificate = append(c.server.Certificate, root)
		}, want: "the server's certificate"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			pinned := c.Fingerprint()
			if test.prepare != nil {
				test.prepare(t, c)
			}
			if test.pinned != "" {
				pinned = test.pinned
			}
			_, _, err := c.greet(t, authority.JoinTLS(pinned))
			wantError(t, "the machine", err, test.want)
		})
	}
}

// TestAnAuthorityIsKept: after a restart the authority issues certificates that its earlier listener accepts.
func TestAnAuthorityIsKept(t *testing.T) {
	c := newCluster(t)
	text, err := c.Encode()
	if err != nil {
		t.Fatal(err)
	}
	again, err := authority.Open(text, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	if again.Fingerprint() != c.Fingerprint() {
		t.Error("it has another fingerprint")
	}
	own := (&cluster{Authority: again}).node(t, authority.Machine{Node: "n1"})
	state, atServer, atNode := c.greet(t, dialling(t, again.PEM(), own))
	if got, err := authority.MachineOf(state); got.Node != "n1" || err != nil || atServer != nil || atNode != nil {
		t.Errorf("%+v, %v, %v, %v", got, err, atServer, atNode)
	}
	for name, broken := range map[string][]byte{"nothing": nil, "no key": c.PEM(), "cut off": text[:len(text)-40], "its key first": text[len(c.PEM()):]} {
		if _, err := authority.Open(broken, time.Now); err == nil || !strings.Contains(err.Error(), "authority of nodes") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := authority.NodeTLS([]byte("no certificate"), nil, "h2"); err == nil {
		t.Error("a node trusts no authority")
	}
}

// TestRequests: a certificate is issued only if the machine has proved that it holds the key.
func TestRequests(t *testing.T) {
	c := newCluster(t)
	_, request, err := authority.NewRequest()
	if err != nil {
		t.Fatal(err)
	}
	forged := append([]byte(nil), request...)
	forged[len(forged)-1] ^= 1
	for name, bytes := range map[string][]byte{"nothing": nil, "no request": []byte("x"), "a forged signature": forged} {
		if _, err := c.Node(authority.Machine{Node: "n1"}, bytes); err == nil || !strings.Contains(err.Error(), "certificate request") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
