package records

import (
	"context"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store"
)

// keeping is a Committer that keeps the transaction.
type keeping struct{ txn store.Txn }

func (k *keeping) Commit(_ context.Context, txn store.Txn) (int64, error) {
	k.txn = txn
	return 1, nil
}

// A write sets the trace of objects, tasks and image requests; a write without a trace removes an earlier one.
func TestTraceIsThatOfTheWrite(t *testing.T) {
	ref := api.Ref{Kind: api.KindDeployment, Scope: "prod", Name: "web"}
	old, next := &api.Trace{Parent: "old", At: time.Unix(1, 0)}, &api.Trace{Parent: "next", At: time.Unix(2, 0)}
	for reason, test := range map[string]struct {
		trace *api.Trace
		want  string
		not   string
	}{
		"a write within a trace": {next, `"parent":"next"`, `"old"`},
		"a write outside of one": {nil, `"kind"`, `"trace"`},
	} {
		txn := NewTxn("test").
			Put(ObjectKey(ref), api.Object{Kind: ref.Kind, Metadata: api.Metadata{Trace: old}}).
			Put(TaskKey("t"), api.Task{ID: "t", Kind: ref.Kind, Trace: old}).
			Put(ImageKey(ref), api.ImageRequest{Owner: ref, Trace: old}).
			Put("/guards/test", "kind")
		var to keeping
		if _, err := txn.Trace(test.trace).Commit(context.Background(), &to); err != nil {
			t.Fatal(err)
		}
		for _, op := range to.txn.Do[:3] {
			if value := string(op.Value); !strings.Contains(value, test.want) || strings.Contains(value, test.not) {
				t.Errorf("%s: %s is %s, want %s and no %s", reason, op.Key, value, test.want, test.not)
			}
		}
		if got := string(to.txn.Do[3].Value); got != "kind" {
			t.Errorf("%s: another record became %s", reason, got)
		}
	}
}
