package verbs

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/storefault"
)

// A workload mounts a file, and its apply has no answer. The file changes, then the apply arrives: it must not bring
// the digest of the old file.
func TestALateApplyBringsNoOldFile(t *testing.T) {
	w, _ := newAssetWorld(t)
	web := deployment("prod", "web", `{"image":"web:1","volumes":["${asset.conf.a}:/etc/a"]}`)
	w.mustApply(asset("prod", "conf", map[string]string{"a": "old"}))
	late := storefault.New(w.store, func(txn store.Txn) storefault.Fate {
		if w.commits.Add(1) == 2 {
			return storefault.Late(1)
		}
		return storefault.Answered
	})
	w.service.opts.Store = late
	if _, err := w.apply(ApplyOptions{}, web); !errors.Is(err, store.ErrUnknownOutcome) {
		t.Fatalf("the apply answered %v", err)
	}
	w.mustApply(asset("prod", "conf", map[string]string{"a": "new"}))
	if refused := late.Refused(); len(refused) != 1 || w.object(web.Ref()) != nil {
		t.Fatalf("the late apply was stored; refused %v", refused)
	}
	w.mustApply(web)
	if got := w.assets(web.Ref())["prod.conf.a"]; got != digest("new") {
		t.Errorf("web mounts %q, want the new file %q", got, digest("new"))
	}
}

// inStep is a reader of two servers that decide at once: while armed, it gives out its next snapshot when the other has
// taken its own.
type inStep struct {
	Reader
	meet  func()
	armed bool
}

func (r *inStep) Fresh(ctx context.Context) (records.Snapshot, error) {
	snap, err := r.Reader.Fresh(ctx)
	if r.armed {
		r.armed = false
		r.meet()
	}
	return snap, err
}

// Two servers over one store decide every verb from the same state: each port goes to one object, and no workload keeps
// an old file.
func TestRulesBetweenObjectsHoldUnderTwoServers(t *testing.T) {
	w, _ := newAssetWorld(t)
	w.mustApply(asset("prod", "conf", map[string]string{"a": "0"}))
	const ports = 8
	met := make(chan struct{})
	meetings := []func(){func() { met <- struct{}{} }, func() { <-met }}
	won := make([][ports]bool, len(meetings))
	var wait sync.WaitGroup
	for i, meet := range meetings {
		reader, opts := &inStep{Reader: w.service.opts.Reader, meet: meet}, w.service.opts
		opts.Reader = reader
		server := New(opts)
		wait.Go(func() {
			for port := range ports {
				spec := fmt.Sprintf(`{"image":"web:1","ports":["%d:80"],"volumes":["${asset.conf.a}:/etc/a"]}`,
					3000+port)
				reader.armed = true
				_, err := server.Apply(t.Context(),
					[]api.Object{deployment("prod", fmt.Sprintf("web-%d-%d", i, port), spec)}, ApplyOptions{})
				var refused *Error
				if won[i][port] = err == nil; err != nil && (!errors.As(err, &refused) || refused.Reason != PortTaken) {
					t.Errorf("server %d, port %d: %v", i, 3000+port, err)
				}
				// One of them changes the file while the other applies a second workload that mounts it.
				next := asset("prod", "conf", map[string]string{"a": fmt.Sprint(port)})
				if i == port%2 {
					next = deployment("prod", fmt.Sprintf("late-%d", port),
						`{"image":"web:1","volumes":["${asset.conf.a}:/etc/a"]}`)
				}
				reader.armed = true
				if _, err := server.Apply(t.Context(), []api.Object{next}, ApplyOptions{}); err != nil {
					t.Errorf("server %d, round %d: %v", i, port, err)
				}
			}
		})
	}
	wait.Wait()
	want := w.object(api.Ref{Kind: api.KindAsset, Scope: "prod", Name: "conf"}).FileDigests()["a"]
	for port := range ports {
		if won[0][port] == won[1][port] {
			t.Errorf("port %d: won by the first %t, by the second %t; want one", 3000+port, won[0][port], won[1][port])
		}
	}
	for object := range w.snapshot().Objects(api.KindDeployment) {
		if got := object.Value.AssetDigests()["prod.conf.a"]; got != want {
			t.Errorf("%s mounts %q, the file is %q", object.Value.Ref(), got, want)
		}
	}
}
