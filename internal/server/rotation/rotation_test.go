package rotation_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/rekey"
	"tend.dev/tend/internal/node/ingress/certs"
	"tend.dev/tend/internal/node/nodeapi/authority"
	"tend.dev/tend/internal/server/rotation"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/certstore"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/secret"
	"tend.dev/tend/internal/store/view"
)

// world is a store with some servers, whose clock a test sets. Each step is one check by one server: a server that
// crashes between two steps is one that is opened again.
type world struct {
	t       *testing.T
	store   *memory.Store
	view    *view.View
	now     time.Time
	roots   map[string]string // of the servers' files
	servers []api.Server
}

func newWorld(t *testing.T, servers ...string) *world {
	t.Helper()
	w := &world{t: t, store: memory.New(), now: time.Now(), roots: map[string]string{}}
	w.view = view.New(w.store, view.Options{Decode: records.Decode, Indexes: records.Indexes})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = w.view.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done; _ = w.store.Close() })
	for i, name := range servers {
		w.roots[name] = t.TempDir()
		w.servers = append(w.servers, api.Server{Name: name, State: api.ServerUp})
		if i > 0 {
			text, _ := os.ReadFile(w.key(servers[0]))
			if err := secret.Keep(w.key(name), text); err != nil {
				t.Fatal(err)
			}
			continue
		}
		keys, err := secret.Open(w.key(name), "")
		if err != nil {
			t.Fatal(err)
		}
		w.commit(records.NewTxn("test").Put(records.ClusterKey,
			records.Cluster{UID: "c1", KeyFingerprint: keys.Fingerprint()}))
	}
	return w
}

func (w *world) key(server string) string { return filepath.Join(w.roots[server], "secret.key") }

func (w *world) commit(txn *records.Txn) {
	w.t.Helper()
	if _, err := txn.Commit(w.t.Context(), w.store); err != nil {
		w.t.Fatal(err)
	}
	w.see()
}

// see waits until the view shows what is stored.
func (w *world) see() {
	w.t.Helper()
	page, err := w.store.List(w.t.Context(), "/", store.ListOptions{Limit: 1})
	if err == nil {
		err = w.view.WaitFor(w.t.Context(), page.Revision)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) snapshot() records.Snapshot { return records.Snapshot{Reader: w.view.Snapshot()} }

// opened is a server that has just started.
type opened struct {
	*rotation.Service
	keys    *secret.Keys
	retired []byte
}

func (w *world) open(server string) *opened {
	w.t.Helper()
	keys, err := secret.Open(w.key(server), w.snapshot().Identity().Value.KeyFingerprint)
	if err != nil {
		w.t.Fatalf("%s can't start: %v", server, err)
	}
	o := &opened{keys: keys}
	clock := func() time.Time { return w.now }
	o.Service = rotation.New(rotation.Options{
		Store: w.store, Snapshot: w.snapshot, Server: server, Servers: func() []api.Server { return w.servers }, Now: clock,
		Logger: slog.New(slog.DiscardHandler),
		Keys: []rotation.Key{
			rotation.Secrets{Keys: keys, Retire: func(text []byte) error { o.retired = text; return nil }},
			&rotation.Ingress{Certificates: certstore.New(w.store, keys), Encrypt: keys.Encrypt,
				Decrypt: keys.Decrypt, Now: clock},
		},
	})
	return o
}

func (w *world) follow(o *opened) {
	w.t.Helper()
	if err := o.FollowOnce(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	w.see()
}

func (w *world) lead(o *opened) *records.Rotation {
	w.t.Helper()
	if err := o.LeadOnce(w.t.Context(), w.store); err != nil {
		w.t.Fatal(err)
	}
	w.see()
	return w.snapshot().Rotation(api.KeySecrets).Value
}

// TestSecretsAreRotated: no phase begins before every server has done its part, one that is away is named, and servers
// that are started again at every step go on. What one writes late with the old key is found.
func TestSecretsAreRotated(t *testing.T) {
	w := newWorld(t, "a", "b")
	a, b := w.open("a"), w.open("b")
	old := a.keys.Fingerprint()
	sealed, err := a.keys.Encrypt([]byte("s3cret"))
	if err != nil {
		t.Fatal(err)
	}
	w.commit(records.NewTxn("test").Put("/config/prod/web/PASSWORD", sealed).Put("/certs/files/x",
		map[string][]byte{"sealed": sealed}))
	late, _ := b.keys.Encrypt([]byte("late"))
	w.follow(a)
	if _, err := a.Begin(t.Context(), api.KeySecrets, "root"); err != nil {
		t.Fatal(err)
	}
	w.see()
	if _, err := a.Begin(t.Context(), api.KeySecrets, "root"); err != nil || a.Running() != api.KeySecrets {
		t.Errorf("begun again: %v, running %q", err, a.Running())
	}
	w.follow(a)
	w.servers[1].State = api.ServerDown
	for range 3 {
		if r := w.lead(a); r.Phase != api.KeySpreads ||
			!strings.Contains(strings.Join(r.Waits, ";"),
				"server b does not know the new key: it is away: start it, or tend servers remove b") {
			t.Fatalf("without b: %s, %q", r.Phase, r.Waits)
		}
		a = w.open("a")
		w.follow(a)
	}
	w.servers[1].State = api.ServerUp
	b = w.open("b")
	w.follow(b)
	if r := w.lead(a); r.Phase != api.KeyMoves || a.keys.Fingerprint() != old {
		t.Fatalf("all know it: %s", r.Phase)
	}
	a, b = w.open("a"), w.open("b") // each starts with the key that the store names now
	w.follow(a)
	if r := w.lead(a); r.Phase != api.KeyMoves ||
		!strings.Contains(strings.Join(r.Waits, ";"), "server b does not use the new key") {
		t.Fatalf("b has said nothing: %s, %q", r.Phase, r.Waits)
	}
	w.follow(b)
	if r := w.lead(a); r.Waits[0] != "values still sealed with the old key: 2" {
		t.Fatalf("what is left: %q", r.Waits)
	}
	if r := w.lead(a); !strings.Contains(r.Waits[0], "a last look") {
		t.Fatalf("nothing is left: %q", r.Waits)
	}
	w.commit(records.NewTxn("test").Put("/config/prod/web/LATE", late)) // a write that was prepared before b changed
	w.now = w.now.Add(rekey.SettleTime)
	if r := w.lead(a); r.Waits[0] != "values still sealed with the old key: 1" {
		t.Fatalf("a late write: %q", r.Waits)
	}
	if r := w.lead(a); r.Phase != api.KeyIsForgotten || len(r.Sealed) > 0 {
		t.Fatalf("then: %s, and the new key is in the store: %v", r.Phase, len(r.Sealed) > 0)
	}
	w.follow(a)
	if r := w.lead(a); !strings.Contains(strings.Join(r.Waits, ";"), "server b still takes the old key") {
		t.Fatalf("b has not forgotten: %q", r.Waits)
	}
	b = w.open("b")
	w.follow(b)
	if r := w.lead(a); r != nil {
		t.Fatalf("it is over, and the store says %s, %q", r.Phase, r.Waits)
	}
	for name, want := range map[string]string{"/config/prod/web/PASSWORD": "s3cret", "/config/prod/web/LATE": "late"} {
		entry, _ := w.store.Get(t.Context(), name)
		if plain, err := w.open("b").keys.Decrypt(entry.Value); string(plain) != want || err != nil {
			t.Errorf("%s is %q, %v", name, plain, err)
		}
	}
	if len(a.keys.Fingerprints()) != 1 || len(b.keys.Fingerprints()) != 1 || len(a.retired) == 0 {
		t.Error("servers hold more than the key in use, or kept nothing for what they alone sealed")
	}
	if _, err := a.Begin(t.Context(), "nothing", "root"); !errors.As(err, new(*api.Problem)) {
		t.Errorf("an unknown key: %v", err)
	}
	if _, err := a.Begin(t.Context(), api.KeyIngress, "root"); err == nil ||
		!strings.Contains(err.Error(), "no ingress uses") {
		t.Errorf("a key that the cluster doesn't have: %v", err)
	}
}

// TestTheIngressAuthorityIsRotated: the new root signs at once, both roots are published until no certificate of the
// former one is served, and then the former one is removed.
func TestTheIngressAuthorityIsRotated(t *testing.T) {
	w := newWorld(t, "a")
	a := w.open("a")
	storage := certstore.New(w.store, a.keys)
	own := certs.Authority{Storage: storage}
	leaf := func() []byte {
		t.Helper()
		key, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{DNSNames: []string{"web.test"}}, key)
		if err != nil {
			t.Fatal(err)
		}
		request, _ := x509.ParseCertificateRequest(der)
		signed, err := own.Sign(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		return signed
	}
	if err := storage.Store(t.Context(), "certificates/internal/web.test/web.test.crt", leaf()); err != nil {
		t.Fatal(err)
	}
	foreign, err := authority.Found("planted by a node", func() time.Time { return w.now })
	if err != nil {
		t.Fatal(err)
	}
	if err := storage.Store(t.Context(), "certificates/internal/evil.test/evil.test.crt", foreign.PEM()); err != nil {
		// it is valid for years
		t.Fatal(err)
	}
	former, _ := own.Root(t.Context())
	w.see()
	w.follow(a)
	if _, err := a.Begin(t.Context(), api.KeyIngress, "root"); err != nil {
		t.Fatal(err)
	}
	w.see()
	state := func() (api.KeyPhase, string) {
		t.Helper()
		w.follow(a)
		w.lead(a)
		if r := w.snapshot().Rotation(api.KeyIngress); r.Exists() {
			return r.Value.Phase, strings.Join(r.Value.Waits, ";")
		}
		return "", ""
	}
	if phase, waits := state(); phase != api.KeyMoves {
		t.Fatalf("begun: %s, %s", phase, waits)
	}
	both, _ := own.Root(t.Context())
	if got := authority.FingerprintsOf(both); len(got) != 2 || got[1] != authority.FingerprintsOf(former)[0] {
		t.Errorf("given out: %q", got)
	}
	for range 2 {
		if phase, waits := state(); phase != api.KeyMoves ||
			!strings.Contains(waits, "certificates of the former root for web.test, ") || !strings.HasSuffix(waits, ": 1") {
			t.Fatalf("while the former one is served: %s, %s", phase, waits)
		}
		w.now = w.now.Add(time.Hour)
	}
	if err := storage.Store(t.Context(), "certificates/internal/web.test/web.test.crt", leaf()); err != nil {
		t.Fatal(err)
	}
	w.see()
	for range 3 {
		state()
		w.now = w.now.Add(rekey.SettleTime)
	}
	if phase, waits := state(); phase != "" {
		t.Fatalf("in the end: %s, %s", phase, waits)
	}
	last, _ := own.Root(t.Context())
	if got := authority.FingerprintsOf(last); len(got) != 1 || got[0] == authority.FingerprintsOf(former)[0] {
		t.Errorf("given out in the end: %q", got)
	}
	keys := a.List()
	if i := slices.IndexFunc(keys,
		func(k api.Key) bool { return k.Name == api.KeyIngress }); keys[i].Fingerprint != authority.FingerprintsOf(last)[0] {
		text, _ := json.Marshal(keys)
		t.Errorf("listed: %s", text)
	}
}
