package join_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/membership"
	"tend.dev/tend/internal/node/nodeapi/authority"
	"tend.dev/tend/internal/node/nodeapi/join"
	"tend.dev/tend/internal/platform/routemux"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// place is a server that machines join, with a clock of its own.
type place struct {
	desk join.Desk
	url  string
	// requests counts what was asked of the server.
	requests atomic.Int64
	now      func() time.Time
	// ahead is the distance that its clock is ahead of this machine's.
	ahead atomic.Int64
	mu    sync.Mutex
	// names has the machine that each name is of; tokens are those that were made.
	names  map[string]entered
	tokens map[string]*made
	// own is the certificate that the server presents.
	own atomic.Pointer[tls.Certificate]
}

// entered is a machine that has joined, and made a token with the hash of its secret.
type entered struct{ uid, token, key string }

type made struct {
	api.JoinTokenInfo
	hash []byte
}

func newPlace(t *testing.T) *place {
	t.Helper()
	p := &place{names: map[string]entered{}, tokens: map[string]*made{}}
	now := func() time.Time { return time.Now().Add(time.Duration(p.ahead.Load())) }
	ca, err := authority.Found("test", now)
	if err != nil {
		t.Fatal(err)
	}
	own, err := ca.Server(365 * 24 * time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	p.own.Store(&own)
	p.desk = join.Desk{Authority: ca, Cluster: "c1", Enter: p.enter, Member: p.member}
	p.now = now
	p.serve(t)
	return p
}

// token makes a token for an hour, which any number of machines may use.
func (p *place) token(role string, change ...func(*api.JoinTokenInfo)) string {
	token, secret := join.NewToken(role, p.desk.Authority.Fingerprint())
	info := api.JoinTokenInfo{ID: secret.ID, Role: role, Uses: 1000, ExpiresAt: p.now().Add(time.Hour)}
	for _, each := range change {
		each(&info)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tokens[secret.ID] = &made{info, secret.Hash}
	return token
}

func (p *place) standing(a join.Applicant) join.Standing {
	held, is := p.names[a.Name], join.Standing{Alive: a.Name == "taken", Ingress: a.Name == "edge"}
	if a.Name == "server" {
		is.Server = &membership.RefusalError{Why: "it is the node of a server", Next: "choose another name"}
	}
	is.Held, is.HeldToken, is.HeldKey = held.uid != "", held.token, held.key
	if token := p.tokens[a.Secret.ID]; token != nil {
		is.Token, is.Hash = &token.JoinTokenInfo, token.hash
	}
	return is
}

func (p *place) enter(ctx context.Context, a join.Applicant) (authority.Machine, error) {
	if err := p.use(ctx, a); err != nil {
		return authority.Machine{}, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if held := p.names[a.Name]; held.token == a.Secret.ID && held.key == a.Key {
		return authority.Machine{Node: a.Name, UID: held.uid}, nil
	}
	p.names[a.Name] = entered{rand.Text(), a.Secret.ID, a.Key}
	return authority.Machine{Node: a.Name, UID: p.names[a.Name].uid}, nil
}

func (p *place) use(_ context.Context, a join.Applicant) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	again, refused := join.Decide(p.standing(a), a, p.now())
	if refused != nil {
		return refused
	}
	if !again {
		p.tokens[a.Secret.ID].Used = append(p.tokens[a.Secret.ID].Used, a.Name)
	}
	return nil
}

func (p *place) member(state tls.ConnectionState) (authority.Machine, error) {
	m, err := authority.MachineOf(state)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil && p.names[m.Node].uid != m.UID {
		err = errors.New("no longer its name")
	}
	return m, err
}

func (p *place) serve(t *testing.T) {
	mux := routemux.New()
	p.desk.Register(mux)
	mux.HandleFunc("GET /me", func(w http.ResponseWriter, r *http.Request) {
		machine, err := authority.MachineOf(*r.TLS)
		if err != nil {
			machine.Node = "nobody"
		}
		_, _ = io.WriteString(w, machine.Node)
	})
	server := &http.Server{
		TLSConfig: p.desk.Authority.TLS(func() (*tls.Certificate, error) { return p.own.Load(), nil }),
		ErrorLog:  slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug),
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			p.requests.Add(1)
			mux.ServeHTTP(w, r)
		}),
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p.url = "https://" + listener.Addr().String()
	var running sync.WaitGroup
	running.Go(func() { _ = server.ServeTLS(listener, "", "") })
	t.Cleanup(func() {
		_ = server.Close()
		running.Wait()
	})
}

// client returns one that a membership authenticates.
func client(t *testing.T, m join.Membership) *http.Client {
	t.Helper()
	pair, err := m.Pair()
	if err != nil {
		t.Fatal(err)
	}
	config, err := authority.NodeTLS(m.Authority, func() (*tls.Certificate, error) { return &pair, nil }, "h2")
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// me returns as whom the server knows a membership.
func (p *place) me(t *testing.T, m join.Membership) (string, error) {
	t.Helper()
	answer, err := client(t, m).Get(p.url + "/me")
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return string(text), err
}

func (p *place) join(t *testing.T, node string) join.Membership {
	t.Helper()
	m, err := joinAs(t, p, p.token(api.JoinAsNode, func(i *api.JoinTokenInfo) { i.Node, i.Replace = node, true }), node)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// joinAs joins as a new machine.
func joinAs(t *testing.T, p *place, token, node string) (join.Membership, error) {
	t.Helper()
	machine, err := join.NewMachine()
	if err != nil {
		t.Fatal(err)
	}
	return machine.Join(t.Context(), nil, p.url, token, node)
}

// TestJoin: a token makes machines nodes, several of them, each with a certificate of its own name.
func TestJoin(t *testing.T) {
	p := newPlace(t)
	token := p.token(api.JoinAsNode)
	for _, node := range []string{"n1", "n2.example_a-B", strings.Repeat("n", 63)} {
		m, err := joinAs(t, p, token, node)
		if err != nil {
			t.Fatal(err)
		}
		if m.Cluster != "c1" || m.Node != node || m.Server != p.url || !bytes.Equal(m.Authority, p.desk.Authority.PEM()) {
			t.Errorf("%+v", m)
		}
		if got, err := p.me(t, m); got != node || err != nil {
			t.Errorf("the listener knows %s as %q, %v", node, got, err)
		}
	}
}

// TestRefusals: what the desk refuses, and why.
func TestRefusals(t *testing.T) {
	p := newPlace(t)
	valid := p.token(api.JoinAsNode)
	expired := p.token(api.JoinAsNode, func(i *api.JoinTokenInfo) { i.ExpiresAt = p.now() })
	once := p.token(api.JoinAsNode, func(i *api.JoinTokenInfo) { i.Uses, i.Used = 1, []string{"n7"} })
	bound := p.token(api.JoinAsNode, func(i *api.JoinTokenInfo) { i.Node = "n8" })
	revoked := p.token(api.JoinAsNode)
	delete(p.tokens, strings.Split(revoked, ".")[2])
	foreign, _ := join.NewToken(api.JoinAsNode, p.desk.Authority.Fingerprint())
	guessed := strings.Split(valid, ".")
	guessed[3] = "AAAAAAAAAAAAAAAAAAAAAAAAAA"
	p.join(t, "away")
	if _, err := joinAs(t, p, p.token(api.JoinAsIngress), "edge"); err != nil {
		t.Errorf("a node that is declared to serve ingresses, with a token for those: %v", err)
	}
	delete(p.names, "edge")
	if _, err := joinAs(t, p, p.token(api.JoinAsNode, func(i *api.JoinTokenInfo) { i.Node = "edge" }),
		"edge"); err != nil {
		t.Errorf("a node that is declared to serve ingresses, with a token for its name: %v", err)
	}
	delete(p.names, "edge")
	for name, test := range map[string]struct {
		token, node string
		status      int
		says        string
	}{
		"expired":                        {expired, "n1", 401, join.ErrExpired.Error()},
		"foreign":                        {foreign, "n1", 401, join.ErrUnknown.Error()},
		"revoked":                        {revoked, "n1", 401, join.ErrUnknown.Error()},
		"a secret that was guessed":      {strings.Join(guessed, "."), "n1", 401, join.ErrUnknown.Error()},
		"used":                           {once, "n1", 401, "used already, by n7"},
		"used, by the name that it had":  {once, "n7", 401, "used already, by n7"},
		"for another name":               {bound, "n1", 403, "for the name n8 alone"},
		"a name that is taken":           {valid, "taken", 409, "connected already"},
		"the name of a server's node":    {valid, "server", 409, "node of a server"},
		"the name of one that is away":   {valid, "away", 409, "away"},
		"the name of an ingress node":    {valid, "edge", 403, "declared to serve ingresses"},
		"no name":                        {valid, "", 400, "name of a node"},
		"a name with a slash":            {valid, "a/b", 400, "name of a node"},
		"a name that is too long":        {valid, strings.Repeat("n", 64), 400, "name of a node"},
		"a name that ends in a -":        {valid, "n-", 400, "name of a node"},
		"a name of several lines":        {valid, "n1\nn2", 400, "name of a node"},
		"expired, and the name is taken": {expired, "taken", 401, join.ErrExpired.Error()},
	} {
		m, err := joinAs(t, p, test.token, test.node)
		var problem *api.Problem
		if !errors.As(err, &problem) || problem.Status != test.status || !strings.Contains(problem.Detail, test.says) ||
			len(m.Certificate) != 0 {
			t.Errorf("%s: %v, want %d %s", name, err, test.status, test.says)
		}
	}
}

// TestALostAnswer: a machine that asks again because no answer came is the same one; another machine has used no token.
func TestALostAnswer(t *testing.T) {
	p := newPlace(t)
	token := p.token(api.JoinAsNode, func(i *api.JoinTokenInfo) { i.Uses = 1 })
	machine, err := join.NewMachine()
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		m, err := machine.Join(t.Context(), nil, p.url, token, "n1")
		if err != nil {
			t.Fatal(err)
		}
		if got, err := p.me(t, m); got != "n1" || err != nil {
			t.Errorf("%q %v", got, err)
		}
	}
	if _, err := joinAs(t, p, token, "n1"); !refusedFor(err, errors.New("used already")) {
		t.Errorf("another machine: %v", err)
	}
}

// TestMalformedTokens are refused before anything is dialled.
func TestMalformedTokens(t *testing.T) {
	p := newPlace(t)
	valid := p.token(api.JoinAsNode)
	for _, token := range []string{"", "x", valid[:20], "tend0" + valid[5:], valid + ".x", "tend1..a.b"} {
		if _, err := joinAs(t, p, token, "n1"); !errors.Is(err, join.ErrMalformed) {
			t.Errorf("%q: %v", token, err)
		}
	}
	if got := p.requests.Load(); got != 0 {
		t.Errorf("%d requests", got)
	}
}

// TestATokenEnds by the server's clock.
func TestATokenEnds(t *testing.T) {
	p := newPlace(t)
	token := p.token(api.JoinAsNode)
	p.ahead.Store(int64(59 * time.Minute))
	if _, err := joinAs(t, p, token, "n1"); err != nil {
		t.Errorf("before its end: %v", err)
	}
	p.ahead.Store(int64(time.Hour))
	if _, err := joinAs(t, p, token, "n2"); err == nil || !strings.Contains(err.Error(), join.ErrExpired.Error()) {
		t.Errorf("at its end: %v", err)
	}
}

// TestWrongServers get no token: they aren't of the authority that it pins.
func TestWrongServers(t *testing.T) {
	p := newPlace(t)
	token := p.token(api.JoinAsNode)
	genuine := p.own.Load()
	root := genuine.Certificate[1]
	node, err := p.join(t, "n1").Pair()
	if err != nil {
		t.Fatal(err)
	}
	other := *newPlace(t).own.Load()
	for name, own := range map[string]tls.Certificate{
		"another cluster": other,
		"another cluster's, with this one's root": {Certificate: [][]byte{other.Certificate[0], root},
			PrivateKey: other.PrivateKey},
		"another cluster's, this one's root within": {Certificate: [][]byte{other.Certificate[0], root, other.Certificate[1]},
			PrivateKey: other.PrivateKey},
		"a node of this cluster": {Certificate: [][]byte{node.Certificate[0], root},
			PrivateKey: node.PrivateKey},
		"a server without its root": {Certificate: genuine.Certificate[:1], PrivateKey: genuine.PrivateKey},
	} {
		liar := newPlace(t)
		liar.own.Store(&own)
		if _, err := joinAs(t, liar, token, "n2"); err == nil {
			t.Errorf("%s: joined", name)
		}
		if got := liar.requests.Load(); got != 0 {
			t.Errorf("%s: got %d requests", name, got)
		}
	}
}

// TestRenew: a node gets another certificate of its own name, whatever it asks for.
func TestRenew(t *testing.T) {
	p := newPlace(t)
	m := p.join(t, "n1")
	p.ahead.Store(int64(20 * 24 * time.Hour))
	web := client(t, m)
	renewed, err := m.Renew(t.Context(), web)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(renewed.Certificate, m.Certificate) || bytes.Equal(renewed.Key, m.Key) || renewed.Node != "n1" ||
		renewed.Cluster != m.Cluster || renewed.Server != m.Server {
		t.Errorf("renewed %+v", renewed)
	}
	p.ahead.Store(int64(authority.NodeLife + time.Hour))
	if got, err := p.me(t, renewed); got != "n1" || err != nil {
		t.Errorf("the renewed certificate: %q %v", got, err)
	}
	if got, err := p.me(t, m); err == nil {
		t.Errorf("the certificate that has ended is taken, as %q", got)
	}
	if _, err := m.Renew(t.Context(), client(t, m)); err == nil {
		t.Error("renewed with a certificate that has ended")
	}
	if _, err := renewed.Renew(t.Context(), client(t, renewed)); err != nil {
		t.Errorf("a second time, as the same machine: %v", err)
	}
	_, request, err := authority.NewRequest()
	if err != nil {
		t.Fatal(err)
	}
	body, _ := json.Marshal(map[string]any{"node": "n2", "request": request})
	answer, err := client(t, renewed).Post(p.url+"/node/v1/renew", "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var given join.Membership
	if err := json.NewDecoder(answer.Body).Decode(&given); err != nil || nameIn(t, given.Certificate) != "n1" {
		t.Errorf("a node that asks for another's name: %q %v", nameIn(t, given.Certificate), err)
	}
}

// TestAnEmptyRenewal: an answer that lacks a certificate or the authority takes nothing from what the node has.
func TestAnEmptyRenewal(t *testing.T) {
	for _, answer := range []string{`{}`, `{"certificate":"YQ=="}`, `{"authority":"YQ=="}`} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(answer))
		}))
		m := join.Membership{Server: server.URL, Authority: []byte("a"), Certificate: []byte("c"), Key: []byte("k")}
		renewed, err := m.Renew(t.Context(), server.Client())
		if diff := cmp.Diff(m, renewed); err == nil || diff != "" {
			t.Errorf("%s: %v\n%s", answer, err, diff)
		}
		server.Close()
	}
}

// TestANameIsOfOneMachine: a second that takes it over, as its token says, has it, and the first gets no certificate
// any more.
func TestANameIsOfOneMachine(t *testing.T) {
	p := newPlace(t)
	first := p.join(t, "n1")
	second := p.join(t, "n1")
	if _, err := first.Renew(t.Context(), client(t, first)); err == nil ||
		!strings.Contains(err.Error(), "no longer its name") {
		t.Errorf("the first: %v", err)
	}
	if _, err := second.Renew(t.Context(), client(t, second)); err != nil {
		t.Errorf("the second: %v", err)
	}
}
