package daemon

import (
	"bytes"
	"cmp"
	"crypto/tls"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/internal/core/boundary"
	"tend.dev/tend/internal/node/nodeapi/authority"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/secret"
)

// TestEveryPathOfTheListenerForNodes: a caller whom a path is not for is refused there before anything else is looked
// at, and changes nothing. All others get in.
func TestEveryPathOfTheListenerForNodes(t *testing.T) {
	l := newListened(t)
	callers, cases := l.callers(), 0
	known := map[string]bool{}
	for i, s := range callers {
		known[s.name] = true
		client := s.client(t, i)
		for pattern, row := range pathsOfNodes {
			if slices.Contains(row.who, s.name) {
				continue
			}
			cases++
			l.refuses(client, s, pattern)
		}
	}
	for i, s := range callers { // what is let in may change what others would be asked
		client := s.client(t, len(callers)+i)
		for _, pattern := range slices.Sorted(maps.Keys(pathsOfNodes)) {
			if slices.Contains(pathsOfNodes[pattern].who, s.name) {
				cases++
				l.lets(client, s, pattern)
			}
		}
	}
	for pattern, row := range pathsOfNodes {
		for _, name := range row.who {
			if !known[name] {
				t.Errorf("%s is for %q, and this test has no such caller", pattern, name)
			}
		}
	}
	if want := len(pathsOfNodes) * len(callers); cases != want {
		t.Errorf("%d cases, want %d: every path for every caller", cases, want)
	}
	speaksNoTLS(t, l.address)
}

// refuses checks that a caller doesn't get in, and changes nothing.
func (l *listened) refuses(client *http.Client, s caller, pattern string) {
	l.t.Helper()
	before := dumpOf(l.t, l.store)
	status, body, err := l.ask(client, s, pattern)
	refusals := []int{http.StatusUnauthorized, http.StatusForbidden}
	if len(pathsOfNodes[pattern].who) == 0 {
		refusals = []int{http.StatusNotFound} // the rest of a prefix
	}
	switch {
	case s.shut && err == nil:
		l.t.Errorf("%s at %s: answered %d", s.name, pattern, status)
	case s.shut:
	case err != nil:
		l.t.Errorf("%s at %s: %v", s.name, pattern, err)
	case !slices.Contains(refusals, status):
		l.t.Errorf("%s at %s: %d %s", s.name, pattern, status, body)
	}
	if after := dumpOf(l.t, l.store); !bytes.Equal(before, after) {
		l.t.Errorf("%s at %s changed the store", s.name, pattern)
	}
}

// lets checks that a caller gets the answer that the row has.
func (l *listened) lets(client *http.Client, s caller, pattern string) {
	l.t.Helper()
	status, body, err := l.ask(client, s, pattern)
	if want := pathsOfNodes[pattern].status; err != nil || status != want {
		l.t.Errorf("%s at %s: %d %s, %v; want %d", s.name, pattern, status, body, err, want)
	}
}

// client returns a client of a caller, with an address of its own: servers count wrong tokens by address.
func (s caller) client(t *testing.T, i int) *http.Client {
	config := &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}}
	if len(s.certificate.Certificate) > 0 {
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate,
			error) {
			return &s.certificate, nil
		}
	}
	dialer := &net.Dialer{}
	if runtime.GOOS == "linux" { // others have the one loopback address
		dialer.LocalAddr = &net.TCPAddr{IP: net.IPv4(127, 0, 1, byte(i+1))}
	}
	transport := &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true, DialContext: dialer.DialContext,
		HTTP2: &http.HTTP2Config{MaxEncoderHeaderTableSize: boundary.HeaderTable}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: 20 * time.Second}
}

// ask sends the request of a row with the credentials of a caller.
func (l *listened) ask(client *http.Client, s caller, pattern string) (status int, body string, err error) {
	row := pathsOfNodes[pattern]
	method, path, named := strings.Cut(pattern, " ")
	if !named {
		method, path = "POST", pattern
	}
	fill := strings.NewReplacer("$JOIN", cmp.Or(s.joinToken, "tend_forged"), "$BEARER", cmp.Or(s.bearer, "tend_forged"),
		"$CALL", cmp.Or(s.callback, "/t/prod.db.forged"), "$SIGN", l.signing, "$TREE", l.tree,
		"$NODE", s.node)
	path = regexp.MustCompile(`\{[^}]*\}`).ReplaceAllLiteralString(path, cmp.Or(row.part, "x")) + row.path
	request, err := http.NewRequest(method, "https://"+l.address+fill.Replace(path),
		strings.NewReader(fill.Replace(cmp.Or(row.body, "{}"))))
	if err != nil {
		return 0, "", err
	}
	request.Header.Set("Authorization", "Bearer "+cmp.Or(s.bearer, "tend_forged"))
	request.Header.Set("Content-Type", "application/json")
	answer, err := client.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close()
	if answer.StatusCode == http.StatusOK && row.stream {
		return answer.StatusCode, "", nil
	}
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
