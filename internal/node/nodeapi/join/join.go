package join

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/nodeapi/authority"
	"tend.dev/tend/internal/node/nodeapi/wire"
	"tend.dev/tend/internal/platform/pki"
	"tend.dev/tend/internal/platform/version"
)

// Membership holds what a machine has of its cluster.
type Membership struct {
	// Server is the URL of the server.
	Server string `json:"server"`
	// Servers are the addresses, HOST:PORT, of all servers that were known at last.
	Servers []string `json:"servers,omitempty"`
	Cluster string   `json:"cluster"`
	Node    string   `json:"node"`
	// Authority, Certificate and Key are PEM; the last is a secret.
	Authority   []byte `json:"authority"`
	Certificate []byte `json:"certificate"`
	Key         []byte `json:"key"`
	// Former are the machine's names in memberships that have ended, until what ran under them is stopped.
	Former []string `json:"former,omitempty"`
}

// ServerURL completes the HOST:PORT of a server's listener for nodes to a URL; an empty one stays so. It returns an
// error for what is no such address.
func ServerURL(text string) (string, error) {
	if text == "" {
		return "", nil
	}
	if !strings.Contains(text, "://") {
		text = "https://" + text
	}
	parsed, err := url.Parse(text)
	if err != nil || parsed.Scheme != "https" || parsed.Port() == "" || parsed.Path != "" && parsed.Path != "/" {
		return "", fmt.Errorf("%q is not a server such as https://10.0.0.1:8688", text)
	}
	return "https://" + parsed.Host, nil
}

// joinTime bounds a request.
const joinTime = 30 * time.Second

// Dial connects to an address.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// Cut reports whether an error of Join says that a connection ended, or took too long, before the answer, as those of a
// busy server do, or that it has no room for more at the moment. The same may be asked again.
func Cut(err error) bool {
	if problem, refused := errors.AsType[*api.Problem](err); refused {
		return problem.Status == http.StatusTooManyRequests
	}
	if _, asked := errors.AsType[*url.Error](err); !asked {
		return false // it was answered
	}
	if _, plain := errors.AsType[tls.RecordHeaderError](err); plain || errors.Is(err, authority.ErrOtherCluster) {
		return false
	}
	failed, ok := errors.AsType[*net.OpError](err)
	return !ok || failed.Op == "read" || failed.Op == "write"
}

// Machine is a machine that joins: the key of its certificate, and the request for it.
type Machine struct {
	// Version is the Tend that it runs.
	Version string
	key     *ecdsa.PrivateKey
	request []byte
}

// NewMachine makes the key of a machine.
func NewMachine() (Machine, error) {
	key, request, err := authority.NewRequest()
	return Machine{Version: version.Version, key: key, request: request}, err
}

// Join makes this machine a node of the cluster that the token is of. The same machine may repeat it, if the answer was
// lost.
func (m Machine) Join(ctx context.Context, dial Dial, server, token, node string) (Membership, error) {
	_, fingerprint, err := parse(token)
	if err != nil {
		return Membership{}, err
	}
	transport := &http.Transport{TLSClientConfig: authority.JoinTLS(fingerprint),
		ForceAttemptHTTP2: true, DialContext: dial}
	defer transport.CloseIdleConnections()
	given, err := ask[answer](ctx, &http.Client{Transport: transport}, server+joinPath,
		request{Token: token, Node: node, Version: m.Version, Request: m.request})
	if err != nil {
		return Membership{}, fmt.Errorf("join the cluster at %s: %w", server, err)
	}
	private, err := pki.KeyPEM(m.key)
	return Membership{Server: server, Cluster: given.Cluster, Node: node,
		Authority: given.Authority, Certificate: given.Certificate, Key: private}, err
}

// Renew gets another certificate, over a client that has the current one.
func (m Membership) Renew(ctx context.Context, client *http.Client) (Membership, error) {
	key, der, err := authority.NewRequest()
	if err != nil {
		return m, err
	}
	given, err := ask[answer](ctx, client, m.Server+renewPath, request{Request: der})
	if err != nil {
		return m, fmt.Errorf("renew the node's certificate: %w", err)
	}
	if len(given.Authority) == 0 || len(given.Certificate) == 0 {
		return m, errors.New("renew the node's certificate: the server's answer has no certificate or no authority")
	}
	private, err := pki.KeyPEM(key)
	if err != nil {
		return m, err
	}
	m.Certificate, m.Key, m.Authority = given.Certificate, private, given.Authority
	return m, nil
}

// Pair returns the certificate with its key.
func (m Membership) Pair() (tls.Certificate, error) { return tls.X509KeyPair(m.Certificate, m.Key) }

func ask[Answer any](ctx context.Context, client *http.Client, url string, asked any) (given Answer, err error) {
	ctx, cancel := context.WithTimeout(ctx, joinTime)
	defer cancel()
	body, err := json.Marshal(asked)
	if err != nil {
		return given, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return given, err
	}
	response, err := wire.Patient(client.Do)(request) //nolint:bodyclose // closed below
	if err != nil {
		return given, reached(err)
	}
	defer response.Body.Close()
	if err := wire.Answer(response); err != nil {
		return given, err
	}
	return given, json.NewDecoder(response.Body).Decode(&given)
}
