package puller

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pull"
)

// plane is a control plane whose answers the test sets.
type plane struct {
	mu   sync.Mutex
	jobs []pull.Job
	// said are the requests in order, except those for jobs. asked are the times of requests for jobs, and their tokens.
	said  []string
	asked []time.Duration
	began time.Time
	// answer, if set, answers a request unless it returns status 0.
	answer func(r *http.Request) (status int, retryAfter string)
	events []int
	keys   []string
	// delivered are the finished jobs in the order of their ids. states are the reported states of the cluster since.
	delivered []pull.Job
	states    []string
	// batches counts the requests with events.
	batches int
}

func stateText(e pull.Event) string {
	text := e.ResourceRef.Name + " " + e.State.Key
	switch {
	case e.State.Missing:
		text += " missing"
	case e.State.Deleting:
		text += " deleting"
	}
	for _, d := range e.State.Differences {
		text += " " + d.Field + " by " + d.Manager
	}
	return text
}

// reported returns the states reported since the last call.
func (p *plane) reported() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := strings.Join(p.states, "; ")
	p.states = nil
	return out
}

func (p *plane) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	answer := p.answer
	if r.URL.Path == pull.JobsPath {
		p.asked = append(p.asked, time.Since(p.began))
	}
	p.mu.Unlock()
	w.Header().Set("Content-Type", pull.MediaType)
	if answer != nil {
		if status, retry := answer(r); status != 0 {
			if retry != "" {
				w.Header().Set("Retry-After", retry)
			}
			w.WriteHeader(status)
			_ = json.NewEncoder(w).Encode(pull.Error{Code: "Refused", Message: "by the test"})
			return
		}
	}
	switch {
	case r.URL.Path == pull.JobsPath:
		p.sendJobs(w, r)
		return
	case r.URL.Path == pull.DeliveredPath:
		p.mu.Lock()
		defer p.mu.Unlock()
		jobs := []pull.Job{}
		for _, job := range p.delivered {
			if job.ID > r.URL.Query().Get(pull.AfterParameter) && len(jobs) < 100 {
				jobs = append(jobs, job)
			}
		}
		_ = json.NewEncoder(w).Encode(pull.Jobs{Jobs: jobs})
		return
	case r.URL.Path == pull.EventsPath:
		var batch pull.Events
		_ = json.NewDecoder(r.Body).Decode(&batch)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.batches++
		var others []pull.Event
		for _, e := range batch.Events {
			if e.State == nil {
				others = append(others, e)
				p.keys = append(p.keys, e.EventKey)
				continue
			}
			p.states = append(p.states, stateText(e))
		}
		if len(others) > 0 || len(batch.Events) == 0 {
			p.events = append(p.events, len(others))
		}
	default:
		var body struct{ Outcome, Error, Message string }
		_ = json.NewDecoder(r.Body).Decode(&body)
		p.mu.Lock()
		defer p.mu.Unlock()
		what := strings.TrimPrefix(r.URL.Path, pull.JobsPath+"/")
		p.said = append(p.said, strings.TrimSpace(what+" "+body.Outcome+body.Message+" "+body.Error))
	}
	w.WriteHeader(http.StatusNoContent)
}

// sendJobs answers with the existing jobs, or with none after a wait of 30 s.
func (p *plane) sendJobs(w http.ResponseWriter, r *http.Request) {
	for end := time.Now().Add(30 * time.Second); ; {
		p.mu.Lock()
		jobs := p.jobs
		p.jobs = nil
		p.mu.Unlock()
		if len(jobs) > 0 || !time.Now().Before(end) {
			_ = json.NewEncoder(w).Encode(pull.Jobs{Jobs: append([]pull.Job{}, jobs...)})
			return
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-r.Context().Done():
			return
		}
	}
}

func (p *plane) give(jobs ...pull.Job) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.jobs = append(p.jobs, jobs...)
}

func (p *plane) take() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := strings.Join(p.said, "; ")
	p.said = nil
	return out
}

// bench is a puller with a control plane and a cluster.
type bench struct {
	testing.TB
	plane   *plane
	cluster *resources
	secret  *kept
	keys    *texts
	health  []Health
	puller  *Puller
	ended   chan error
	stop    func()
}

func inBench(t *testing.T, test func(b *bench)) {
	synctest.Test(t, func(t *testing.T) {
		secret := &kept{credential: pull.Credential{ClusterID: "east", Token: "t1"}}
		b := &bench{TB: t, plane: &plane{began: time.Now()}, cluster: newResources(), secret: secret, keys: &texts{}}
		b.start()
		test(b)
		b.stop()
	})
}

func (b *bench) start() {
	ctx, cancel := context.WithCancel(b.Context())
	b.puller = New(Options{
		Endpoint: "https://plane", HTTP: &http.Client{Transport: &wire{handler: b.plane}},
		Applier: b.cluster, Credentials: b.secret, Keys: NewKeys(b.keys, time.Now),
		Health: func(h Health) { b.health = append(b.health, h) }, Jitter: func() float64 { return 0 },
	})
	b.ended = make(chan error, 1)
	go func() { b.ended <- b.puller.Run(ctx) }()
	b.stop = func() {
		cancel()
		if err := <-b.ended; err != nil {
			b.Errorf("the puller ended with %v", err)
		}
		b.ended <- nil
	}
}

// want compares what the control plane was sent after a time.
func (b *bench) want(after time.Duration, when, want string) {
	b.Helper()
	time.Sleep(after)
	synctest.Wait()
	if got := b.plane.take(); got != want {
		b.Errorf("%s: %q, want %q", when, got, want)
	}
}

func applyJob(id, key, version string) pull.Job {
	return pull.Job{ID: id, Kind: pull.KindApply, IdempotencyKey: key, ExpiresAt: time.Now().Add(24 * time.Hour),
		Payload: fmt.Appendf(nil, `{"apiVersion":%q,"kind":"ApplicationInstance","metadata":{"name":"cloud","namespace":"org"},"spec":{"version":%q}}`, api.AppsAPIVersion, version)}
}
