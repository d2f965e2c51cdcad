package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"tend.dev/tend/internal/store"
)

var limitChecks = map[string]check{
	"a value of 2 MiB is kept and watched": largeValue,
	"the most operations pass":             mostOperations,
	"the most bytes pass":                  mostBytes,
	"more is refused and writes nothing":   tooLarge,
}

var closeChecks = map[string]check{
	"every call answers ErrClosed":    closedAnswers,
	"watches end":                     closeEndsWatches,
	"an ended context is its error":   contextEnded,
	"a cut commit says what it knows": cutCommit,
	"closing twice is allowed":        closeTwice,
	"nothing can be written any more": closedWritesNothing,
}

func largeValue(t *testing.T, s store.Store) {
	ctx := within(t)
	value := bytes.Repeat([]byte("tend"), 2<<20/4)
	r := mustCommit(t, s, store.Op{Key: "/large", Value: value})
	if got := mustGet(t, s, "/large").Value; !bytes.Equal(got, value) {
		t.Errorf("%d bytes came back of %d, or others", len(got), len(value))
	}
	b := next(ctx, t, s.Watch(ctx, "/", r), 1)
	if got := b[0].Events[0].Value; !bytes.Equal(got, value) {
		t.Errorf("%d bytes were watched of %d, or others", len(got), len(value))
	}
}

func manyOps(n, size int) []store.Op {
	ops := make([]store.Op, n)
	for i := range ops {
		ops[i] = store.Op{Key: fmt.Sprintf("/many/%06d", i), Value: make([]byte, size)}
	}
	return ops
}

func mostOperations(t *testing.T, s store.Store) {
	txn := store.Txn{Do: manyOps(store.MaxOps, 8)}
	for _, op := range txn.Do {
		txn.If = append(txn.If, store.Condition{Key: op.Key})
	}
	r, err := s.Commit(within(t), txn)
	if err != nil {
		t.Fatalf("commit: %v", err)
	}
	_, err = s.Commit(within(t), txn)
	var conflict *store.ConflictError
	if !errors.As(err, &conflict) || conflict.Key != txn.Do[0].Key || conflict.Have != r {
		t.Errorf("the same again: %v; want a conflict on the first key", err)
	}
	if got := len(keys(t, s, "/many/")); got != store.MaxOps {
		t.Errorf("%d keys; want %d", got, store.MaxOps)
	}
}

func mostBytes(t *testing.T, s store.Store) {
	ops := manyOps(16, 0)
	for i := range ops {
		ops[i].Value = make([]byte, store.MaxBytes/len(ops)-len(ops[i].Key))
	}
	mustCommit(t, s, ops...)
	if got := len(keys(t, s, "/many/")); got != len(ops) {
		t.Errorf("%d keys; want %d", got, len(ops))
	}
}

func tooLarge(t *testing.T, s store.Store) {
	conditions := make([]store.Condition, store.MaxOps+1)
	for i := range conditions {
		conditions[i].Key = fmt.Sprint("/absent/", i)
	}
	cases := map[string]struct {
		reason string
		txn    store.Txn
	}{
		"operations":    {"one operation too many", store.Txn{Do: manyOps(store.MaxOps+1, 1)}},
		"preconditions": {"one precondition too many", store.Txn{If: conditions, Do: manyOps(1, 1)}},
		"bytes":         {"one byte too many", store.Txn{Do: manyOps(1, store.MaxBytes)}},
	}
	for name, c := range cases {
		if _, err := s.Commit(within(t), c.txn); !errors.Is(err, store.ErrTooLarge) {
			t.Errorf("%s: %v; want ErrTooLarge: %s", name, err, c.reason)
		}
	}
	if got := keys(t, s, "/"); len(got) > 0 {
		t.Errorf("%d keys were written", len(got))
	}
}

func closedAnswers(t *testing.T, s store.Store) {
	ctx := within(t)
	if err := s.Close(); err != nil {
		t.Fatalf("close: %v", err)
	}
	_, getErr := s.Get(ctx, "/a")
	_, listErr := s.List(ctx, "/", store.ListOptions{})
	_, commitErr := s.Commit(ctx, store.Txn{Do: []store.Op{put("/a", "1")}})
	_, grantErr := s.Grant(ctx, time.Second)
	for call, err := range map[string]error{
		"get": getErr, "list": listErr, "commit": commitErr, "grant": grantErr,
		"keep alive": s.KeepAlive(ctx, 1), "revoke": s.Revoke(ctx, 1), "compact": s.Compact(ctx, 1),
		"watch": end(t, s.Watch(ctx, "/", 0)), "watch from": end(t, s.Watch(ctx, "/", 1)),
	} {
		if !errors.Is(err, store.ErrClosed) {
			t.Errorf("%s after close: %v; want ErrClosed", call, err)
		}
	}
}

func closeEndsWatches(t *testing.T, s store.Store) {
	ctx := within(t)
	r := mustCommit(t, s, put("/a", "1"))
	idle, unread := s.Watch(ctx, "/", r+1), s.Watch(ctx, "/", r)
	if err := s.Close(); err != nil {
		t.Fatalf("close: %v", err)
	}
	mustBe(t, end(t, idle), store.ErrClosed)
	mustBe(t, end(t, unread), store.ErrClosed)
}

func contextEnded(t *testing.T, s store.Store) {
	ctx, cancel := context.WithCancel(within(t))
	cancel()
	_, err := s.Get(ctx, "/a")
	mustBe(t, err, context.Canceled)
	_, err = s.Commit(ctx, store.Txn{Do: []store.Op{put("/a", "1")}})
	mustBe(t, err, context.Canceled)
	mustBeAbsent(t, s, "/a")
}

// cutCommit cancels the context of commits under way. Unless the outcome is unknown, the error means that nothing is
// written.
func cutCommit(t *testing.T, s store.Store) {
	for i := range 200 {
		key := fmt.Sprintf("/cut/%03d", i)
		ctx, cancel := context.WithTimeout(within(t), time.Duration(i)*20*time.Microsecond)
		_, err := s.Commit(ctx, store.Txn{Site: "storetest", Do: []store.Op{put(key, "1")}})
		cancel()
		mustCommit(t, s, put("/after", key)) // any queued commit is applied before this one
		switch _, got := s.Get(within(t), key); {
		case err == nil && got != nil:
			t.Errorf("%s was committed: %v", key, got)
		case err != nil && !errors.Is(err, store.ErrUnknownOutcome) && got == nil:
			t.Errorf("%s is there, although its commit failed with %v", key, err)
		}
	}
}

func closeTwice(t *testing.T, s store.Store) {
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatalf("close: %v", err)
		}
	}
}

func closedWritesNothing(t *testing.T, s store.Store) {
	ctx := within(t)
	done := make(chan error, 1)
	go func() {
		for {
			if _, err := s.Commit(ctx, store.Txn{Do: []store.Op{put("/n", "1")}}); err != nil {
				done <- err
				return
			}
		}
	}()
	next(ctx, t, s.Watch(ctx, "/", 2), 3)
	if err := s.Close(); err != nil {
		t.Fatalf("close while a writer works: %v", err)
	}
	mustBe(t, <-done, store.ErrClosed)
}
