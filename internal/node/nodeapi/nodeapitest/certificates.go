package nodeapitest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"testing"
	"time"

	"github.com/caddyserver/certmagic"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/core/boundary"
	"tend.dev/tend/internal/node/nodeapi"
	"tend.dev/tend/internal/store/records"
)

// certificates checks that there is one storage for all nodes, with locks that only one holds at a time.
func certificates(t *testing.T, here, there certmagic.Storage) {
	ctx := t.Context()
	if _, err := here.Load(ctx, "acme/ca/a.key"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nothing is there: %v", err)
	}
	if err := here.Store(ctx, "acme/ca/a.key", []byte("key")); err != nil {
		t.Fatal(err)
	}
	if got, err := there.Load(ctx, "acme/ca/a.key"); err != nil || string(got) != "key" {
		t.Errorf("%q %v", got, err)
	}
	if !there.Exists(ctx, "acme/ca/a.key") || there.Exists(ctx, "acme/ca/b.key") {
		t.Error("exists")
	}
	if got, err := there.List(ctx, "acme/ca", true); err != nil || !slices.Equal(got, []string{"acme/ca/a.key"}) {
		t.Errorf("%v %v", got, err)
	}
	if got, err := there.Stat(ctx, "acme/ca/a.key"); err != nil || got.Size != 3 || !got.IsTerminal ||
		got.Modified.IsZero() {
		t.Errorf("%+v %v", got, err)
	}
	if err := there.Delete(ctx, "acme/ca/a.key"); err != nil || here.Exists(ctx, "acme/ca/a.key") {
		t.Errorf("deleted: %v", err)
	}
	trial := "rw_test_3037110154203569587"
	if err := here.Store(ctx, trial, []byte("x")); err != nil {
		t.Errorf("certmagic can't try the storage: %v", err)
	}
	if got, err := here.Load(ctx, trial); err != nil || string(got) != "x" || here.Delete(ctx, trial) != nil {
		t.Errorf("certmagic can't try the storage: %q %v", got, err)
	}
	if _, err := here.Load(ctx, trial); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the trial stays: %v", err)
	}
	if err := here.Lock(ctx, "issue a/b"); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	if err := there.Lock(short, "issue a/b"); err == nil {
		t.Error("two hold one lock")
	}
	if err := here.Unlock(ctx, "issue a/b"); err != nil {
		t.Fatal(err)
	}
	long, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := there.Lock(long, "issue a/b"); err != nil {
		t.Errorf("no server holds it any more: %v", err)
	}
	if err := errors.Join(there.Unlock(ctx, "issue a/b")); err != nil {
		t.Error(err)
	}
	if err := there.Unlock(ctx, "issue a/b"); err == nil {
		t.Error("what isn't held was unlocked")
	}
}

// signs: the servers sign for the names of hosts that are declared to have certificates of the cluster's own authority.
func signs(t *testing.T, w *World, c nodeapi.Control) {
	w.Object(api.KindIngress, "inside",
		api.IngressSpec{Host: "*.Inside.example", TLS: &api.IngressTLS{Provider: "internal"}})
	for _, names := range [][]string{{"*.inside.example"}, {"a.inside.example"}} {
		got, err := c.Sign(t.Context(), requestFor(t, names))
		if err != nil || string(got) != fmt.Sprint("signed for ", names) {
			t.Errorf("%v: %q %v", names, got, err)
		}
	}
}

// roomForAccounts: what belongs to accounts at authorities has no names that are declared, so there is a bound to it,
// which counts all folders. What is stored can be stored again, and there is room for one more once another is gone.
func roomForAccounts(t *testing.T, w *World, c nodeapi.Control) {
	ctx, all := t.Context(), c.Certificates()
	full := records.NewTxn("test")
	for i := range boundary.MaxAccountFiles - 1 {
		full.Put(fmt.Sprintf("%sacme/ca%d/a.key", records.CertFilesPrefix, i), "x")
	}
	w.Commit(full)
	store := func(key string) error { return all.Store(ctx, key, []byte("x")) }
	if err := errors.Join(store("acme/last/a.key"), store("acme/last/a.key")); err != nil {
		t.Errorf("while there is room: %v", err)
	}
	if err := store("acme/more/a.key"); !errors.Is(err, node.ErrForbidden) {
		t.Errorf("without room: %v", err)
	}
	if err := errors.Join(all.Delete(ctx, "acme/ca0/a.key"), store("acme/more/a.key")); err != nil {
		t.Errorf("once there is room again: %v", err)
	}
}

// noIngress: a node that may serve no ingress learns nothing of them, until a person lets it.
func noIngress(t *testing.T, w *World, c nodeapi.Control) {
	changes := listen(t, c)
	w.Object(api.KindIngress, "shop",
		api.IngressSpec{Host: "shop.example", TLS: &api.IngressTLS{Certificate: "CRT", Key: "KEY"}})
	w.Object(api.KindIngress, "inside",
		api.IngressSpec{Host: "inside.example", TLS: &api.IngressTLS{Provider: "internal"}})
	served := func(want int) {
		t.Helper()
		eventually(t, changes, func() (any, bool) {
			got := c.Served()
			return got, len(got.Ingresses) == want && len(got.Certificates) == want
		})
	}
	served(2)
	w.Commit(records.NewTxn("test").Put(records.MemberKey(Here), records.Member{UID: Here}))
	served(0)
	key := "certificates/internal/inside.example/inside.example.key"
	for name, tell := range map[string]func() error{
		"loads":  func() error { _, err := c.Certificates().Load(t.Context(), key); return err },
		"stores": func() error { return c.Certificates().Store(t.Context(), key, []byte("x")) },
		"lists":  func() error { _, err := c.Certificates().List(t.Context(), "acme/ca", true); return err },
		"locks":  func() error { return c.Certificates().Lock(t.Context(), "issue") },
		"signs":  func() error { _, err := c.Sign(t.Context(), requestFor(t, []string{"inside.example"})); return err },
		"accounts": func() error {
			_, err := c.Certificates().Load(t.Context(), "acme/ca/users/default/default.key")
			return err
		},
	} {
		if err := tell(); !errors.Is(err, node.ErrForbidden) {
			t.Errorf("%s: %v", name, err)
		}
	}
	lies := api.IngressNodeStatus{Node: Here, HTTP: api.ListenerStatus{Open: true, Address: ":80"},
		Certificates: map[string]api.CertificateStatus{"inside.example": {}}}
	if err := c.ReportIngress(t.Context(), lies); err != nil || w.snapshot().IngressNode(Here).Exists() {
		t.Errorf("what it says of hosts is stored: %v", err)
	}
	yes := true
	spec, _ := json.Marshal(api.NodeSpec{Ingress: &yes})
	declared := api.Object{Kind: api.KindNode, Scope: api.Unscoped, Name: Here, Spec: spec}
	w.Commit(records.NewTxn("test").Put(records.ObjectKey(declared.Ref()), declared))
	served(2)
	w.Commit(records.NewTxn("test").Delete(records.MemberKey(Here)))
	served(0) // a name that no machine is known to have is that of any with a certificate
}
