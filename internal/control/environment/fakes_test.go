package environment

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

var web = api.Ref{Kind: api.KindDeployment, Scope: "prod", Name: "web"}

// sealer seals by a prefix. Without its key it decrypts nothing. It counts what it decrypted.
type sealer struct {
	lost   bool
	opened int
}

func (*sealer) Encrypt(plain []byte) ([]byte, error) { return []byte("sealed:" + string(plain)), nil }

func (s *sealer) Decrypt(sealed []byte) ([]byte, error) {
	plain, ok := strings.CutPrefix(string(sealed), "sealed:")
	if s.lost || !ok {
		return nil, errors.New("no key fits")
	}
	s.opened++
	return []byte(plain), nil
}

func (*sealer) HMAC(data []byte) string { return "hash of " + string(data) }

// harness is a store with its view.
type harness struct {
	testing.TB
	store  *memory.Store
	view   *view.View
	sealer *sealer
	env    *Environments
}

func newHarness(t testing.TB) *harness {
	l := &harness{TB: t, store: memory.New(), sealer: &sealer{}}
	l.env = New(l.sealer)
	l.view = view.New(l.store, view.Options{Decode: records.Decode, Indexes: records.Indexes})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- l.view.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done; _ = l.store.Close() })
	<-l.view.Synced()
	return l
}

func (l *harness) snapshot() records.Snapshot { return records.Snapshot{Reader: l.view.Snapshot()} }

func (l *harness) write(fill func(*records.Txn)) {
	l.Helper()
	txn := records.NewTxn("test")
	fill(txn)
	revision, err := txn.Commit(context.Background(), l.store)
	if err == nil {
		err = l.view.WaitFor(context.Background(), revision)
	}
	if err != nil {
		l.Fatal(err)
	}
}

// config sets values by their key behind /config/.
func (l *harness) config(pairs ...string) {
	l.Helper()
	l.write(func(txn *records.Txn) {
		for i := 0; i < len(pairs); i += 2 {
			txn.Put(records.ConfigPrefix+pairs[i], []byte("sealed:"+pairs[i+1]))
		}
	})
}

func (l *harness) put(ref api.Ref, spec any) api.Object {
	l.Helper()
	raw, err := json.Marshal(spec)
	if err != nil {
		l.Fatal(err)
	}
	object := api.Object{Kind: ref.Kind, Scope: ref.Scope, Name: ref.Name, Spec: raw}
	l.write(func(txn *records.Txn) { txn.Put(records.ObjectKey(ref), object) })
	return object
}

// of returns the environment of a declaration.
func (l *harness) of(declared api.Container) (map[string]string, error) {
	_, merged, err := l.env.Resolve(l.snapshot(), web, declared)
	return merged, err
}
