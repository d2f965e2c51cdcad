//go:build simulate

package simulation

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pull"
	"tend.dev/tend/internal/operator/tendtest"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/records"
)

// plane is Tend, and the network between it and the operator.
type plane struct {
	*tendtest.Server
	w      *World
	ctx    context.Context
	server *httptest.Server
	listen *listener
	// cut drops requests, lossy drops answers, lies changes the jobs that are sent.
	cut, lossy, lies atomic.Bool
}

func newPlane(w *World) *plane {
	p := &plane{w: w, listen: newListener(), ctx: w.ctx}
	p.Server = tendtest.Start(w.ctx, w, &w.parts, nil)
	p.server = &httptest.Server{Listener: p.listen, EnableHTTP2: true, Config: &http.Server{
		Handler: http.HandlerFunc(p.carry), ErrorLog: quiet,
	}}
	p.server.StartTLS()
	dial.Store(p.listen)
	return p
}

func (p *plane) stop() {
	p.listen.cut()
	p.server.Close()
}

// invite declares the cluster, and returns what the operator needs to register.
func (p *plane) invite() (token, authority, jobs, approvals string) {
	p.Put(api.Object{
		Kind: api.KindCluster, Scope: api.Unscoped, Name: clusterName, Spec: []byte("{}"),
		Metadata: api.Metadata{UID: "uid-" + clusterName, Generation: 1, CreatedAt: time.Now()},
	})
	token, _, err := p.Handler.Invite(p.ctx, clusterName, 24*time.Hour)
	if err == nil {
		jobs, approvals, err = p.Handler.Keys(p.ctx, clusterName)
	}
	if err != nil {
		p.w.fail("the control plane invites no one: %v", err)
	}
	authority = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.server.Certificate().Raw}))
	return token, authority, jobs, approvals
}

// carry passes a request and its answer on, as far as the network allows.
func (p *plane) carry(to http.ResponseWriter, r *http.Request) {
	time.Sleep(p.w.between(time.Millisecond, 20*time.Millisecond))
	if p.cut.Load() {
		panic(http.ErrAbortHandler) // the connection ends
	}
	answer := httptest.NewRecorder()
	p.Handler.ServeHTTP(answer, r)
	if p.cut.Load() || p.lossy.Load() && p.w.sometimes(3) {
		panic(http.ErrAbortHandler)
	}
	body := answer.Body.Bytes()
	if p.lies.Load() && r.URL.Path == pull.JobsPath && answer.Code == http.StatusOK {
		body = lie(body)
	}
	maps.Copy(to.Header(), answer.Header())
	to.Header().Del("Content-Length")
	to.WriteHeader(answer.Code)
	_, _ = to.Write(body)
}

// forged is a stamp that no person declares.
const forged = 666666

// lie changes the payloads of jobs: what they apply has another stamp.
func lie(body []byte) []byte {
	var jobs pull.Jobs
	if json.Unmarshal(body, &jobs) != nil {
		return body
	}
	for i := range jobs.Jobs {
		payload := string(jobs.Jobs[i].Payload)
		at := strings.Index(payload, `"stamp":`)
		if at < 0 {
			continue
		}
		at += len(`"stamp":`)
		end := at + strings.IndexAny(payload[at:], ",}")
		jobs.Jobs[i].Payload = json.RawMessage(payload[:at] + fmt.Sprint(forged) + payload[end:])
	}
	out, err := json.Marshal(jobs)
	if err != nil {
		return body
	}
	return out
}

// listener is a listener without a network: connections are made within the process.
type listener struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once

	mu sync.Mutex
	// refuses is set while no operator runs, and while the network is down.
	refuses bool
	open    []net.Conn
}

func newListener() *listener { return &listener{conns: make(chan net.Conn), done: make(chan struct{})} }

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *listener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

// Addr implements net.Listener.
func (l *listener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 443} }

var errRefused = errors.New("connection refused")

// connect connects to the listener.
func (l *listener) connect(ctx context.Context) (net.Conn, error) {
	near, far := net.Pipe()
	l.mu.Lock()
	refuses := l.refuses
	if !refuses {
		l.open = append(l.open, near)
	}
	l.mu.Unlock()
	if refuses {
		return nil, errRefused
	}
	select {
	case l.conns <- far:
		return near, nil
	case <-l.done:
		return nil, errRefused
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// cut closes all connections, and refuses new ones until mend.
func (l *listener) cut() {
	l.mu.Lock()
	l.refuses = true
	open := l.open
	l.open = nil
	l.mu.Unlock()
	for _, conn := range open {
		_ = conn.Close()
	}
}

func (l *listener) mend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refuses = false
}

// object returns what Tend stores of an object.
func (p *plane) object(ref api.Ref) (api.Object, bool) {
	for _, object := range p.objects(ref.Kind) {
		if object.Ref() == ref {
			return object, true
		}
	}
	return api.Object{}, false
}

// objects returns what Tend stores of a kind.
func (p *plane) objects(kind api.Kind) (all []api.Object) {
	page, err := p.Store.List(p.ctx, records.DesiredPrefix+string(kind)+"/", store.ListOptions{})
	if err != nil {
		p.w.fail("list %s: %v", kind, err)
	}
	for _, entry := range page.Entries {
		var object api.Object
		if err := json.Unmarshal(entry.Value, &object); err != nil {
			p.w.fail("read %s: %v", entry.Key, err)
		}
		all = append(all, object)
	}
	return all
}

// status returns Tend's status of an object, or nil.
func (p *plane) status(ref api.Ref) *api.DeliveredStatus {
	entry, err := p.Store.Get(p.ctx, records.StatusKey(ref))
	if err != nil {
		return nil
	}
	status := &api.DeliveredStatus{}
	if err := json.Unmarshal(entry.Value, status); err != nil {
		p.w.fail("read the status of %s: %v", ref, err)
	}
	return status
}
