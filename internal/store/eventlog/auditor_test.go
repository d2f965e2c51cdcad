package eventlog_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/eventlog"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/test/race"
)

// unsure applies each commit, but answers the first one with an unknown outcome.
type unsure struct {
	store.Store
	left atomic.Int32
}

func (s *unsure) Commit(ctx context.Context, txn store.Txn) (int64, error) {
	revision, err := s.Store.Commit(ctx, txn)
	if err == nil && s.left.Add(-1) >= 0 {
		return 0, store.ErrUnknownOutcome
	}
	return revision, err
}

// calls returns the audited calls in a store.
func calls(t *testing.T, s store.Store) []api.AuditData {
	t.Helper()
	page, err := s.List(context.Background(), records.AuditPrefix, store.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var out []api.AuditData
	for _, e := range page.Entries {
		var entry struct {
			Events []struct{ Data api.AuditData }
		}
		if err := json.Unmarshal(e.Value, &entry); err != nil {
			t.Fatal(err)
		}
		for _, event := range entry.Events {
			out = append(out, event.Data)
		}
	}
	return out
}

// TestAuditor records calls while the store answers that it doesn't know, and calls without a token: each call is there
// once, also those that waited at the end, and those without a token are one record a minute.
func TestAuditor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &unsure{Store: memory.New()}
		defer s.Close()
		s.left.Store(3)
		a := eventlog.NewAuditor(s, func() int64 { return 1 }, time.Now, slog.New(slog.DiscardHandler))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- a.Run(ctx) }()
		for range 5 {
			a.Record(api.AuditData{Method: "POST", Path: "/v1/objects/-/prod/web/scale", Status: 200})
			time.Sleep(time.Second)
		}
		for range 90 { // an attack of a minute and a half
			for range 100 {
				a.RecordForeign(api.AuditData{Method: "POST", Path: "/v1/apply", Status: 401})
			}
			time.Sleep(time.Second)
		}
		a.Record(api.AuditData{Method: "DELETE", Path: "/v1/objects/job/a/b", Status: 200})
		a.RecordForeign(api.AuditData{Method: "POST", Path: "/v1/apply", Status: 401})
		synctest.Wait()
		cancel()
		<-done
		known, foreign, counted := 0, 0, 0
		for _, call := range calls(t, s) {
			if call.Status == 401 {
				foreign, counted = foreign+1, counted+call.Count
			} else {
				known++
			}
		}
		if known != 6 {
			t.Errorf("%d calls are recorded, want 6", known)
		}
		if foreign < 1 || foreign > 2 || counted != 9001 { // a minute that ends within a call is counted in the next
			t.Errorf("%d records are of %d calls without a token, want at most 2 of 9001", foreign, counted)
		}
	})
}

// TestAuditIsReadAsALog reads calls as events, by the object that they name.
func TestAuditIsReadAsALog(t *testing.T) {
	w := newWorld(t, backends["memory"])
	a := eventlog.NewAuditor(w.store, w.view.Revision, time.Now, slog.New(slog.DiscardHandler))
	a.Record(api.AuditData{Method: "POST", Path: "/v1/objects/-/prod/web/scale", Scope: "prod", Name: "web", Status: 409,
		Problem: "FieldOwned"})
	ctx, cancel := context.WithCancel(w.ctx)
	cancel()
	_ = a.Run(ctx)
	page, err := w.store.List(w.ctx, records.AuditPrefix, store.ListOptions{})
	if err != nil || len(page.Entries) != 1 || !strings.Contains(string(page.Entries[0].Value), `"FieldOwned"`) {
		t.Fatalf("%v: %v", page.Entries, err)
	}
	log := eventlog.New(eventlog.Options{Store: w.store, Prefix: records.AuditPrefix, Source: source})
	log.Restart()
	log.Put(page.Entries[0])
	log.Reached(page.Revision)
	for name, want := range map[string]int{"web": 1, "other": 0} {
		got, err := log.Read(w.ctx, eventlog.Query{Scope: "prod", Name: name})
		if err != nil || len(got.Events) != want || want == 1 && got.Events[0].Type != api.AuditType {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// TestRefusedCallsPushNobodyOut: an actor whose calls are refused again and again gets a bounded number of records a
// minute, and all its calls are counted; calls of others, and successful ones, are all recorded.
func TestRefusedCallsPushNobodyOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		defer s.Close()
		a := eventlog.NewAuditor(s, func() int64 { return 1 }, time.Now, slog.New(slog.DiscardHandler))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- a.Run(ctx) }()
		const each, minutes = 2000, 3
		refused := func(actor string, status int) {
			a.Record(api.AuditData{Method: "POST", Path: "/callback/restart", Actor: actor, Status: status})
		}
		for minute := range minutes {
			for i := range each {
				refused("containers of deployment/prod/web", 403)
				refused(fmt.Sprintf("user ann (pid %d)", minute*each+i), 404)
				refused(fmt.Sprintf("token from [::1]:%d", 20000+i), 401)
				if i%100 == 0 {
					time.Sleep(time.Second)
				}
			}
			refused("user bob (pid 1)", 409)
			a.Record(api.AuditData{Method: "POST", Path: "/v1/apply", Actor: "containers of deployment/prod/web", Status: 200})
			time.Sleep(45 * time.Second)
		}
		for i := range 3000 {
			refused(fmt.Sprint("10.0.0.", i), 403)
		}
		synctest.Wait()
		cancel()
		<-done
		records, counted := map[string]int{}, map[string]int{}
		for _, call := range calls(t, s) {
			who, _, _ := strings.Cut(call.Actor, " (pid ")
			if strings.HasPrefix(who, "token from [::1]:") {
				who = "token"
			}
			if strings.HasPrefix(who, "10.0.0.") {
				who = "many"
			}
			who = fmt.Sprintf("%s %d", who, call.Status)
			records[who]++
			counted[who] += max(call.Count, 1)
		}
		for who, want := range map[string]int{"containers of deployment/prod/web 403": each * minutes,
			"user ann 404": each * minutes, "token 401": each * minutes} {
			if counted[who] != want || records[who] > 31*(minutes+1) {
				t.Errorf("%s: %d records of %d calls, want %d", who, records[who], counted[who], want)
			}
		}
		if records["user bob 409"] != minutes || records["containers of deployment/prod/web 200"] != minutes {
			t.Errorf("recorded are %v", records)
		}
		if counted["many 403"] != 3000 || records["many 403"] > 1100 {
			t.Errorf("%d records of %d calls of many actors", records["many 403"], counted["many 403"])
		}
	})
}

// TestABusyContainerPushesNobodyOut: whatever the answers, a container that calls all the time gets few records, each
// with the number of equal calls.
func TestABusyContainerPushesNobodyOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		defer s.Close()
		a := eventlog.NewAuditor(s, func() int64 { return 1 }, time.Now, slog.New(slog.DiscardHandler))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- a.Run(ctx) }()
		const minutes, seconds = 240, 60
		call := func(path string, status int) {
			a.RecordBounded(api.AuditData{Method: "POST", Path: path,
				Actor: "containers of deployment/prod/web", Status: status})
		}
		for second := range minutes * seconds {
			call("/callback/restart", 200)
			call("/callback/restart", 500)
			call("/callback/config", 200)
			call(fmt.Sprint("/callback/plugin/x", second), 500)
			time.Sleep(time.Second)
		}
		call("/callback/config", 200)
		a.Record(api.AuditData{Method: "POST", Path: "/v1/apply", Actor: "user bob (pid 1)", Status: 200})
		synctest.Wait()
		cancel()
		<-done
		counted, records := map[string]int{}, 0
		for _, call := range calls(t, s) {
			if call.Count == 1 {
				t.Errorf("one call is counted: %+v", call)
			}
			if call.Actor != "user bob (pid 1)" {
				records++
			}
			if call.Path == "/callback/restart" || call.Path == "/callback/config" {
				counted[fmt.Sprint(call.Path, " ", call.Status)] += max(call.Count, 1)
			} else {
				counted["other"] += max(call.Count, 1)
			}
		}
		want := map[string]int{
			"/callback/restart 200": minutes * seconds, "/callback/restart 500": minutes * seconds,
			"/callback/config 200": minutes*seconds + 1,
			"other":                minutes*seconds + 1,
		}
		if !maps.Equal(counted, want) {
			t.Errorf("counted are %v, want %v", counted, want)
		}
		if most := 30 + (1+9)*(minutes+1); records > most {
			t.Errorf("%d records, want at most %d", records, most)
		}
		page, err := s.List(t.Context(), "/", store.ListOptions{})
		if most := 30 + 2*(minutes+2); err != nil || len(page.Entries) > most {
			t.Errorf("%d entries, %v, want at most %d", len(page.Entries), err, most)
		}
	})
}

// TestLargeCallsFitTheStore: calls that list very many objects are not committed together.
func TestLargeCallsFitTheStore(t *testing.T) {
	s := memory.New()
	defer s.Close()
	a := eventlog.NewAuditor(s, func() int64 { return 1 }, time.Now, slog.New(slog.DiscardHandler))
	large := api.AuditData{Method: "POST", Path: "/v1/apply", Status: 200}
	for i := range api.MaxAuditObjects / race.Few {
		large.Objects = append(large.Objects, fmt.Sprintf("deployment/%060d/%050d", i, i))
	}
	for range 20 {
		a.Record(large)
	}
	for i := range 40 { // 30 with a record each, and 8 that are folded apart
		refused := large
		refused.Status, refused.Path = 403, fmt.Sprint("/v1/apply/", i)
		a.Record(refused)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_ = a.Run(ctx)
	page, err := s.List(t.Context(), records.AuditPrefix, store.ListOptions{})
	if err != nil || len(calls(t, s)) != 20+30+9 {
		t.Fatalf("%d calls are recorded, %v", len(calls(t, s)), err)
	}
	for _, e := range page.Entries {
		if len(e.Value) > 1<<20 {
			t.Errorf("an entry has %d bytes", len(e.Value))
		}
	}
}
