package daemon

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/records"
)

// TestWhatAPausedClusterTakes: a commit that isn't named is refused until the pause is over.
func TestWhatAPausedClusterTakes(t *testing.T) {
	s := memory.New()
	defer s.Close()
	gate := pausable{s}
	commit := func(site string) error {
		_, err := gate.Commit(t.Context(), store.Txn{Site: site, Do: []store.Op{{Key: "/x", Value: []byte(site)}}})
		return err
	}
	if err := commit("apply"); err != nil {
		t.Errorf("before the pause: %v", err)
	}
	if _, err := records.NewTxn("pause.begin").Put(records.PauseKey,
		records.Pause{Number: 1, Reason: "it was restored"}).Commit(t.Context(), gate); err != nil {
		t.Fatal(err)
	}
	for site, takes := range map[string]bool{
		"apply": false, "run": false, "config": false, "schedule": false, "deployment.tasks": false,
		"cronjob.create-run": false, "sync.status": false,
		"sink.progress": false, "backup.record": false, "events.trim": false, "delivery.record": false, "flapping": false,
		"key.rotate": false, "": false,
		"token.add": false, "audit": false, "agent.report": true, "agent.alive": true, "certs.store": true,
		"server.present": true, "election": true,
		"election.settle": true, "resume.adopt": true, "resume.end": true, "member.enter": true,
		"member.trust": false, "token.make": true, "node.remove": true, "node.down": false, "node": false,
	} {
		err := commit(site)
		if refused := errors.Is(err, store.ErrPaused) && strings.Contains(err.Error(), "it was restored"); takes &&
			err != nil || !takes && !refused {
			t.Errorf("%q: %v", site, err)
		}
	}
	if _, err := records.NewTxn("resume.end").Delete(records.PauseKey).Commit(t.Context(), gate); err != nil {
		t.Fatal(err)
	}
	if err := commit("apply"); err != nil {
		t.Errorf("after the pause: %v", err)
	}
}

// TestWhenAPauseBegins: the progress in the root and the store decide, wherever a server was killed before.
func TestWhenAPauseBegins(t *testing.T) {
	pause := func(number int64) records.Read[records.Pause] {
		return records.Read[records.Pause]{Value: &records.Pause{Number: number, Reason: "x"}, Modified: 1}
	}
	for name, test := range map[string]struct {
		finding
		want   string
		number int64
	}{
		"nothing happened": {finding{known: progress{Revision: 5}, revision: 9}, "", 0},
		"--paused":         {finding{revision: 9, asked: true}, "--paused", 1},
		"an older store":   {finding{known: progress{Revision: 10}, revision: 9}, "revision 9", 1},
		"an older store, with an older pause": {finding{known: progress{Revision: 10, Pause: 3}, revision: 9,
			last: pause(2)}, "revision 9", 4},
		"another server has resumed that": {finding{known: progress{Revision: 10, Pause: 1}, revision: 9,
			last: pause(2)}, "", 0},
		"another server has paused for that": {finding{known: progress{Revision: 10}, revision: 9, now: pause(1)},
			"", 0},
		"tend restore": {finding{known: progress{Revision: 5, Restored: true, Backup: "noon"},
			revision: 9}, "noon", 1},
		"tend restore, of a paused cluster": {finding{known: progress{Restored: true, Backup: "noon"}, now: pause(4),
			last: pause(3)}, "noon", 5},
		"tend restore, after earlier pauses": {finding{known: progress{Restored: true, Backup: "noon"},
			last: pause(7)}, "noon", 8},
		"killed before the pause was stored": {finding{known: progress{Restored: true, Backup: "noon", Pause: 8},
			last: pause(7)}, "noon", 9},
		"killed after it was stored": {finding{known: progress{Restored: true, Backup: "noon", Pause: 8},
			now: pause(8), last: pause(7)}, "", 0},
		"killed after it was over": {finding{known: progress{Revision: 5, Restored: true, Backup: "noon",
			Pause: 8}, revision: 9, last: pause(8)}, "", 0},
		"killed in the pause of an older version": {finding{known: progress{Restored: true}}, "an older store", 1},
		"an older store within the pause, put back": {finding{known: progress{Revision: 10, Restored: true, Pause: 8},
			revision: 9, last: pause(7)}, "an older store", 9},
	} {
		got := test.reason()
		if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
		if number := test.next(); test.want != "" && number != test.number {
			t.Errorf("%s: pause %d, want %d", name, number, test.number)
		}
	}
}

// TestAPartWorksBetweenPauses: a pause ends it, and the end of the pause begins it again.
func TestAPartWorksBetweenPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, began, ended := newStandstill("restored"), 0, 0
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() {
			done <- p.after(func(ctx context.Context) error { began++; <-ctx.Done(); ended++; return ctx.Err() })(ctx)
		}()
		for i, why := range []string{"restored", "", "restored again", "", ""} {
			p.follow(func() string { return why })
			synctest.Wait()
			want := []int{0, 1, 1, 2, 2}[i]
			if running := min(want, 1); why != "" && ended != want || why == "" && began-ended != running || began != want {
				t.Errorf("step %d: it began %d times and ended %d times", i, began, ended)
			}
		}
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) || began != 2 || ended != 2 {
			t.Errorf("%v; it began %d times and ended %d times", err, began, ended)
		}
	})
}
