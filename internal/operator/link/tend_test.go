//go:build kube

package link_test

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pull"
	"tend.dev/tend/internal/operator/kubetest"
	"tend.dev/tend/internal/operator/tendtest"
	"tend.dev/tend/internal/store/records"
)

// tend is a control plane as a server runs it: the endpoints behind TLS, and the controllers, over a store in memory. A
// test can advance its clock and take its endpoints away.
type tend struct {
	*tendtest.Server
	ctx    context.Context
	server *httptest.Server
	ahead  atomic.Int64
	away   atomic.Bool
	// lies changes the jobs that are sent. Default: nothing is changed.
	lies atomic.Pointer[func(*pull.Jobs)]
	// replayed are the ids of jobs that a proxy sends. Reports about them don't reach Tend.
	replayed sync.Map
	link     wire

	mu sync.Mutex
	// jobs counts how often each job was sent. results are the outcomes received.
	jobs    map[string]int
	results []string
	// errors are those of replayed jobs.
	errors []string
}

func startTend(t testing.TB) *tend {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	s := &tend{ctx: ctx, jobs: map[string]int{}}
	var parts sync.WaitGroup
	s.Server = tendtest.Start(ctx, t, &parts, s.now)
	s.server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.link.carry(w, r, s.serve)
	}))
	t.Cleanup(func() {
		s.server.CloseClientConnections()
		s.server.Close()
		cancel()
		parts.Wait()
		_ = s.Store.Close()
	})
	return s
}

// wire is the network between an operator and Tend.
type wire struct {
	// cut drops requests, lossy drops answers.
	cut, lossy atomic.Bool
}

func (l *wire) heal() {
	l.cut.Store(false)
	l.lossy.Store(false)
}

// carry passes a request and its answer on, as far as the link allows.
func (l *wire) carry(w http.ResponseWriter, r *http.Request, serve http.HandlerFunc) {
	if l.cut.Load() {
		panic(http.ErrAbortHandler) // the connection ends
	}
	answer := httptest.NewRecorder()
	serve(answer, r)
	if l.cut.Load() || l.lossy.Load() {
		panic(http.ErrAbortHandler)
	}
	maps.Copy(w.Header(), answer.Header())
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes())
}

// serve answers as Tend does, and records what is sent and received.
func (s *tend) serve(w http.ResponseWriter, r *http.Request) {
	if s.away.Load() {
		http.Error(w, "away", http.StatusServiceUnavailable)
		return
	}
	if id, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, pull.JobsPath+"/"), "/"); s.isReplayed(id) {
		var result pull.Result
		_ = json.NewDecoder(r.Body).Decode(&result)
		s.mu.Lock()
		s.errors = append(s.errors, result.Error)
		s.mu.Unlock()
		w.WriteHeader(http.StatusNoContent)
		return
	}
	if strings.HasSuffix(r.URL.Path, "/result") {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		var result pull.Result
		_ = json.Unmarshal(body, &result)
		s.mu.Lock()
		s.results = append(s.results, result.Outcome)
		s.mu.Unlock()
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	if r.URL.Path != pull.JobsPath {
		s.Handler.ServeHTTP(w, r)
		return
	}
	recorder := httptest.NewRecorder()
	s.Handler.ServeHTTP(recorder, r)
	if r.Context().Err() != nil {
		return
	}
	var jobs pull.Jobs
	_ = json.Unmarshal(recorder.Body.Bytes(), &jobs)
	s.mu.Lock()
	for _, job := range jobs.Jobs {
		s.jobs[job.ID]++
	}
	s.mu.Unlock()
	body := recorder.Body.Bytes()
	if lie := s.lies.Load(); lie != nil && recorder.Code == http.StatusOK {
		(*lie)(&jobs)
		body, _ = json.Marshal(jobs)
	}
	w.Header().Set("Content-Type", recorder.Header().Get("Content-Type"))
	w.WriteHeader(recorder.Code)
	_, _ = w.Write(body)
}

func (s *tend) isReplayed(id string) bool {
	_, is := s.replayed.Load(id)
	return is
}

// sent returns how often the most frequent job was sent.
func (s *tend) sent() (most int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.jobs {
		most = max(most, n)
	}
	return most
}

func (s *tend) outcomes() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.results, " ")
}

func (s *tend) now() time.Time { return time.Now().Add(time.Duration(s.ahead.Load())) }

// authority returns the certificate that signed the server's, and a DNS name in the server's.
func (s *tend) authority() (certificate, name string) {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.server.Certificate().Raw})), "example.com"
}

func (s *tend) put(object api.Object) {
	s.Helper()
	object.Metadata.CreatedAt = s.now()
	s.Put(object)
}

// invite declares a cluster, and returns a registration token for it.
func (s *tend) invite(name string) string {
	s.Helper()
	if !s.Snapshot().Cluster(name).Exists() {
		s.put(api.Object{
			Kind: api.KindCluster, Scope: api.Unscoped, Name: name, Spec: []byte("{}"),
			Metadata: api.Metadata{UID: "uid-" + name, Generation: 1},
		})
	}
	token, _, err := s.Handler.Invite(s.ctx, name, 24*time.Hour)
	if err != nil {
		s.Fatal(err)
	}
	return token
}

// web returns an application for a cluster, in a namespace.
func web(cluster, namespace string, generation int64) api.Object {
	return api.Object{
		Kind: api.KindApplicationInstance, Scope: namespace, Name: "web",
		Metadata: api.Metadata{UID: "uid-web", Generation: generation, Finalizers: []string{api.FinalizerCluster}},
		Spec: fmt.Appendf(nil, `{"cluster":%q,"appRef":{"catalogId":"web"},"chart":{"sourceType":"oci","url":"oci://registry.example.org/charts","name":"web",
			"version":"1.0.%d"},"release":{"name":"web"},"values":{"source":"inline","inline":{"replicas":2}}}`, cluster, generation),
	}
}

// says waits until Tend's status of an object satisfies is.
func (s *tend) says(what string, object api.Object, is func(api.DeliveredStatus) bool) {
	s.Helper()
	kubetest.Eventually(s, what, func(context.Context) error {
		record, _ := s.Snapshot().Get(records.StatusKey(object.Ref()))
		status, ok := record.Value.(*api.DeliveredStatus)
		if !ok {
			return fmt.Errorf("%s has no status", object.Ref())
		}
		if !is(*status) {
			return fmt.Errorf("%s: phase %s, delivery %+v, conditions %+v", object.Ref(), status.Phase, status.Delivery, status.Conditions)
		}
		return nil
	})
}

// isReady returns a check for a Ready status with a reason, of a generation.
func isReady(generation int64, reason string) func(api.DeliveredStatus) bool {
	return func(status api.DeliveredStatus) bool {
		c := api.FindCondition(status.Conditions, api.ConditionReady)
		return c != nil && c.Status == api.ConditionTrue && c.Reason == reason && status.ObservedGeneration == generation
	}
}
