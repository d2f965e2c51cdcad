package remote

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/node/nodeapi"
	"tend.dev/tend/internal/node/nodeapi/authority"
	"tend.dev/tend/internal/node/nodeapi/nodeapitest"
)

// TestALockEnds: a node that keeps a lock keeps the others from it for a while, not for ever; so does one that goes on
// sending.
func TestALockEnds(t *testing.T) {
	w := nodeapitest.NewWorld(t)
	short := func(o *HandlerOptions) { o.lockTime = 50 * time.Millisecond }
	here, there := connect(t, w, nodeapitest.Here, short).client, connect(t, w, nodeapitest.There, short).client
	if err := here.Certificates().Lock(t.Context(), "issue"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := there.Certificates().Lock(ctx, "issue"); err != nil {
		t.Errorf("the other never gets it: %v", err)
	}
	if err := errors.Join(here.Certificates().Unlock(t.Context(), "issue"),
		there.Certificates().Unlock(t.Context(), "issue")); err != nil {
		t.Error(err)
	}
}

// link is a connection to a server over TLS on loopback that a test can cut.
type link struct {
	client *Client
	ca     *authority.Authority

	mu    sync.Mutex
	conns []net.Conn
	// asked are the paths and queries of the requests.
	asked []string
}

func connect(t *testing.T, w *nodeapitest.World, id string, set ...func(*HandlerOptions)) *link {
	t.Helper()
	log, l := slog.New(slog.DiscardHandler), &link{}
	ca, err := authority.Found("test", time.Now)
	if err != nil {
		t.Fatal(err)
	}
	l.ca = ca
	own, err := ca.Server(time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	options := HandlerOptions{Service: w.Service, Node: nodeapitest.NodeOf, Logger: log}
	for _, set := range set {
		set(&options)
	}
	handler := NewHandler(options)
	server := &http.Server{
		TLSConfig: ca.TLS(func() (*tls.Certificate, error) { return &own, nil }),
		ErrorLog:  slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			l.mu.Lock()
			l.asked = append(l.asked, r.URL.RequestURI())
			l.mu.Unlock()
			handler.ServeHTTP(w, r)
		}),
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() { _ = server.ServeTLS(listener, "", "") })
	transport := &http.Transport{
		TLSClientConfig: nodeTLS(t, ca, id), ForceAttemptHTTP2: true,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
			l.mu.Lock()
			defer l.mu.Unlock()
			l.conns = append(l.conns, conn)
			return conn, err
		},
	}
	l.client = New(Options{Server: "https://" + listener.Addr().String(),
		HTTP: &http.Client{Transport: transport}, Logger: log})
	ctx, cancel := context.WithCancel(context.Background())
	running.Go(func() { _ = l.client.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		transport.CloseIdleConnections()
		_ = server.Close()
		running.Wait()
	})
	return l
}

func nodeTLS(t *testing.T, ca *authority.Authority, id string) *tls.Config {
	t.Helper()
	key, request, err := authority.NewRequest()
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := ca.Node(authority.Machine{Node: id}, request)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := nodeapitest.Pair(certificate, key)
	if err != nil {
		t.Fatal(err)
	}
	config, err := authority.NodeTLS(ca.PEM(), func() (*tls.Certificate, error) { return &pair, nil }, "h2")
	if err != nil {
		t.Fatal(err)
	}
	return config
}

// cut ends every connection.
func (l *link) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, conn := range l.conns {
		_ = conn.Close()
	}
	l.conns = nil
}

func (l *link) requests() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.asked)
}

func TestContract(t *testing.T) {
	nodeapitest.Run(t, func(t *testing.T, w *nodeapitest.World,
		id string) nodeapi.Control {
		return connect(t, w, id).client
	})
}

// TestManyNamesAreAskedInParts: a server answers a bounded number of names at once.
func TestManyNamesAreAskedInParts(t *testing.T) {
	w := nodeapitest.NewWorld(t)
	l := connect(t, w, nodeapitest.Here)
	w.Deploy("a", nodeapitest.Here)
	names := []string{"sha256:a"}
	for i := range 2 * node.MaxReferred {
		names = append(names, fmt.Sprint(i))
	}
	used, err := l.client.Referred(t.Context(), names)
	if err != nil || len(used) != len(names) || !used["sha256:a"] || used["7"] {
		t.Errorf("%d names, %v", len(used), err)
	}
}

// TestANodeThatIsRemovedWhileItWaits: a stream waits until its server has caught up; a node that was removed meanwhile
// gets nothing.
func TestANodeThatIsRemovedWhileItWaits(t *testing.T) {
	w := nodeapitest.NewWorld(t)
	var removed atomic.Bool
	refused := make(chan struct{}, 100)
	l := connect(t, w, nodeapitest.Here, func(o *HandlerOptions) {
		o.Fresh = func(context.Context) error { removed.Store(true); return nil }
		o.Node = func(r *http.Request) (string, error) {
			if removed.Load() {
				refused <- struct{}{}
				return "", errors.New("removed")
			}
			return nodeapitest.NodeOf(r)
		}
	})
	for range 2 { // the stream that waited has ended before the next one is refused
		select {
		case <-refused:
		case <-time.After(10 * time.Second):
			t.Fatal("it is followed on")
		}
	}
	select {
	case <-l.client.Synced():
		t.Error("it knows what there is")
	default:
	}
}

// TestACutConnection: changes during the cut are received, from the known revision on; nothing is listed again.
func TestACutConnection(t *testing.T) {
	w := nodeapitest.NewWorld(t)
	l := connect(t, w, nodeapitest.Here)
	changed := make(chan node.Change, 1000)
	l.client.Subscribe(func(change node.Change) { changed <- change })
	<-l.client.Synced()
	for _, id := range []string{"a", "b", "c"} {
		l.cut()
		w.Deploy(id, nodeapitest.Here)
		for change := range changed {
			if change.Task == id {
				break
			}
			if change.Task != "" {
				t.Errorf("cut before %s, and %s was reported again", id, change.Task)
			}
		}
	}
	if got := l.client.Tasks(); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("tasks %v", got)
	}
	listings := 0
	for _, path := range l.requests() {
		if strings.HasPrefix(path, Prefix+"follow?") && strings.Contains(path, "since=0") {
			listings++
		}
	}
	if listings != 1 {
		t.Errorf("%d listings: %v", listings, l.requests())
	}
}

// TestANodeThatStartsAsksForTheNewest: a server that may be behind tells it nothing. Once it has begun it knows how far
// it is itself.
func TestANodeThatStartsAsksForTheNewest(t *testing.T) {
	w := nodeapitest.NewWorld(t)
	var asked atomic.Int32
	l := connect(t, w, nodeapitest.Here, func(o *HandlerOptions) {
		o.Fresh = func(context.Context) error {
			if asked.Add(1) == 1 {
				return errors.New("behind")
			}
			return nil
		}
	})
	changed := make(chan node.Change, 1000)
	l.client.Subscribe(func(change node.Change) { changed <- change })
	<-l.client.Synced()
	if asked := asked.Load(); asked != 2 {
		t.Errorf("it began after %d questions, of which the first was answered with no", asked)
	}
	l.cut()
	w.Deploy("a", nodeapitest.Here)
	for change := range changed {
		if change.Task == "a" {
			break
		}
	}
	if asked := asked.Load(); asked != 2 {
		t.Errorf("%d questions after a cut", asked)
	}
}

// TestWhoIsNoNode: without a certificate of the cluster nothing is answered.
func TestWhoIsNoNode(t *testing.T) {
	w := nodeapitest.NewWorld(t)
	l := connect(t, w, nodeapitest.Here)
	<-l.client.Synced()
	for name, config := range map[string]*tls.Config{
		"no certificate":        {InsecureSkipVerify: true},
		"another's certificate": func() *tls.Config { c := foreign(t); c.InsecureSkipVerify = true; return c }(),
	} {
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true}}
		answer, err := client.Get(l.client.server + Prefix + "follow")
		if err != nil {
			continue // the handshake failed
		}
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s: %s", name, answer.Status)
		}
	}
	other := &http.Client{Transport: &http.Transport{TLSClientConfig: foreign(t), ForceAttemptHTTP2: true}}
	if answer, err := other.Get(l.client.server + Prefix + "follow"); err == nil {
		_ = answer.Body.Close()
		t.Error("a node speaks to a server of another cluster")
	}
}

func foreign(t *testing.T) *tls.Config {
	ca, err := authority.Found("other", time.Now)
	if err != nil {
		t.Fatal(err)
	}
	return nodeTLS(t, ca, nodeapitest.Here)
}
