package local_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/core/boundary"
	"tend.dev/tend/internal/node/nodeapi/local"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// TestFindImage: the node is asked that a request would go to, and its word counts by the rules of a report: a pinned
// image has its digest, and an answer is small.
func TestFindImage(t *testing.T) {
	digest := "sha256:" + strings.Repeat("d", 64)
	web := api.Ref{Kind: api.KindDeployment, Scope: "prod", Name: "web"}
	ready := func(id string) func(*records.Txn) {
		return func(txn *records.Txn) {
			txn.Put(records.NodeKey(id), api.NodeStatus{ID: id, Ready: true, Runtime: "docker"}).Put(records.AliveKey(id), id)
		}
	}
	asks := func(image string, answered bool) func(*records.Txn) {
		return func(txn *records.Txn) {
			ready("n2")(txn)
			txn.Put(records.ObjectKey(web), api.Object{Kind: web.Kind, Scope: web.Scope, Name: web.Name}).
				Put(records.ImageKey(web), api.ImageRequest{Owner: web, Image: image})
			if answered {
				txn.Put(records.ImageStatusKey("n3", web), api.ImageStatus{Owner: web, Node: "n3", Image: image,
					State: api.ImagePresent, ImageID: "sha256:3"})
			}
		}
	}
	for name, c := range map[string]struct {
		image       string
		again       bool
		there       func(*records.Txn)
		found       node.FoundImage
		asks, count bool
	}{
		"an image": {"web:1", false, ready("n2"), node.FoundImage{ID: "sha256:1", Arch: "arm64", Runtime: "docker"},
			true, true},
		"the pinned one": {"web@" + digest, false, ready("n2"), node.FoundImage{ID: "sha256:1", Digest: digest},
			true, true},
		"another than the pinned one": {"web@" + digest, false, ready("n2"),
			node.FoundImage{ID: "sha256:1", Digest: "sha256:e"}, true, false},
		"a pinned one without its digest": {"web@" + digest, false, ready("n2"), node.FoundImage{ID: "sha256:1"},
			true, false},
		"the same of the server's node": {"web@" + digest, false, ready("n1"), node.FoundImage{ID: "sha256:1"}, true, true},
		"too much":                      {"web:1", false, ready("n2"), node.FoundImage{ID: strings.Repeat("x", boundary.MaxStatus)}, true, false},
		"none":                          {"web:1", false, ready("n2"), node.FoundImage{}, true, false},
		"a node whose engine is away": {"web:1", false, func(txn *records.Txn) {
			txn.Put(records.NodeKey("n2"), api.NodeStatus{ID: "n2", Runtime: "docker"}).Put(records.AliveKey("n2"), "n2")
		}, node.FoundImage{ID: "sha256:1"}, false, false},
		"a node with processes, whose answer would cost it a copy": {"/srv/web", false, func(txn *records.Txn) {
			txn.Put(records.NodeKey("n2"), api.NodeStatus{ID: "n2", Ready: true, Runtime: api.RuntimeProcess}).
				Put(records.AliveKey("n2"), "n2")
		}, node.FoundImage{ID: "sha256:1"}, false, false},
		"a node whose runtime isn't known": {"web:1", false, func(txn *records.Txn) {
			txn.Put(records.NodeKey("n2"), api.NodeStatus{ID: "n2", Ready: true}).Put(records.AliveKey("n2"), "n2")
		}, node.FoundImage{ID: "sha256:1"}, false, false},
		"no node": {"web:1", false, func(txn *records.Txn) { txn.Put(records.SchemaKey, "1") },
			node.FoundImage{}, false, false},
		"it is asked for":           {"web:1", false, asks("web:1", false), node.FoundImage{ID: "sha256:1"}, false, false},
		"it is asked for again":     {"web:1", true, asks("web:1", false), node.FoundImage{ID: "sha256:1"}, true, true},
		"another one was asked for": {"web:1", false, asks("web:2", true), node.FoundImage{ID: "sha256:1"}, true, true},
		"another node has answered": {"web:1", true, asks("web:1", true), node.FoundImage{ID: "sha256:1"}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			store, asked := memory.New(), ""
			v := view.New(store, view.Options{Decode: records.Decode, Indexes: records.Indexes})
			service := local.New(local.Options{Store: store, View: v, Own: "n1",
				FindOn: func(_ context.Context, on, scope, image string) (node.FoundImage, error) {
					asked = on + " " + scope + " " + image
					if c.found.ID == "" {
						return c.found, errors.New("no such image")
					}
					return c.found, nil
				}})
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			done := make(chan error, 1)
			go func() { done <- v.Run(ctx) }()
			defer func() { cancel(); <-done; _ = store.Close() }()
			<-v.Synced()
			txn := records.NewTxn("test")
			c.there(txn)
			revision, err := txn.Commit(ctx, store)
			if err == nil {
				err = v.WaitFor(ctx, revision)
			}
			if err != nil {
				t.Fatal(err)
			}
			answer, _, counts := service.FindImage(ctx, api.ImageRequest{Owner: web, Image: c.image}, c.again)
			if counts != c.count || (asked != "") != c.asks {
				t.Fatalf("asked is %q, it counts: %v", asked, counts)
			}
			if counts && (asked != answer.Node+" prod "+c.image || answer.Image != c.image ||
				answer.State != api.ImagePresent || answer.ImageID != c.found.ID || answer.Digest != c.found.Digest ||
				answer.Arch != c.found.Arch || answer.Runtime != c.found.Runtime) {
				t.Errorf("asked is %q, the answer %+v", asked, answer)
			}
		})
	}
}
