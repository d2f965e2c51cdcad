package member

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/host"
	"tend.dev/tend/internal/node/nodeapi/authority"
	"tend.dev/tend/internal/node/nodeapi/join"
	"tend.dev/tend/internal/platform/routemux"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server is a cluster's server that machines join.
type server struct {
	desk join.Desk
	// token admits machines.
	token  string
	secret join.Secret
	url    string
	// removed: the server no longer accepts any machine as a node.
	removed atomic.Bool
	// behind is subtracted from its clock, in nanoseconds.
	behind atomic.Int64
	// renewals counts the requests for another certificate.
	renewals atomic.Int64
}

func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{}
	ca, err := authority.Found("test", func() time.Time { return time.Now().Add(-time.Duration(s.behind.Load())) })
	if err != nil {
		t.Fatal(err)
	}
	own, err := ca.Server(time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	s.desk = join.Desk{
		Authority: ca, Cluster: "c1", Member: authority.MachineOf,
		Enter: func(_ context.Context, a join.Applicant) (authority.Machine, error) {
			if !bytes.Equal(a.Secret.Hash, s.secret.Hash) {
				return authority.Machine{}, &api.Problem{Status: http.StatusUnauthorized, Detail: "not the token"}
			}
			return authority.Machine{Node: a.Name, UID: "1"}, nil
		},
	}
	s.token, s.secret = join.NewToken(api.JoinAsNode, ca.Fingerprint())
	mux := routemux.New()
	s.desk.Register(mux)
	web := &http.Server{
		TLSConfig: ca.TLS(func() (*tls.Certificate, error) { return &own, nil }),
		ErrorLog:  slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug),
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/renew") {
				s.renewals.Add(1)
			}
			if s.removed.Load() && strings.HasSuffix(r.URL.Path, "/state") {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			mux.ServeHTTP(w, r)
		}),
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.url = "https://" + listener.Addr().String()
	var running sync.WaitGroup
	running.Go(func() { _ = web.ServeTLS(listener, "", "") })
	t.Cleanup(func() {
		_ = web.Close()
		running.Wait()
	})
	return s
}

func options(root, server, token string) Options {
	return Options{
		Options: host.Options{Root: root, Node: "n1", Now: time.Now, Logger: slog.New(slog.DiscardHandler)},
		Server:  server, Token: token,
	}
}

// joined returns the root of a machine that has joined a server, and its identity.
func joined(t *testing.T, s *server) (string, *identity) {
	t.Helper()
	root := t.TempDir()
	i, err := identify(t.Context(), options(root, s.url, s.token))
	if err != nil {
		t.Fatal(err)
	}
	return root, i
}

// TestJoinOfABusyServer: a join whose connection is cut is tried again; one that is refused, or finds no server, is
// not.
func TestJoinOfABusyServer(t *testing.T) {
	s := newServer(t)
	for name, c := range map[string]struct {
		server, token string
		cut           int32
		dials         int32
		joins         bool
	}{
		"cut twice":     {s.url, s.token, 2, 3, true},
		"no such token": {s.url, s.token[:len(s.token)-1], 0, 1, false},
		"nobody there":  {"https://127.0.0.1:1", s.token, 0, 1, false},
		"another's":     {newServer(t).url, s.token, 0, 1, false},
	} {
		o := options(t.TempDir(), c.server, c.token)
		var dials atomic.Int32
		o.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, address)
			if dials.Add(1) <= c.cut && err == nil {
				_ = conn.(*net.TCPConn).CloseWrite() // to the server, the client has disconnected
			}
			return conn, err
		}
		i, err := identify(t.Context(), o)
		if joined := err == nil && i.membership().Cluster == "c1"; joined != c.joins || dials.Load() != c.dials {
			t.Errorf("%s: joined %v after %d dials: %v", name, joined, dials.Load(), err)
		}
	}
}

// client returns an HTTP client with an identity's certificate.
func client(t *testing.T, i *identity) *http.Client {
	t.Helper()
	config, err := authority.NodeTLS(i.membership().Authority, i.certificate, "h2")
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func same(a, b join.Membership) bool {
	return a.Server == b.Server && a.Cluster == b.Cluster && a.Node == b.Node &&
		bytes.Equal(a.Certificate, b.Certificate) && bytes.Equal(a.Key, b.Key)
}

// TestJoinOnce: a machine joins once, keeps its membership for its owner alone, and needs no token afterwards.
func TestJoinOnce(t *testing.T) {
	s := newServer(t)
	root, first := joined(t, s)
	info, err := os.Stat(filepath.Join(root, file))
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("the file with the key: %v %v", info.Mode(), err)
	}
	if entries, err := os.ReadDir(root); err != nil || len(entries) != 1 {
		t.Errorf("files beside it: %v %v", entries, err)
	}
	for name, o := range map[string]Options{
		"nothing given":          options(root, "", ""),
		"the same address":       options(root, s.url, ""),
		"a token that has ended": options(root, s.url, "tend1.a.b.c.d"),
	} {
		again, err := identify(t.Context(), o)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := again.membership(); !same(got, first.membership()) || got.Node != "n1" || got.Cluster != "c1" {
			t.Errorf("%s: %+v", name, got)
		}
		if pair, err := again.certificate(); err != nil || len(pair.Certificate) != 1 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestJoinAgain: a machine whose node was removed, or whose cluster has another authority now, joins again with a
// token, in the same root. With a refused token, or without one, its root stays as it is.
func TestJoinAgain(t *testing.T) {
	for name, test := range map[string]struct {
		removed, other bool // another authority
		ended          bool // its certificate
		token          bool // a valid token
		again          bool
		want           string
	}{
		"removed, with a token":           {removed: true, token: true, again: true},
		"removed, with a used token":      {removed: true, want: "could not join again"},
		"another authority, with a token": {other: true, token: true, again: true},
		"still a node, with a token":      {token: true},
		"expired, with a token":           {ended: true, token: true, again: true},
		"expired, with a used token":      {ended: true, want: "the node's certificate has ended"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			join := joined
			if test.ended {
				join = joinedEarlier
			}
			root, first := join(t, s)
			if err := first.cleared(); err != nil {
				t.Fatal(err)
			}
			s.removed.Store(test.removed)
			if test.other {
				s = newServer(t)
			}
			token := s.token
			if !test.token {
				token = s.token[:len(s.token)-1]
			}
			o := options(root, s.url, token)
			i, err := identify(t.Context(), o)
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Fatalf("%v, want %q", err, test.want)
			}
			if err != nil {
				i = &identity{path: filepath.Join(root, file)}
				if err := i.read(); err != nil {
					t.Fatal(err)
				}
			}
			if again := !bytes.Equal(i.membership().Certificate, first.membership().Certificate); again != test.again {
				t.Errorf("it joined again: %v", again)
			}
			if former := i.membership().Former; slices.Equal(former, []string{"n1"}) != (!test.other && test.again) {
				t.Errorf("it stops what it ran as %v", former)
			}
		})
	}
}

// TestAChangedAddress is remembered; nothing else of the membership changes.
func TestAChangedAddress(t *testing.T) {
	root, first := joined(t, newServer(t))
	want := first.membership()
	want.Server = "https://10.0.0.2:8688"
	for _, given := range []string{want.Server, ""} {
		i, err := identify(t.Context(), options(root, given, ""))
		if err != nil {
			t.Fatal(err)
		}
		if got := i.membership(); !same(got, want) {
			t.Errorf("given %q: %+v", given, got)
		}
	}
}

// TestNotJoined: errors without a membership and without the options to get one.
func TestNotJoined(t *testing.T) {
	s := newServer(t)
	for name, o := range map[string]Options{
		"nothing": options(t.TempDir(), "", ""), "no token": options(t.TempDir(), s.url, ""),
		"no server": options(t.TempDir(), "", s.token),
	} {
		if _, err := identify(t.Context(), o); !errors.Is(err, errNotJoined) {
			t.Errorf("%s: %v", name, err)
		}
	}
	root := t.TempDir()
	if _, err := identify(t.Context(), options(root, s.url, "x")); !errors.Is(err, join.ErrMalformed) {
		t.Errorf("a malformed token: %v", err)
	}
	if entries, err := os.ReadDir(root); err != nil || len(entries) != 0 {
		t.Errorf("a failed join leaves %v, %v", entries, err)
	}
}

// TestADamagedFile is an error that names it, and isn't joined over.
func TestADamagedFile(t *testing.T) {
	s := newServer(t)
	for _, content := range []string{"", "{", `{"node":"n1"}`} {
		root := t.TempDir()
		if err := os.WriteFile(filepath.Join(root, file), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := identify(t.Context(), options(root, s.url, s.token)); err == nil ||
			!strings.Contains(err.Error(), filepath.Join(root, file)) {
			t.Errorf("%q: %v", content, err)
		}
		if kept, err := os.ReadFile(filepath.Join(root, file)); err != nil || string(kept) != content {
			t.Errorf("%q became %q, %v", content, kept, err)
		}
	}
}

// TestRenewDue: a certificate is renewed when less than a third of its life is left, and kept.
func TestRenewDue(t *testing.T) {
	s := newServer(t)
	root, i := joined(t, s)
	web, before := client(t, i), i.membership()
	for _, step := range []struct {
		age   time.Duration
		renew bool
	}{{0, false}, {authority.NodeLife*2/3 - time.Hour, false}, {authority.NodeLife*2/3 + time.Hour, true}} {
		i.now = func() time.Time { return time.Now().Add(step.age) }
		asked := s.renewals.Load()
		if err := i.renewDue(t.Context(), web); err != nil {
			t.Fatal(err)
		}
		if renewed := !same(i.membership(), before); renewed != step.renew ||
			s.renewals.Load()-asked != map[bool]int64{true: 1}[step.renew] {
			t.Errorf("at the age of %v: renewed %v after %d requests", step.age, renewed, s.renewals.Load()-asked)
		}
	}
	kept, err := identify(t.Context(), options(root, "", ""))
	if err != nil || !same(kept.membership(), i.membership()) || kept.membership().Node != "n1" {
		t.Errorf("after a restart: %v", err)
	}
	if info, err := os.Stat(filepath.Join(root, file)); err != nil || info.Mode() != 0o600 {
		t.Errorf("the file with the key: %v", err)
	}
	pair, _ := i.certificate()
	if old, _ := before.Pair(); bytes.Equal(pair.Certificate[0], old.Certificate[0]) {
		t.Error("connections still use the old certificate")
	}
}

// TestARenewalThatFails changes nothing.
func TestARenewalThatFails(t *testing.T) {
	_, i := joined(t, newServer(t))
	before := i.membership()
	i.now = func() time.Time { return time.Now().Add(authority.NodeLife) }
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := i.renewDue(ctx, client(t, i)); err == nil || !same(i.membership(), before) {
		t.Errorf("%v", err)
	}
}
