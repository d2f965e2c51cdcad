package daemon

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pull"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/node/nodeapi/authority"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/secret"
)

// For whom a path of the listener for nodes is.
const (
	forNodes    = "nodes"    // machines that have joined, with their certificate
	forJoining  = "joining"  // machines with a join token
	forServers  = "servers"  // the servers of the cluster, with their certificate
	forClusters = "clusters" // the operators of Kubernetes clusters, with their token
)

// pathsOfNodes are all paths of the listener for nodes. TestEveryPathHasItsRow finds one that is missing.
var pathsOfNodes = map[string]string{
	"GET /node/v1/follow": forNodes, "GET /node/v1/state": forNodes, "POST /node/v1/report": forNodes,
	"POST /node/v1/alive":   forNodes,
	"POST /node/v1/release": forNodes, "GET /node/v1/registry": forNodes, "POST /node/v1/build-secrets": forNodes,
	"GET /node/v1/blobs/{digest}":        forNodes,
	"GET /node/v1/release-images/{task}": forNodes, "POST /node/v1/referred": forNodes, "POST /node/v1/ingress": forNodes,
	"POST /node/v1/network": forNodes,
	"GET /node/v1/resolve":  forNodes, "POST /node/v1/certificates/{do}": forNodes, "POST /node/v1/sign": forNodes,
	"POST /node/v1/locks/{name...}": forNodes,
	"POST /node/v1/callbacks/":      forNodes, "POST /node/v1/renew": forNodes,
	"POST /node/v1/join": forJoining, "POST /server/v1/join": forJoining,
	"GET /server/v1/blobs/{digest}": forServers, "GET /server/v1/revision": forServers,
	"POST /api/agent/register": forClusters, "GET /api/agent/jobs": forClusters,
	"GET /api/agent/delivered": forClusters, "POST /api/agent/queries/{id}/answer": forClusters,
	"POST /api/agent/jobs/{id}/ack":    forClusters,
	"POST /api/agent/jobs/{id}/status": forClusters, "POST /api/agent/jobs/{id}/result": forClusters,
	"POST /api/agent/events":             forClusters,
	"POST /api/agent/credentials/rotate": forClusters,
}

// pathsOfPull has the names of the protocol's paths, as a source writes them, with their values.
var pathsOfPull = strings.NewReplacer(`"+pull.RegisterPath`, pull.RegisterPath, `"+pull.JobsPath`, pull.JobsPath,
	`"+pull.DeliveredPath`, pull.DeliveredPath, `"+pull.EventsPath`, pull.EventsPath, `"+pull.RotatePath`, pull.RotatePath,
	`"+pull.QueriesPath`, pull.QueriesPath, `+"`, "", `"`, "")

// TestEveryPathHasItsRow: a message that is added to a protocol of the listener for nodes says for whom it is.
func TestEveryPathHasItsRow(t *testing.T) {
	found := 0
	for file, in := range map[string]struct{ pattern, format string }{
		"../../node/nodeapi/remote/handler.go": {`"((?:GET|POST|PUT|DELETE) [a-z-]+[^"]*)": +(?:h\.|asked|taken)`, "%s /node/v1/%s"},
		"../../node/nodeapi/join/desk.go":      {`Path += "(/node/v1/[a-z]+)"`, "POST %[2]s"},
		"../../node/nodeapi/join/server.go":    {`Path += "(/server/v1/[a-z]+)"`, "POST %[2]s"},
		"../../node/peer/files.go":             {`HandleFunc\("GET "\+FilesPath\+"([^"]+)"`, "GET /server/v1/blobs/%[2]s"},
		"../../node/peer/revision.go":          {`Path = "(/server/v1/[a-z]+)"`, "GET %[2]s"},
		"../clusterapi/handler.go":             {`HandleFunc\("((?:GET|POST) "\+pull\.[A-Za-z]+Path(?:\+"[^"]*")?), h\.answer`, "%s %s"},
	} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range regexp.MustCompile(in.pattern).FindAllStringSubmatch(string(text), -1) {
			method, path, parted := strings.Cut(pathsOfPull.Replace(match[1]), " ")
			if !parted {
				method, path = "", match[1]
			}
			found++
			if name := fmt.Sprintf(in.format, method, path); pathsOfNodes[name] == "" &&
				pathsOfNodes[strings.TrimSpace(name)] == "" {
				t.Errorf("%s: %s has no row in pathsOfNodes", file, name)
			}
		}
	}
	if found < 28 {
		t.Errorf("only %d messages were found in the sources", found)
	}
}

// caller is someone who connects to the listener for nodes.
type caller struct {
	name string
	// certificate is the one that the caller shows; empty for none.
	certificate tls.Certificate
	// allowed are the paths that the caller may use.
	allowed []string
	// shut is set if not even the connection is taken.
	shut bool
}

// TestEveryPathOfTheListenerForNodes: a caller whom a path is not for is refused there before anything else is looked
// at, and changes nothing.
func TestEveryPathOfTheListenerForNodes(t *testing.T) {
	r := newMachine(t).startWith(func(o *Options) { o.NodeListen = "127.0.0.1:0" }).ready()
	token, err := r.client.JoinToken(t.Context(), api.JoinTokenRequest{Uses: 3})
	if err != nil {
		t.Fatal(err)
	}
	pairOf := func(node string) tls.Certificate {
		t.Helper()
		m, err := joins(t, token, node)
		if err != nil {
			t.Fatal(err)
		}
		pair, err := m.Pair()
		if err != nil {
			t.Fatal(err)
		}
		return pair
	}
	member, removed := pairOf("worker"), pairOf("gone")
	if _, err := r.client.RemoveNode(t.Context(), "gone", client.RemoveOptions{Force: true}); err != nil {
		t.Fatal(err)
	}
	own, foreign := r.authority(), foreignAuthority(t)
	issue := func(by *authority.Authority, m authority.Machine) tls.Certificate {
		t.Helper()
		pair, err := by.Client(m, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		return pair
	}
	serverOf, err := own.Server(time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	callers := []caller{
		{name: "nobody"},
		{name: "a node", certificate: member, allowed: []string{forNodes}},
		{name: "a node that was removed", certificate: removed},
		{name: "a machine with another one's name",
			certificate: issue(own, authority.Machine{Node: "worker", UID: "another"})},
		{name: "a machine that claims the server's own node",
			certificate: issue(own, authority.Machine{Node: "n1", UID: "another"})},
		{name: "a node without a name", certificate: issue(own, authority.Machine{UID: "u"})},
		{name: "a server", certificate: issue(own, authority.Machine{}), allowed: []string{forServers}},
		{name: "a node of another cluster",
			certificate: issue(foreign, authority.Machine{Node: "worker", UID: "u"}), shut: true},
		{name: "a server of another cluster", certificate: issue(foreign, authority.Machine{}), shut: true},
		{name: "who shows the certificate that a server shows to nodes", certificate: serverOf, shut: true},
	}
	address, cases := strings.TrimPrefix(token.Address, "https://"), 0
	for _, s := range callers {
		client := s.client(t)
		for pattern, audience := range pathsOfNodes {
			if slices.Contains(s.allowed, audience) {
				continue
			}
			cases++
			before := dumpOf(t, r.store)
			status, body, err := ask(client, address, pattern)
			switch {
			case s.shut && err == nil:
				t.Errorf("%s at %s: answered %d", s.name, pattern, status)
			case s.shut:
			case err != nil:
				t.Errorf("%s at %s: %v", s.name, pattern, err)
			case !slices.Contains([]int{http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests}, status):
				t.Errorf("%s at %s: %d %s", s.name, pattern, status, body)
			}
			if after := dumpOf(t, r.store); !bytes.Equal(before, after) {
				t.Errorf("%s at %s changed the store", s.name, pattern)
			}
		}
	}
	if cases < 200 {
		t.Errorf("only %d cases", cases)
	}
	speaksNoTLS(t, address)
}

func (s caller) client(t *testing.T) *http.Client {
	config := &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}}
	if len(s.certificate.Certificate) > 0 {
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate,
			error) {
			return &s.certificate, nil
		}
	}
	transport := &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: 20 * time.Second}
}

// ask sends a request in the form that a path accepts.
func ask(client *http.Client, address, pattern string) (status int, body string, err error) {
	method, path, _ := strings.Cut(pattern, " ")
	path = regexp.MustCompile(`\{[^}]*\}`).ReplaceAllString(path, "x")
	request, err := http.NewRequest(method, "https://"+address+path, strings.NewReader(`{}`))
	if err != nil {
		return 0, "", err
	}
	request.Header.Set("Authorization", "Bearer tend_forged")
	request.Header.Set("Content-Type", "application/json")
	answer, err := client.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(answer.Body, 1<<10))
	return answer.StatusCode, string(text), nil
}

// authority returns the cluster's own authority, from its store.
func (r *running) authority() *authority.Authority {
	r.t.Helper()
	keys, err := secret.Open(r.root+"/secret.key", "")
	if err != nil {
		r.t.Fatal(err)
	}
	entry, err := r.store.Get(r.t.Context(), records.AuthorityKey)
	if err != nil {
		r.t.Fatal(err)
	}
	text, err := keys.Decrypt(entry.Value)
	if err != nil {
		r.t.Fatal(err)
	}
	own, err := authority.Open(text, time.Now)
	if err != nil {
		r.t.Fatal(err)
	}
	return own
}

func foreignAuthority(t *testing.T) *authority.Authority {
	t.Helper()
	out, err := authority.Found("another cluster", time.Now)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// dumpOf returns the content of a store, without the records that the servers write by themselves: leases, heartbeats,
// statuses, their keys, the audit.
func dumpOf(t *testing.T, s store.Store) []byte {
	t.Helper()
	page, err := s.List(t.Context(), "/", store.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	for _, entry := range page.Entries {
		if slices.ContainsFunc([]string{records.LeasesPrefix, records.AlivePrefix, records.StatusPrefix, records.AuditPrefix,
			records.EventsPrefix, records.ActualNodesPrefix, records.LossesPrefix, records.NodeStatesPrefix,
			records.HoldingsPrefix},
			func(prefix string) bool { return strings.HasPrefix(entry.Key, prefix) }) {
			continue
		}
		fmt.Fprintf(&out, "%s %d %s\n", entry.Key, entry.Modified, entry.Value)
	}
	return out.Bytes()
}

// speaksNoTLS: bytes that are no handshake end their connection alone.
func speaksNoTLS(t *testing.T, address string) {
	t.Helper()
	for _, bytes := range []string{"GET /node/v1/state HTTP/1.1\r\nHost: x\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		strings.Repeat("\x16\x03\x01\xff\xff", 1000), "\x00"} {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, bytes)
		_ = conn.(*net.TCPConn).CloseWrite()
		_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
		answer, err := io.ReadAll(conn)
		if err != nil && !strings.Contains(err.Error(), "reset") || strings.Contains(string(answer), "200") {
			t.Errorf("%.20q: answered %q, %v", bytes, answer, err)
		}
		_ = conn.Close()
	}
}
