//go:build !race

package server_test

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/server"
	"tend.dev/tend/internal/store/etcd"
	"tend.dev/tend/internal/store/eventlog"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// BenchmarkEventsToClient writes 1,000 statuses a second, evenly, to a real etcd for some seconds, and measures how
// long each takes from the beginning of its commit until a client has read its server-sent event, and from the answer
// of the store: what the store takes is the physical limit. Run it with -benchtime 1x on an idle machine.
func BenchmarkEventsToClient(b *testing.B) {
	for b.Loop() {
		measureEvents(b, 1000, 10*time.Second)
	}
}

// arrivals are when events were read, by the revision of their id.
type arrivals struct {
	mu sync.Mutex
	at map[string]time.Time
}

func measureEvents(b *testing.B, rate int, length time.Duration) {
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	quiet := slog.New(slog.DiscardHandler)
	db, err := etcd.Open(ctx, etcd.Options{DataDir: filepath.Join(b.TempDir(), "state"), Ballast: -1, Logger: quiet})
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	log := eventlog.New(eventlog.Options{Store: db, Prefix: records.EventsPrefix, Source: "/bench"})
	v := view.New(db, view.Options{Decode: records.Decode, Indexes: records.Indexes, Logger: quiet,
		Aside: []view.Aside{{Prefix: records.EventsPrefix, Reader: log}}})
	var parts sync.WaitGroup
	defer parts.Wait()
	defer cancel()
	parts.Go(func() { _ = v.Run(ctx) })
	<-v.Synced()
	recorder := eventlog.Record(db, v.Snapshot, time.Now)
	if _, err := records.NewTxn("bench").Put(records.SchemaKey, "1").Commit(ctx, recorder); err != nil {
		b.Fatal(err)
	}
	tcp, err := server.ListenLoopback("127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	s := server.New(server.Options{View: v, Events: log, Logger: quiet})
	parts.Go(func() { _ = s.Serve(ctx, server.Endpoint{Listener: tcp, Trusted: true}) })
	got := &arrivals{at: map[string]time.Time{}}
	ready := make(chan struct{})
	parts.Go(func() { got.read(ctx, tcp.Addr(), ready) })
	<-ready
	sent := writeStatuses(ctx, b, recorder, rate, length)
	report(b, sent, got)
}

// read reads the stream until ctx ends.
func (a *arrivals) read(ctx context.Context, at net.Addr, ready chan<- struct{}) {
	request, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+at.String()+"/v1/events", http.NoBody)
	request.Header.Set("Accept", "text/event-stream")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return
	}
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	once := sync.OnceFunc(func() { close(ready) })
	for lines.Scan() {
		id, found := strings.CutPrefix(lines.Text(), "id: ")
		if !found {
			continue
		}
		once() // the first bookmark
		revision, _, _ := strings.Cut(id, ".")
		a.mu.Lock()
		a.at[revision] = time.Now()
		a.mu.Unlock()
	}
}

// writeStatuses writes statuses of 200 objects at a rate, and returns when each commit began and was answered, by its
// revision.
func writeStatuses(
	ctx context.Context, b *testing.B, to records.Committer, rate int, length time.Duration,
) map[string]written {
	const writers = 200
	sent, mu := map[string]written{}, sync.Mutex{}
	var group sync.WaitGroup
	until := time.Now().Add(length)
	for i := range writers {
		group.Go(func() {
			key := records.StatusKey(api.Ref{Kind: api.KindDeployment, Scope: "bench", Name: fmt.Sprintf("w%d", i)})
			<-time.After(time.Duration(i) * time.Second / time.Duration(rate)) // evenly, not 200 at once
			ticker := time.NewTicker(time.Second * writers / time.Duration(rate))
			defer ticker.Stop()
			modified := int64(0)
			for n := 0; time.Now().Before(until); n++ {
				<-ticker.C
				status := api.WorkloadStatus{ObservedGeneration: 1, Ready: n,
					Conditions: []api.Condition{{Type: api.ConditionReady, Status: api.ConditionTrue}}}
				began := time.Now()
				revision, err := records.NewTxn("bench.status").If(key, modified).Put(key, status).Commit(ctx, to)
				if err != nil {
					b.Error(err)
					return
				}
				modified = revision
				mu.Lock()
				sent[fmt.Sprint(revision)] = written{began, time.Now()}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	return sent
}

func report(b *testing.B, sent map[string]written, got *arrivals) {
	deadline := time.After(time.Minute)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for complete := false; !complete; {
		select {
		case <-tick.C:
		case <-deadline:
			b.Fatal("events are missing")
		}
		got.mu.Lock()
		complete = len(got.at) >= len(sent)
		got.mu.Unlock()
	}
	var took, commit, after []time.Duration
	got.mu.Lock()
	defer got.mu.Unlock()
	for revision, w := range sent {
		at, ok := got.at[revision]
		if !ok {
			b.Fatalf("the event of revision %s is missing", revision)
		}
		took, commit = append(took, at.Sub(w.began)), append(commit, w.answered.Sub(w.began))
		after = append(after, max(0, at.Sub(w.answered)))
	}
	fmt.Printf("bench: events-sse-rate %d events\n", len(took))
	for _, figure := range []struct {
		name string
		took []time.Duration
	}{{"events-sse", took}, {"events-sse-commit", commit}, {"events-sse-after-commit", after}} {
		slices.Sort(figure.took)
		for _, share := range []int{50, 99} {
			ms := float64(figure.took[len(figure.took)*share/100].Microseconds()) / 1000
			fmt.Printf("bench: %s-p%d %.2f ms\n", figure.name, share, ms)
		}
	}
}

// written is when a commit began, and when the store answered it.
type written struct{ began, answered time.Time }
