package local

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// TestManyNamesAtOnce: a node asks about a bounded number of names; this server's own about all it has.
func TestManyNamesAtOnce(t *testing.T) {
	own := nodeOver(t)
	for names, want := range map[int]error{node.MaxReferred: nil, node.MaxReferred + 1: node.ErrForbidden} {
		if _, err := own.Service.Node("n2").Referred(t.Context(), make([]string, names)); !errors.Is(err, want) {
			t.Errorf("%d names: %v", names, err)
		}
		if _, err := own.Referred(t.Context(), make([]string, names)); err != nil {
			t.Errorf("%d names of its own: %v", names, err)
		}
	}
}

// TestTheServersOwnNodeAsksForAll: its answers are the server's own.
func TestTheServersOwnNodeAsksForAll(t *testing.T) {
	own := nodeOver(t, api.Object{Kind: api.KindDeployment, Scope: "prod", Name: "web", Spec: []byte(`{"image":"web:1"}`)})
	for name, of := range map[string]*Control{"own": own, "another": own.Service.Node("n2")} {
		used, err := of.Referred(t.Context(), []string{"web:1"})
		if err != nil || used["web:1"] != (name == "own") {
			t.Errorf("%s: %v, %v", name, used, err)
		}
	}
}

// nodeOver returns what a node sees of a store with some objects.
func nodeOver(t *testing.T, objects ...api.Object) *Control {
	t.Helper()
	txn := records.NewTxn("test")
	for _, object := range objects {
		txn.Put(records.ObjectKey(object.Ref()), object)
	}
	return nodeOf(t, txn)
}

// nodeOf returns what a node sees of a store with one commit.
func nodeOf(t *testing.T, txn *records.Txn) *Control {
	t.Helper()
	store := memory.New()
	t.Cleanup(func() { _ = store.Close() })
	if _, err := txn.Commit(t.Context(), store); err != nil {
		t.Fatal(err)
	}
	v := view.New(store, view.Options{Decode: records.Decode, Indexes: records.Indexes})
	go func() { _ = v.Run(t.Context()) }()
	<-v.Synced()
	return New(Options{Store: store, View: v, Keys: plain{}, Own: "n1"}).Node("n1")
}

func route(scope, name, since, spec string) api.Object {
	object := api.Object{Kind: api.KindIngress, Scope: scope, Name: name, Spec: []byte(spec)}
	object.Metadata.Stamps = map[string]string{api.StampHost: since}
	return object
}

// TestAHostIsServedForItsScope: by one policy. What is stored beside it, and would take a path of it or its TLS, is not
// served.
func TestAHostIsServedForItsScope(t *testing.T) {
	const first, later = "2026-01-01T00:00:00Z bank.example", "2026-01-02T00:00:00Z bank.example"
	confined := route("bank", "ask", "2026-01-01T00:00:00Z ask.example",
		`{"host":"ask.example","tls":{"on_demand":true,"ask":"http://127.0.0.1/"}}`)
	confined.Metadata.Stamps[api.StampConfined] = "true"
	served := nodeOver(t,
		route("bank", "web", first, `{"host":"bank.example","tls":{"email":"ops@bank.example"},"shared_with":["shop"]}`),
		route("a", "thief", later, `{"host":"bank.example","tls":{"email":"me@a.example"},"locations":[{"path":"/login"}]}`),
		route("shop", "guest", later, `{"host":"bank.example","tls":{"enabled":false},"locations":[{"path":"/shop"}]}`),
		confined,
	).Served()
	var got []string
	for _, in := range served.Ingresses {
		got = append(got, fmt.Sprintf("%s/%s secure %v guest %v", in.Ref.Scope, in.Ref.Name, in.Spec.Secure(), in.Guest))
	}
	for _, policy := range served.Certificates {
		got = append(got, fmt.Sprintf("%s for %q confined %v", policy.Host, policy.Email, policy.Confined))
	}
	want := `bank/ask secure true guest false, bank/web secure true guest false, shop/guest secure true guest true, ask.example for "" confined true, bank.example for "ops@bank.example" confined false`
	if strings.Join(got, ", ") != want {
		t.Errorf("served are\n%s, want\n%s", strings.Join(got, ", "), want)
	}
}

// TestPublicNamesAreNotAnswered: a deployment com/github has its name below Tend's own zones.
func TestPublicNamesAreNotAnswered(t *testing.T) {
	var objects []api.Object
	for _, name := range []string{"com/github", "de/web", "prod/web"} {
		scope, name, _ := strings.Cut(name, "/")
		objects = append(objects, api.Object{Kind: api.KindStatefulSet, Scope: scope, Name: name,
			Spec: []byte(`{"image":"a"}`)})
	}
	node := nodeOver(t, objects...)
	for name, want := range map[string]bool{
		"github.com.": false, "GitHub.Com": false, "github-0.com": false, "web.de": false,
		"github.com.tend.": true, "github.com.voodu": true, "github-0.com.tend": true, "web.de.tend": true,
		"web.prod.": true, "web.prod.tend": true, "web-0.prod": true,
	} {
		if found, err := node.Resolve(t.Context(), name); err != nil || found.Known != want {
			t.Errorf("%s: %+v, %v, want known %v", name, found, err, want)
		}
	}
}

// TestAliasesAreAnswered: an alias is a name in the scope of its workload, and no other.
func TestAliasesAreAnswered(t *testing.T) {
	spec := []byte(`{"image":"a","aliases":["my_db","db"]}`)
	node := nodeOver(t,
		api.Object{Kind: api.KindDeployment, Scope: "prod", Name: "my-db", Spec: spec},
		api.Object{Kind: api.KindStatefulSet, Scope: "com", Name: "store", Spec: spec},
		api.Object{Kind: api.KindJob, Scope: "prod", Name: "once", Spec: []byte(`{"image":"a","aliases":["once_more"]}`)},
	)
	for name, want := range map[string]bool{
		"my_db.prod.": true, "MY_DB.prod": true, "db.prod.tend": true, "my-db.prod": true, "my_db.other": false,
		"once_more.prod": false,
		"db.com":         false, "db.com.tend": true,
	} {
		if found, err := node.Resolve(t.Context(), name); err != nil || found.Known != want {
			t.Errorf("%s: %+v, %v, want known %v", name, found, err, want)
		}
	}
}

// TestOwnNamesWinOverAliases: an alias that is stored beside a workload of the name, or an ordinal, receives none of
// its connections.
func TestOwnNamesWinOverAliases(t *testing.T) {
	txn := records.NewTxn("test")
	pod := func(kind api.Kind, name, slot, address string) {
		id := name + slot
		txn.CreateTask(api.Task{ID: id, Kind: kind, Scope: "prod", Name: name, Slot: slot,
			Class: api.ClassKeep, Role: api.RoleMain,
			Node: "n1", Desired: api.DesiredRunning})
		txn.Put(records.TaskStatusKey(id),
			api.TaskStatus{ID: id, Node: "n1", State: api.TaskRunning, Ready: true, Address: address})
	}
	for name, kind := range map[string]api.Kind{"db": api.KindStatefulSet, "thief": api.KindDeployment} {
		object := api.Object{Kind: kind, Scope: "prod", Name: name,
			Spec: []byte(`{"image":"a","aliases":["db","db-0","db-9","db-x"]}`)}
		if name == "db" {
			object.Spec = []byte(`{"image":"a"}`)
		}
		txn.Put(records.ObjectKey(object.Ref()), object)
	}
	pod(api.KindStatefulSet, "db", "0", "10.0.0.2")
	pod(api.KindStatefulSet, "db", "1", "10.0.0.3")
	pod(api.KindDeployment, "thief", "abc", "10.0.0.66")
	node := nodeOf(t, txn)
	for name, want := range map[string]string{
		"db.prod": "[10.0.0.2 10.0.0.3]", "db-0.prod": "[10.0.0.2]", "db-1.prod": "[10.0.0.3]", "db-9.prod": "[]",
		"db-x.prod": "[10.0.0.66]", "thief.prod": "[10.0.0.66]",
	} {
		found, err := node.Resolve(t.Context(), name)
		if got := fmt.Sprint(found.Addresses); err != nil || !found.Known || got != want {
			t.Errorf("%s: %s, known %v, %v, want %s", name, got, found.Known, err, want)
		}
	}
}
