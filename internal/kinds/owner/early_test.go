package owner_test

import (
	"context"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/kinds/owner"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// TestAnEarlyAnswerCountsForOneStep: what a node said as an object was stored counts for the first step after that,
// and no longer: by then the node may have another image.
func TestAnEarlyAnswerCountsForOneStep(t *testing.T) {
	web := api.Ref{Kind: api.KindDeployment, Scope: "prod", Name: "web"}
	object := api.Object{Kind: web.Kind, Scope: web.Scope, Name: web.Name, Metadata: api.Metadata{UID: "u1"}}
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	request := api.ImageRequest{Owner: web, OwnerUID: "u1", Image: "web:1"}
	said := api.ImageStatus{Owner: web, OwnerUID: "u1", Node: "n1", Image: "web:1", State: api.ImagePresent,
		ImageID: "sha256:1", UpdatedAt: now}
	late, other, gone := said, said, records.Member{Removed: true}
	other.Image, late.UpdatedAt = "web:2", now.Add(-time.Minute)
	stores := func(said api.ImageStatus) func(*records.Txn) {
		return func(txn *records.Txn) {
			txn.Put(records.ObjectKey(web), object).Put(records.FoundKey(web), records.Found{Answer: said})
		}
	}
	puts := func(key string, value any) func(*records.Txn) { return func(txn *records.Txn) { txn.Put(key, value) } }
	for name, c := range map[string]struct {
		commits []func(*records.Txn)
		counts  bool
		becomes bool // the node's answer, beside the request
	}{
		"the first step": {[]func(*records.Txn){stores(said)}, true, true},
		"after an older status": {[]func(*records.Txn){puts(records.StatusKey(web), api.WorkloadStatus{}),
			stores(said)},
			true, true},
		"another image than is asked for": {[]func(*records.Txn){stores(other)}, true, false},
		"a step before, which was refused": {[]func(*records.Txn){stores(said),
			puts(records.StatusKey(web), api.WorkloadStatus{})}, false, false},
		"the object was stored again": {[]func(*records.Txn){stores(said), puts(records.ObjectKey(web), object)},
			false, false},
		"a server that died meanwhile": {[]func(*records.Txn){stores(late)}, false, false},
		"the node was removed": {[]func(*records.Txn){stores(said), puts(records.MemberKey("n1"), gone)}, false,
			false},
	} {
		t.Run(name, func(t *testing.T) {
			store := memory.New()
			v := view.New(store, view.Options{Decode: records.Decode, Indexes: records.Indexes})
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			done := make(chan error, 1)
			go func() { done <- v.Run(ctx) }()
			defer func() { cancel(); <-done; _ = store.Close() }()
			<-v.Synced()
			commit := func(fill func(*records.Txn)) records.Snapshot {
				txn := records.NewTxn("test")
				fill(txn)
				revision, err := txn.Commit(ctx, store)
				if err == nil {
					err = v.WaitFor(ctx, revision)
				}
				if err != nil {
					t.Fatal(err)
				}
				return records.Snapshot{Reader: v.Snapshot()}
			}
			var s records.Snapshot
			for _, fill := range c.commits {
				s = commit(fill)
			}
			answers, early := owner.ImageAnswers(s, s.Object(web), now)
			if counts := len(answers) == 1; counts != c.counts {
				t.Errorf("it counts: %v, want %v", counts, c.counts)
			}
			s = commit(func(txn *records.Txn) { early.Settle(txn, request, true) })
			if s.Found(web).Exists() {
				t.Error("it isn't forgotten")
			}
			if got := s.ImageStatus("n1", web); got.Exists() != c.becomes || c.becomes &&
				got.Value.ImageID != "sha256:1" {
				t.Errorf("the node's answer is %+v", got.Value)
			}
		})
	}
}
