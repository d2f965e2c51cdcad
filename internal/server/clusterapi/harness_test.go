package clusterapi

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pull"
	"tend.dev/tend/internal/control"
	controllers "tend.dev/tend/internal/kinds/clusterjob"
	"tend.dev/tend/internal/reconciler"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/storefault"
	"tend.dev/tend/internal/store/view"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// harness is a handler over a store in memory, with the controllers of clusters. It runs in a synctest bubble: time
// passes when every goroutine waits.
type harness struct {
	testing.TB
	ctx     context.Context
	store   *memory.Store
	view    *view.View
	handler *Handler
	audit   []api.AuditData
	foreign int
	paused  string
	fate    func(store.Txn) storefault.Fate
}

func inHarness(t *testing.T, test func(h *harness)) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		h := &harness{TB: t, ctx: ctx, store: memory.New()}
		h.view = view.New(h.store, view.Options{Decode: records.Decode, Indexes: records.Indexes})
		var parts sync.WaitGroup
		parts.Go(func() { _ = h.view.Run(ctx) })
		<-h.view.Synced()
		for _, kind := range controllers.Kinds {
			c := control.New(control.Deps{Snapshot: h.snapshot, Store: h.store}, kind())
			work := reconciler.New(reconciler.Options{
				Name: c.Name(), Reconciler: c, Replay: c.Keys, Dirty: c.Dirty,
				Synced: h.view.Synced(), Revision: h.view.Revision, WaitFor: h.view.WaitFor,
			})
			h.view.OnChange(func(change view.Change) { work.Enqueue(c.Affected(h.snapshot(), change)...) })
			parts.Go(func() { _ = work.Run(ctx) })
		}
		h.handler = New(Options{
			Store: storefault.New(h.store, func(txn store.Txn) storefault.Fate {
				if h.fate == nil {
					return storefault.Answered
				}
				return h.fate(txn)
			}),
			View: h.view, Fresh: h.fresh, MAC: func(plain []byte) string { return fmt.Sprintf("%x", plain) },
			Paused: func() string { return h.paused }, Leases: h.store, Seal: upsideDown, Open: upsideDown,
			Audit: func(data api.AuditData) { h.audit = append(h.audit, data) }, Foreign: func(api.AuditData) { h.foreign++ },
		})
		test(h)
		cancel()
		parts.Wait()
		_ = h.store.Close()
	})
}

// upsideDown is a fake encryption.
func upsideDown(text []byte) ([]byte, error) {
	out := slices.Clone(text)
	slices.Reverse(out)
	return out, nil
}

func (h *harness) snapshot() records.Snapshot { return records.Snapshot{Reader: h.view.Snapshot()} }

func (h *harness) fresh(ctx context.Context) (records.Snapshot, error) {
	page, err := h.store.List(ctx, records.SchemaKey, store.ListOptions{Limit: 1})
	if err == nil {
		err = h.view.WaitFor(ctx, page.Revision)
	}
	return h.snapshot(), err
}

// put stores an object as the verbs do.
func (h *harness) put(object api.Object) {
	h.Helper()
	object.Metadata.CreatedAt = time.Now()
	if _, err := records.NewTxn("test").Put(records.ObjectKey(object.Ref()), object).Commit(h.ctx, h.store); err != nil {
		h.Fatal(err)
	}
	synctest.Wait()
}

func (h *harness) declare(name string) {
	h.Helper()
	h.put(api.Object{Kind: api.KindCluster, Scope: api.Unscoped, Name: name, Spec: []byte("{}"),
		Metadata: api.Metadata{UID: "uid-" + name, Generation: 1}})
}

func instance(name string, generation int64) api.Object {
	return api.Object{Kind: api.KindApplicationInstance, Scope: "org", Name: name,
		Metadata: api.Metadata{UID: "uid-" + name, Generation: generation, Finalizers: []string{api.FinalizerCluster}},
		Spec:     []byte(`{"cluster":"east","appRef":{"catalogId":"x"},"chart":{"sourceType":"oci","url":"oci://r/c","name":"x","version":"1.0.0"},"release":{"name":"x"},"values":{"source":"inline","inline":{}}}`)}
}

// answer is the answer that came back.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func (h *harness) call(ctx context.Context, token, method, path string, body any, headers ...string) answer {
	h.Helper()
	var encoded []byte
	switch b := body.(type) {
	case nil:
	case string:
		encoded = []byte(b)
	default:
		encoded, _ = json.Marshal(b)
	}
	request := httptest.NewRequestWithContext(ctx, method, path, bytes.NewReader(encoded))
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	request.Header.Set("Content-Type", pull.MediaType)
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	recorder := httptest.NewRecorder()
	h.handler.ServeHTTP(recorder, request)
	return answer{recorder.Code, recorder.Header(), recorder.Body.Bytes()}
}

func (h *harness) want(status int, code string, got answer) {
	h.Helper()
	var body pull.Error
	_ = json.Unmarshal(got.body, &body)
	if got.status != status || body.Code != code ||
		code != "" && (body.Message == "" || body.RequestID == "" || got.header.Get("Content-Type") != pull.MediaType) {
		h.Errorf("%d %s, want %d %q", got.status, got.body, status, code)
	}
}

// registered declares a cluster, registers for it and returns its token.
func (h *harness) registered(name string) string {
	h.Helper()
	h.declare(name)
	token, _, err := h.handler.Invite(h.ctx, name, time.Hour)
	if err != nil {
		h.Fatal(err)
	}
	return h.register(token).Token
}

func (h *harness) register(token string) pull.Credential {
	h.Helper()
	got := h.call(h.ctx, token, "POST", pull.RegisterPath, pull.Registration{RegistrationToken: token})
	var given pull.Credential
	if err := json.Unmarshal(got.body, &given); err != nil || got.status != http.StatusOK || given.Token == "" {
		h.Fatalf("register: %d %s", got.status, got.body)
	}
	return given
}

func (h *harness) poll(token string, wait int) []pull.Job {
	h.Helper()
	got := h.call(h.ctx, token, "GET", fmt.Sprintf("%s?wait=%d", pull.JobsPath, wait), nil)
	var jobs pull.Jobs
	if err := json.Unmarshal(got.body, &jobs); err != nil || got.status != http.StatusOK || jobs.Jobs == nil {
		h.Fatalf("poll: %d %s", got.status, got.body)
	}
	return jobs.Jobs
}

func path(job pull.Job, what string) string { return pull.JobsPath + "/" + job.ID + "/" + what }

func (h *harness) status(ref api.Ref) api.DeliveredStatus {
	h.Helper()
	synctest.Wait()
	record, _ := h.snapshot().Get(records.StatusKey(ref))
	status, ok := record.Value.(*api.DeliveredStatus)
	if !ok {
		h.Fatalf("%s has no status", ref)
	}
	return *status
}
