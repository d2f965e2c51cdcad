package daemon

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pull"
	"tend.dev/tend/client"
)

// fakeOperator speaks the protocol as an operator of a cluster does, and forgets everything but its token when it
// restarts.
type fakeOperator struct {
	t       *testing.T
	http    *http.Client
	address func() string
	token   string
	// cluster holds the resources, with their generations; applies counts the first applications of jobs, by key.
	cluster map[string]int64
	done    map[string]bool
	applies map[string]int
	// revive replaces a server that died; nil if that is another's to do.
	revive func() bool
}

// newOperator returns an operator for a cluster that is declared here.
func newOperator(t *testing.T, r *running, address func() string) *fakeOperator {
	t.Helper()
	r.apply(api.Object{Kind: api.KindCluster, Scope: api.Unscoped, Name: "east", Spec: []byte("{}")})
	registration, err := r.client.InviteCluster(t.Context(), "east", time.Hour, false)
	if err != nil {
		t.Fatal(err)
	}
	return operatorOf(t, registration, address)
}

// operatorOf returns the operator that a registration is for.
func operatorOf(t *testing.T, registration api.ClusterRegistration, address func() string) *fakeOperator {
	t.Helper()
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(registration.Authority)) {
		t.Fatal("no authority")
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: registration.ServerName},
		ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &fakeOperator{t: t, http: &http.Client{Transport: transport}, address: address, token: registration.Token,
		cluster: map[string]int64{}, done: map[string]bool{}, applies: map[string]int{}}
}

// call makes a request, and again while the server restarts. It returns the status, with the body decoded into out.
func (o *fakeOperator) call(method, path string, body, out any) int {
	o.t.Helper()
	status := 0
	o.until(method+" "+path+" is answered", func() bool {
		var encoded []byte
		if body != nil {
			encoded, _ = json.Marshal(body)
		}
		request, err := http.NewRequestWithContext(o.t.Context(), method, "https://"+o.address()+path,
			bytes.NewReader(encoded))
		if err != nil {
			o.t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+o.token)
		request.Header.Set("Content-Type", pull.MediaType)
		request.Header.Set("Accept", pull.MediaType)
		request.Header.Set("User-Agent", "fake-operator/1")
		answer, err := o.http.Do(request)
		if err != nil {
			return false
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode >= 500 || answer.StatusCode == http.StatusTooManyRequests {
			return false
		}
		if len(text) > 0 && answer.Header.Get("Content-Type") != pull.MediaType {
			o.t.Errorf("%s %s: the answer is %s: %s", method, path, answer.Header.Get("Content-Type"), text)
		}
		if status = answer.StatusCode; status < 300 && out != nil {
			err = json.Unmarshal(text, out)
		}
		return err == nil
	})
	return status
}

func (o *fakeOperator) until(what string, holds func() bool) {
	o.t.Helper()
	deadline, tick := time.After(patience), time.NewTicker(10*time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
			if o.revive != nil {
				o.revive()
			}
		case <-deadline:
			o.t.Fatal("in vain: " + what)
		}
	}
}

func (o *fakeOperator) must(want int, method, path string, body, out any) {
	o.t.Helper()
	if status := o.call(method, path, body, out); status != want {
		o.t.Fatalf("%s %s: %d, want %d", method, path, status, want)
	}
}

func (o *fakeOperator) register() {
	o.t.Helper()
	var given pull.Credential
	o.must(http.StatusOK, "POST", pull.RegisterPath, pull.Registration{RegistrationToken: o.token}, &given)
	if given.ClusterID != "east" || given.Token == "" {
		o.t.Fatalf("%+v", given)
	}
	o.token = given.Token
}

// poll waits for the due job and returns it; nil after a short wait without one.
func (o *fakeOperator) poll(wait int) *pull.Job {
	o.t.Helper()
	var jobs pull.Jobs
	o.must(http.StatusOK, "GET", fmt.Sprintf("%s?cluster=east&wait=%d", pull.JobsPath, wait), nil, &jobs)
	if jobs.Jobs == nil {
		o.t.Error("no jobs are not an empty list")
	}
	if len(jobs.Jobs) > 1 {
		o.t.Fatalf("%d jobs", len(jobs.Jobs))
	}
	if len(jobs.Jobs) == 0 {
		return nil
	}
	return &jobs.Jobs[0]
}

func (o *fakeOperator) about(job *pull.Job, what string, body any) int {
	o.t.Helper()
	return o.call("POST", pull.JobsPath+"/"+job.ID+"/"+what, body, nil)
}

// do applies or deletes what a job asks for, once.
func (o *fakeOperator) do(job *pull.Job) *api.ClusterResource {
	o.t.Helper()
	var manifest struct {
		api.ClusterResource
		Metadata struct{ Name, Namespace string }
	}
	if err := json.Unmarshal(job.Payload, &manifest); err != nil {
		o.t.Fatal(err)
	}
	ref := api.ClusterResource{APIVersion: manifest.APIVersion, Kind: manifest.Kind, Name: manifest.Metadata.Name,
		Namespace: manifest.Metadata.Namespace, UID: "k1"}
	if job.Kind == pull.KindDelete {
		ref.Name, ref.Namespace = manifest.Name, manifest.Namespace
	}
	key := ref.Kind + "/" + ref.Namespace + "/" + ref.Name
	if !o.done[job.IdempotencyKey] {
		o.done[job.IdempotencyKey] = true
		o.applies[job.IdempotencyKey]++
		o.cluster[key]++
		if job.Kind == pull.KindDelete {
			delete(o.cluster, key)
		}
	}
	ref.Generation = o.cluster[key]
	return &ref
}

func (o *fakeOperator) result(job *pull.Job, ref *api.ClusterResource) int {
	o.t.Helper()
	return o.about(job, "result", pull.Result{Outcome: pull.OutcomeSucceeded, AppliedRef: ref, Timestamp: time.Now()})
}

// reports sends a condition of the resource.
func (o *fakeOperator) reports(ref *api.ClusterResource, status api.ConditionStatus, reason string) {
	o.t.Helper()
	event := pull.Event{Kind: pull.EventConditionTransition, EventKey: fmt.Sprint("ready/", ref.Generation, reason),
		ResourceRef: *ref, Timestamp: time.Now(),
		Conditions: []pull.Condition{{Type: "Ready", Status: status, Reason: reason, Message: "by the fake operator"}}}
	o.must(http.StatusNoContent, "POST", pull.EventsPath, pull.Events{Events: []pull.Event{event}}, nil)
}

var cloud = api.Ref{Kind: api.KindApplicationInstance, Scope: "org", Name: "cloud"}

func instance(version string) api.Object {
	return api.Object{Kind: cloud.Kind, Scope: cloud.Scope, Name: cloud.Name, Spec: fmt.Appendf(nil, `{"cluster":"east","appRef":{"catalogId":"nextcloud"},
		"chart":{"sourceType":"oci","url":"oci://r.example.org/charts","name":"nextcloud","version":%q},"release":{"name":"cloud"},"values":{"source":"inline","inline":{"replicas":2}}}`, version)}
}

// awaitDelivered waits until an object's status is as wanted.
func (r *running) awaitDelivered(what string, ref api.Ref, holds func(api.DeliveredStatus) bool) api.DeliveredStatus {
	r.t.Helper()
	var status api.DeliveredStatus
	r.untilWithin(patience, what, func() bool {
		object, err := r.client.Object(context.Background(), ref)
		if err == nil {
			status, err = api.DecodeStatus[api.DeliveredStatus](object)
		}
		return err == nil && holds(status)
	})
	return status
}

func isReady(generation int64, reason string) func(api.DeliveredStatus) bool {
	return func(s api.DeliveredStatus) bool {
		c := api.FindCondition(s.Conditions, api.ConditionReady)
		return s.ObservedGeneration == generation && c != nil && c.Status == api.ConditionTrue && c.Reason == reason
	}
}

func (r *running) gone(ref api.Ref) {
	r.t.Helper()
	r.untilWithin(patience, ref.String()+" is gone", func() bool {
		_, err := r.client.Object(context.Background(), ref)
		return client.IsNotFound(err)
	})
}

// between restarts the server between any two steps, and the operator's connections with it.
type between struct {
	*testing.T
	m       *machine
	r       *running
	restart bool
}

func (b *between) start() {
	b.r = b.m.startWith(func(o *Options) { o.NodeListen = "127.0.0.1:0" }).ready()
}

func (b *between) address() string {
	token, err := b.r.client.JoinToken(context.Background(), api.JoinTokenRequest{Uses: 1000})
	if err != nil {
		b.Fatal(err)
	}
	return token.Address
}

// step makes a step, and restarts the server after it.
func (b *between) step(do func()) {
	b.Helper()
	do()
	if b.restart {
		if err := b.r.stop(); err != nil {
			b.Fatal(err)
		}
		b.start()
	}
}

// TestAnInstanceComesBackReady: an applied instance reaches its cluster, and its Ready condition comes back; each
// generation is applied once, also with the server killed between any two steps.
func TestAnInstanceComesBackReady(t *testing.T) {
	for name, restart := range map[string]bool{"in one go": false, "with restarts": true} {
		t.Run(name, func(t *testing.T) {
			b := &between{T: t, m: newMachine(t), restart: restart}
			b.start()
			o := newOperator(t, b.r, b.address)
			b.step(o.register)
			b.step(func() { b.r.apply(instance("1.0.0")) })
			var job *pull.Job
			b.step(func() { job = o.poll(30) })
			if job == nil || job.Kind != pull.KindApply ||
				!strings.HasPrefix(job.IdempotencyKey, "applicationinstance/org/cloud@") ||
				!strings.HasSuffix(job.IdempotencyKey, ".1") {
				t.Fatalf("%+v", job)
			}
			if again := o.poll(30); again == nil || again.ID != job.ID {
				t.Fatalf("a job that was not acknowledged is not sent again: %+v", again)
			}
			b.step(func() {
				for range 2 { // the answer to the first may have got lost
					if status := o.about(job, "ack", nil); status != http.StatusNoContent {
						t.Fatalf("ack: %d", status)
					}
				}
			})
			if again := o.poll(0); again != nil {
				t.Errorf("a job that was acknowledged is sent again: %+v", again)
			}
			var ref *api.ClusterResource
			b.step(func() { ref = o.do(job) })
			b.step(func() {
				if status := o.about(job, "status",
					pull.Status{Phase: "Running", Message: "installing", Timestamp: time.Now()}); status != http.StatusNoContent {
					t.Errorf("status: %d", status)
				}
			})
			b.step(func() { o.reports(ref, api.ConditionTrue, "HelmReleaseReady") })
			b.step(func() {
				if status := o.result(job, ref); status != http.StatusNoContent {
					t.Errorf("result: %d", status)
				}
			})
			if status := o.result(job, ref); status != http.StatusConflict {
				t.Errorf("a second result: %d", status)
			}
			b.r.awaitDelivered("Ready has come back", cloud, isReady(1, "HelmReleaseReady"))

			b.step(func() { b.r.apply(instance("2.0.0")) })
			b.step(func() { o.finish(t) })
			b.step(func() {
				o.reports(&api.ClusterResource{Kind: ref.Kind, Namespace: "org", Name: "cloud", UID: "k1", Generation: 1},
					api.ConditionFalse, "Late")
				o.reports(&api.ClusterResource{Kind: ref.Kind, Namespace: "org", Name: "cloud", UID: "k1", Generation: 2},
					api.ConditionTrue, "HelmReleaseReady")
			})
			b.r.awaitDelivered("the second generation", cloud, isReady(2, "HelmReleaseReady"))
			b.step(func() {
				if _, err := b.r.client.Delete(t.Context(), cloud); err != nil {
					t.Fatal(err)
				}
			})
			if object, err := b.r.client.Object(t.Context(), cloud); err != nil || !object.Metadata.Deleting() {
				t.Errorf("it did not wait for its cluster: %v", err)
			}
			b.step(func() { o.finish(t) })
			b.r.gone(cloud)
			if len(o.cluster) != 0 || len(o.applies) != 3 {
				t.Errorf("the cluster has %v; done: %v", o.cluster, o.applies)
			}
			for key, n := range o.applies {
				if n != 1 {
					t.Errorf("%s was done %d times", key, n)
				}
			}
		})
	}
}

// finish takes the next job, carries it out, reports its result, and returns its kind.
func (o *fakeOperator) finish(t *testing.T) string {
	t.Helper()
	job := o.poll(30)
	if job == nil {
		t.Fatal("no job")
	}
	if status := o.about(job, "ack", nil); status != http.StatusNoContent {
		t.Fatalf("ack: %d", status)
	}
	if status := o.result(job, o.do(job)); status != http.StatusNoContent {
		t.Fatalf("result: %d", status)
	}
	return job.Kind
}

// TestAClusterOfServersFeedsAClusterOfKubernetes: each step of the protocol at another server, with the one that has
// the controllers lost in the middle.
func TestAClusterOfServersFeedsAClusterOfKubernetes(t *testing.T) {
	t.Parallel()
	s := newSeveral(t, "a", "b", "c")
	a := s.start("a", "")
	b := s.start("b", "a")
	c := s.start("c", "b")
	addresses := map[*running]string{}
	for _, r := range []*running{a, b, c} {
		token, err := r.client.JoinToken(t.Context(), api.JoinTokenRequest{Uses: 1000})
		if err != nil {
			t.Fatal(err)
		}
		addresses[r] = token.Address
	}
	turn, order := 0, []*running{b, c, a}
	o := newOperator(t, a, func() string {
		turn++
		return addresses[order[turn%len(order)]]
	})
	o.register()
	c.apply(instance("1.0.0"))
	job := o.poll(30)
	if job == nil {
		t.Fatal("no job")
	}
	lead := s.running[s.leader("b")]
	order = slices.DeleteFunc(order, func(r *running) bool { return r == lead })
	if err := lead.stop(); err != nil {
		t.Fatal(err)
	}
	if status := o.about(job, "ack", nil); status != http.StatusNoContent {
		t.Fatalf("ack: %d", status)
	}
	ref := o.do(job)
	if status := o.result(job, ref); status != http.StatusNoContent {
		t.Errorf("result: %d", status)
	}
	if status := o.result(job, ref); status != http.StatusConflict {
		t.Errorf("a second result, at another server: %d", status)
	}
	o.reports(ref, api.ConditionTrue, "HelmReleaseReady")
	order[0].awaitDelivered("Ready has come back", cloud, isReady(1, "HelmReleaseReady"))
	order[1].apply(instance("2.0.0"))
	o.finish(t)
	order[0].awaitDelivered("the second generation", cloud,
		func(s api.DeliveredStatus) bool { return s.ObservedGeneration == 2 })
	if o.poll(0) != nil {
		t.Error("something is sent again")
	}
	o.prints(order[0])
}

// prints answers one server's query for logs, through the server from which it got the query.
func (o *fakeOperator) prints(at *running) {
	o.t.Helper()
	printed := make(chan string, 1)
	go func() {
		stream, err := at.client.Logs(o.t.Context(), client.LogsOptions{Target: client.TargetOf(cloud)})
		if err != nil {
			printed <- err.Error()
			return
		}
		defer stream.Close()
		line, err := stream.Next()
		printed <- fmt.Sprint(line.Pod, " ", line.Text, " ", err)
	}()
	var jobs pull.Jobs
	o.until("the query comes", func() bool {
		o.must(http.StatusOK, "GET", pull.JobsPath+"?cluster=east&wait=1", nil, &jobs)
		return len(jobs.Queries) > 0
	})
	o.must(http.StatusNoContent, "POST", pull.QueriesPath+"/"+jobs.Queries[0].ID+"/answer", pull.Answer{
		Outputs: []pull.Output{{Pod: "web-1", Container: "app", Lines: []pull.OutputLine{{At: time.Now(), Text: "hello"}}}}}, nil)
	if got, want := <-printed, "web-1/app hello <nil>"; got != want {
		o.t.Errorf("logs print %q, want %q", got, want)
	}
}

// TestAClusterNeedsAListener: a server that no operator can reach refuses a cluster before it is declared, with the
// flag that opens the listener. So `tend clusters add` leaves nothing behind.
func TestAClusterNeedsAListener(t *testing.T) {
	r := newMachine(t).start(nil).ready()
	_, err := r.client.InviteCluster(t.Context(), "east", time.Hour, false)
	var problem *api.Problem
	if !errors.As(err, &problem) || problem.Status != http.StatusConflict ||
		!strings.Contains(problem.Next, "--node-listen") {
		t.Errorf("%v, want a refusal that names the flag", err)
	}
}
