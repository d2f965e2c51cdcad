package nodeapitest

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/caddyserver/certmagic"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/node/nodeapi"
	"tend.dev/tend/internal/node/nodeapi/local"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/certstore"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// The nodes of a world.
const (
	Here  = "n1"
	There = "n2"
)

// World is a server with two nodes.
type World struct {
	Service *local.Service
	Store   store.Store
	View    *view.View
	Blobs   map[string]string
	// Images maps node/image to the image's content.
	Images map[string]string
	// certificates is the whole storage of certificates; leases knows how long each lease lasts.
	certificates certmagic.Storage
	leases       *leases
	settled      int
	t            *testing.T
}

// timeout is the server's node timeout, lease how long a heartbeat lasts by it.
const (
	timeout = 60 * time.Second
	lease   = 55 * time.Second
)

// leases is a store that knows how long its leases last.
type leases struct {
	store.Store
	mu   sync.Mutex
	ttls map[store.LeaseID]time.Duration
}

// Grant implements store.Store.
func (l *leases) Grant(ctx context.Context, ttl time.Duration) (store.LeaseID, error) {
	id, err := l.Store.Grant(ctx, ttl)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ttls[id] = ttl
	return id, err
}

func (l *leases) granted(id store.LeaseID) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ttls[id]
}

// sealer is a sealer whose effect is visible.
type sealer struct{}

var mark = []byte("sealed:")

func (sealer) Encrypt(plain []byte) ([]byte, error) { return append(bytes.Clone(mark), plain...), nil }

func (sealer) Decrypt(sealed []byte) ([]byte, error) {
	plain, ok := bytes.CutPrefix(sealed, mark)
	if !ok {
		return nil, fmt.Errorf("%q is not sealed", sealed)
	}
	return plain, nil
}

// sealed returns a registry's token as it is stored.
func sealed(token string) string {
	encrypted, _ := sealer{}.Encrypt([]byte(token))
	return records.SealedToken("mac", encrypted)
}

// NewWorld returns a World that ends with the test.
func NewWorld(t *testing.T) *World {
	t.Helper()
	s := &leases{Store: memory.New(), ttls: map[store.LeaseID]time.Duration{}}
	w := &World{Store: s, leases: s, certificates: certstore.New(s, sealer{}),
		View: view.New(s, view.Options{Decode: records.Decode, Indexes: records.Indexes}), Blobs: map[string]string{},
		Images: map[string]string{}, t: t}
	w.Service = local.New(local.Options{Store: s, View: w.View, Keys: sealer{}, Certificates: w.certificates,
		Timeout: timeout, Lease: lease, Blobs: w.blob, ImageOf: w.image,
		Sign: func(_ context.Context, asked *x509.CertificateRequest) ([]byte, error) {
			return fmt.Append(nil, "signed for ", asked.DNSNames), nil
		}})
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = w.View.Run(ctx) })
	for _, node := range []string{Here, There} {
		w.Commit(records.NewTxn("test").Put(records.MemberKey(node), records.Member{UID: node, Ingress: true}))
	}
	t.Cleanup(func() {
		cancel()
		running.Wait()
		_ = s.Close()
	})
	return w
}

func (w *World) blob(digest string) (io.ReadCloser, error) {
	content, known := w.Blobs[digest]
	if !known {
		return nil, node.ErrNoBlob
	}
	return io.NopCloser(bytes.NewBufferString(content)), nil
}

func (w *World) image(_ context.Context, on, id string, has node.Part) (io.ReadCloser, error) {
	content, known := w.Images[on+"/"+id]
	if !known {
		return nil, node.ErrNotConnected
	}
	return nodeapi.SendFrom(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewBufferString(content)), nil },
		has)
}

// Commit stores as the control plane does, and returns when the server's view has it.
func (w *World) Commit(txn *records.Txn) {
	w.t.Helper()
	revision, err := txn.Commit(context.Background(), w.Store)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := w.View.WaitFor(context.Background(), revision); err != nil {
		w.t.Fatal(err)
	}
}

// Deploy gives a node a task with its own release: an image of a registry, an environment and a file.
func (w *World) Deploy(id, on string) api.Task {
	w.t.Helper()
	task := api.Task{
		ID: id, Kind: api.KindDeployment, Scope: "prod", Name: "app-" + id, Slot: id, Release: "v1",
		Class: api.ClassKeep, Node: on,
		Desired: api.DesiredRunning,
	}
	env, _ := sealer{}.Encrypt([]byte(`{"SECRET":"of ` + id + `"}`))
	release := api.Release{
		ID: "v1", Kind: task.Kind, Scope: task.Scope, Name: task.Name, Image: id + ".example/app:1", Env: env,
		Confined: true, Spec: json.RawMessage(`{"image":"` + id + `.example/app:1"}`),
		AssetDigests: map[string]string{"prod.conf.a": "sha256:" + id},
	}
	w.Blobs["sha256:"+id] = "file of " + id
	w.Commit(records.NewTxn("test").Put(records.ReleaseKey(task.Owner(), "v1"), release).CreateTask(task))
	return task
}

// Object stores an object.
func (w *World) Object(kind api.Kind, name string, spec any) {
	w.t.Helper()
	raw, err := json.Marshal(spec)
	if err != nil {
		w.t.Fatal(err)
	}
	object := api.Object{Kind: kind, Scope: "prod", Name: name, Spec: raw}
	w.Commit(records.NewTxn("test").Put(records.ObjectKey(object.Ref()), object))
}

// listener collects the notifications of a control.
type listener struct {
	t    *testing.T
	wake chan struct{}

	mu   sync.Mutex
	seen map[node.Change]bool
}

func listen(t *testing.T, c nodeapi.Control) *listener {
	l := &listener{t: t, wake: make(chan struct{}, 1), seen: map[node.Change]bool{}}
	c.Subscribe(func(change node.Change) {
		l.mu.Lock()
		l.seen[change] = true
		l.mu.Unlock()
		select {
		case l.wake <- struct{}{}:
		default:
		}
	})
	return l
}

// patience bounds the wait for something that must come; it usually comes much sooner.
const patience = 30 * time.Second

// want waits for a notification.
func (l *listener) want(change node.Change) {
	l.t.Helper()
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	for {
		if l.has(change) {
			return
		}
		select {
		case <-l.wake:
		case <-timeout.C:
			l.t.Fatalf("no notification of %+v", change)
		}
	}
}

// forget drops what was collected.
func (l *listener) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.seen)
}

// settle waits until the node has been notified of all that was committed before: notifications come in the order of
// the commits.
func (l *listener) settle(w *World) {
	l.t.Helper()
	w.settled++
	id := "settled-" + strconv.Itoa(w.settled)
	w.Deploy(id, Here)
	l.want(node.Change{Task: id})
}

func (l *listener) has(change node.Change) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.seen[change]
}

// eventually waits until something holds; it is checked after every notification.
func eventually(t *testing.T, l *listener, holds func() (any, bool)) {
	t.Helper()
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	for {
		got, ok := holds()
		if ok {
			return
		}
		select {
		case <-l.wake:
		case <-timeout.C:
			t.Fatalf("it stays %+v", got)
		}
	}
}

func (w *World) snapshot() records.Snapshot { return records.Snapshot{Reader: w.View.Snapshot()} }
