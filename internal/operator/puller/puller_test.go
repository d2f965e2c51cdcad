package puller

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pull"
)

var cloudRef = api.ClusterResource{
	APIVersion: api.AppsAPIVersion, Kind: api.ApplicationInstanceKind, Namespace: "org", Name: "cloud",
}

// TestAJob: a job is acknowledged and applied. Its status is sent until the resource is ready, then its result. The
// same job again is a no-op, also after a restart.
func TestAJob(t *testing.T) {
	inBench(t, func(b *bench) {
		b.plane.give(applyJob("j1", "k1", "1"))
		b.want(time.Second, "applied", "j1/ack; j1/status applied, not ready yet")
		b.want(30*time.Second, "soon", "")
		b.want(40*time.Second, "once a minute", "j1/status applied, not ready yet")
		b.cluster.ready(cloudRef, api.ConditionTrue, "HelmReleaseReady")
		b.puller.Moved()
		b.want(time.Second, "ready", "j1/status; j1/result succeeded")
		b.plane.give(applyJob("j2", "k1", "1"))
		b.want(time.Second, "again", "j2/ack; j2/status; j2/result noop")
		b.stop()
		b.start()
		b.plane.give(applyJob("j3", "k1", "1"))
		b.want(time.Second, "after a restart", "j3/ack; j3/status; j3/result noop")
		if b.cluster.applies != 1 {
			b.Errorf("applied %d times", b.cluster.applies)
		}
		b.plane.give(applyJob("j4", "k2", "2"))
		b.want(time.Second, "the Ready of the generation before", "j4/ack; j4/status applied, not ready yet")
		b.want(11*time.Minute, "never ready", strings.Repeat("j4/status applied, not ready yet; ", 9)+"j4/status; j4/result failed not ready after 10m0s: HelmReleaseReady")
	})
}

// TestOutcomes: outcomes of jobs that are invalid, expired, or in conflict with another field manager.
func TestOutcomes(t *testing.T) {
	inBench(t, func(b *bench) {
		late := applyJob("late", "late", "1")
		late.ExpiresAt = time.Now()
		odd := pull.Job{ID: "odd", Kind: "dance"}
		empty := pull.Job{ID: "empty", Kind: pull.KindApply, Payload: []byte(`{}`)}
		bare := pull.Job{ID: "bare", Kind: pull.KindDelete, Payload: []byte(`{"name":"x"}`)}
		b.plane.give(late, odd, empty, bare)
		b.want(time.Second, "refused", `late/ack; late/result noop expired; odd/ack; odd/result failed jobs of kind "dance" are not known; `+
			`empty/ack; empty/result failed the payload is not a manifest: it needs apiVersion, kind and metadata.name; `+
			`bare/ack; bare/result failed the payload of a delete needs apiVersion, kind and name`)
		b.cluster.fail = &ConflictError{Manager: "kubectl", Field: ".spec.values"}
		b.plane.give(applyJob("j1", "k1", "1"))
		b.want(time.Second, "a conflict", "j1/ack; j1/result conflict field manager kubectl has set .spec.values to another value")
		b.cluster.fail = errors.New("quota exceeded")
		b.plane.give(applyJob("j2", "k1", "1"))
		b.want(time.Second, "a failure", "j2/ack; j2/result failed quota exceeded")
		b.cluster.fail = nil
		b.plane.give(applyJob("j3", "k1", "1"))
		b.want(time.Second, "what failed is not remembered", "j3/ack; j3/status applied, not ready yet")
		b.keys.fail = errors.New("no space")
		b.plane.give(applyJob("j4", "k4", "4"))
		b.want(time.Second, "a key that can't be stored: no result, it comes again", "j4/ack")
	})
}

// TestAPassingError: if the API server gave no answer about a job, the job gets no result. It comes again and is done.
func TestAPassingError(t *testing.T) {
	inBench(t, func(b *bench) {
		b.cluster.fail = fmt.Errorf("apply it: %w: failed calling webhook", ErrPassing)
		b.plane.give(applyJob("j1", "k1", "1"))
		b.want(time.Second, "no answer", "j1/ack; j1/status apply it: the API server gave no answer: failed calling webhook")
		b.cluster.fail = nil
		b.plane.give(applyJob("j1", "k1", "1"))
		b.want(time.Minute, "an answer", "j1/ack; j1/status applied, not ready yet")
	})
	inBench(t, func(b *bench) {
		b.cluster.fail, b.cluster.failing = fmt.Errorf("apply it: %w: too many requests", ErrPassing), cloudRef.Kind
		other := applyJob("o1", "o1", "1")
		other.Payload = fmt.Appendf(nil, `{"apiVersion":%q,"kind":"Operation","metadata":{"name":"backup","namespace":"org"},"spec":{}}`, api.OpsAPIVersion)
		b.plane.give(applyJob("j1", "k1", "1"), other)
		b.want(time.Second, "the others do not wait", "j1/ack; j1/status apply it: the API server gave no answer: too many requests; o1/ack; o1/status applied, not ready yet")
	})
}

// TestABatchIsRememberedOnce: the keys of all jobs of one answer are stored in one write. If that fails, the jobs are
// done again.
func TestABatchIsRememberedOnce(t *testing.T) {
	inBench(t, func(b *bench) {
		var batch []pull.Job
		for i := range 20 {
			job := applyJob(fmt.Sprint("j", i), fmt.Sprint("k", i), "1")
			job.Payload = bytes.ReplaceAll(job.Payload, []byte(`"cloud"`), fmt.Appendf(nil, `"cloud-%d"`, i))
			batch = append(batch, job)
		}
		b.keys.fail = errors.New("no space")
		b.plane.give(batch...)
		time.Sleep(500 * time.Millisecond)
		synctest.Wait()
		if said := b.plane.take(); b.cluster.applies != 20 || strings.Contains(said, "status") {
			b.Errorf("%d applies, and of what is not remembered is said: %s", b.cluster.applies, said)
		}
		b.keys.mu.Lock()
		b.keys.fail = nil
		b.keys.mu.Unlock()
		b.plane.give(batch...)
		time.Sleep(time.Minute)
		synctest.Wait()
		if said := b.plane.take(); b.keys.saves != 1 || strings.Count(said, "applied, not ready yet") < 20 {
			b.Errorf("%d writes; said: %s", b.keys.saves, said)
		}
	})
}

// TestAFailure: a resource that has failed and isn't retried ends its job at once, as a failure. An operation may take
// any time.
func TestAFailure(t *testing.T) {
	inBench(t, func(b *bench) {
		say := func(conditions ...pull.Condition) {
			b.cluster.mu.Lock()
			seen := b.cluster.have[cloudRef]
			seen.ObservedGeneration, seen.Conditions = seen.Resource.Generation, conditions
			b.cluster.mu.Unlock()
			b.puller.Moved()
		}
		degraded := pull.Condition{Type: "Degraded", Status: "True", Reason: "HelmReleaseFailed", Message: "upgrade failed:\nexit status 1"}
		b.plane.give(applyJob("j1", "k1", "1"))
		b.want(time.Second, "applied", "j1/ack; j1/status applied, not ready yet")
		say(pull.Condition{Type: "Blocked", Status: "True", Reason: "MissingSecret", Message: "create it"})
		b.want(time.Second, "blocked", "j1/status MissingSecret: create it")
		say(degraded, pull.Condition{Type: "Reconciling", Status: "True"})
		b.want(time.Second, "retried", "j1/status applied, not ready yet")
		say(degraded, pull.Condition{Type: "Reconciling", Status: "False"})
		b.want(time.Second, "failed", "j1/status; j1/result failed HelmReleaseFailed: upgrade failed:\nexit status 1")

		operation := applyJob("o1", "o1", "1")
		operation.Payload = fmt.Appendf(nil, `{"apiVersion":%q,"kind":"Operation","metadata":{"name":"backup","namespace":"org"},"spec":{}}`, api.OpsAPIVersion)
		b.plane.give(operation)
		b.want(time.Second, "applied", "o1/ack; o1/status applied, not ready yet")
		b.want(time.Hour+30*time.Second, "an hour", strings.TrimSuffix(strings.Repeat("o1/status applied, not ready yet; ", 60), "; "))
	})
}

// TestAnotherResourceIsNoAnswer: the state of a resource that a person deleted and created again doesn't count for the
// job.
func TestAnotherResourceIsNoAnswer(t *testing.T) {
	inBench(t, func(b *bench) {
		b.plane.give(applyJob("j1", "k1", "1"))
		b.want(time.Second, "applied", "j1/ack; j1/status applied, not ready yet")
		b.cluster.mu.Lock()
		b.cluster.have[cloudRef].Resource.UID = "another"
		b.cluster.mu.Unlock()
		b.cluster.ready(cloudRef, api.ConditionTrue, "HelmReleaseReady")
		b.want(30*time.Second, "another's Ready", "")
	})
}

// TestComparing: the cluster is compared with what was applied, at once after a notice and within a minute without one.
// A puller that has just started asks the control plane what was delivered.
func TestComparing(t *testing.T) {
	inBench(t, func(b *bench) {
		says := func(after time.Duration, when, want string) {
			b.Helper()
			time.Sleep(after)
			synctest.Wait()
			if got := b.plane.reported(); got != want {
				b.Errorf("%s: %q, want %q", when, got, want)
			}
		}
		b.plane.give(applyJob("j1", "k1", "1"))
		says(2*time.Second, "applied", "cloud k1")
		says(2*time.Minute, "nothing changes", "")
		b.cluster.edit(cloudRef)
		b.puller.Changed(cloudRef)
		says(2*time.Second, "changed", "cloud k1 spec by kubectl-edit")
		b.cluster.gone(cloudRef)
		says(time.Minute, "gone, without a notice", "cloud k1 missing")
		heal := applyJob("j2", "k1~1", "1")
		heal.Force = true
		b.plane.give(heal)
		says(2*time.Second, "applied again", "cloud k1~1")
		if !b.cluster.forced {
			b.Error("not by force")
		}
		b.stop()
		b.plane.delivered = []pull.Job{applyJob("j2", "k1~1", "1"), applyJob("x1", "x1", "1"), applyJob("y1", "y1", "1")}
		for i, name := range []string{"lost", "gone"} {
			b.plane.delivered[i+1].Payload = fmt.Appendf(nil, `{"apiVersion":%q,"kind":"ApplicationInstance","metadata":{"name":%q,"namespace":"org"}}`, api.AppsAPIVersion, name)
		}
		b.start()
		time.Sleep(2 * time.Second)
		synctest.Wait()
		for _, want := range []string{"cloud k1~1", "lost x1 missing", "gone y1 missing"} {
			if got := b.plane.reported(); strings.Contains(got, want) {
				b.plane.states = append(b.plane.states, got)
			} else {
				b.Errorf("after a restart: %q, want %s", got, want)
			}
		}
		b.plane.reported()
		payload, _ := json.Marshal(cloudRef)
		b.plane.give(pull.Job{ID: "d1", Kind: pull.KindDelete, IdempotencyKey: "delete", Payload: payload})
		says(2*time.Minute, "a deletion that was ordered", "")
	})
}

// TestANamespaceOfThreeHundredIsDeleted: all 300 are reported missing within seconds, once each, in a few requests.
func TestANamespaceOfThreeHundredIsDeleted(t *testing.T) {
	inBench(t, func(b *bench) {
		const count = 300
		b.stop()
		for i := range count {
			job := applyJob(fmt.Sprintf("j%03d", i), fmt.Sprintf("k%03d", i), "1")
			job.Payload = fmt.Appendf(nil, `{"apiVersion":%q,"kind":"ApplicationInstance","metadata":{"name":"web-%03d","namespace":"org"}}`, api.AppsAPIVersion, i)
			if _, err := b.cluster.Apply(t.Context(), job.Payload, false); err != nil {
				t.Fatal(err)
			}
			b.plane.delivered = append(b.plane.delivered, job)
		}
		b.cluster.takes = 20 * time.Millisecond // what follows is much less than all of them take one after the other
		b.start()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if n := strings.Count(b.plane.reported(), "web-"); n != count {
			t.Fatalf("%d of %d were compared at first", n, count)
		}
		before := b.plane.batches
		b.cluster.mu.Lock()
		clear(b.cluster.have)
		b.cluster.mu.Unlock()
		for i := range count {
			b.puller.Changed(api.ClusterResource{
				APIVersion: api.AppsAPIVersion, Kind: api.ApplicationInstanceKind, Namespace: "org", Name: fmt.Sprintf("web-%03d", i), UID: "k",
			})
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if missing := strings.Count(b.plane.reported(), " missing"); missing != count {
			t.Errorf("after two seconds %d of %d are missing", missing, count)
		}
		if n := b.plane.batches - before; n > 2*count/pull.MaxEvents {
			t.Errorf("in %d exchanges", n)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if got := b.plane.reported(); got != "" {
			t.Errorf("an hour later: %s", got)
		}
	})
}

// TestADelete: the result of a delete is sent once the resource is gone, however long that takes, also after a restart.
func TestADelete(t *testing.T) {
	inBench(t, func(b *bench) {
		b.plane.give(applyJob("j1", "k1", "1"))
		b.want(time.Second, "applied", "j1/ack; j1/status applied, not ready yet")
		b.cluster.ready(cloudRef, api.ConditionTrue, "HelmReleaseReady")
		b.want(10*time.Second, "ready", "j1/status; j1/result succeeded")
		payload, _ := json.Marshal(cloudRef)
		remove := func(id string) pull.Job {
			return pull.Job{ID: id, Kind: pull.KindDelete, IdempotencyKey: "delete", Payload: payload}
		}
		b.cluster.slow = true
		b.plane.give(remove("d1"))
		b.want(time.Second, "deleting", "d1/ack; d1/status deleting")
		b.stop()
		b.start()
		b.plane.give(remove("d2"))
		b.want(time.Second, "the same job again: the resource is not gone yet", "d2/ack; d2/status deleting")
		// The extra half minute keeps a report at the very end of the hour from being cut off.
		b.want(time.Hour+30*time.Second, "an hour", strings.TrimSuffix(strings.Repeat("d2/status deleting; ", 60), "; "))
		b.cluster.gone(cloudRef)
		b.want(10*time.Second, "gone", "d2/result succeeded")
		b.plane.give(remove("d3"))
		b.want(time.Second, "asked again", "d3/ack; d3/result noop")
	})
}

// TestIntents: each intent is an apply or a delete.
func TestIntents(t *testing.T) {
	manifest := string(applyJob("", "", "1").Payload)
	for payload, want := range map[string]string{
		`{"intent":"ensure-application-instance","applicationInstance":` + manifest + `}`: "apply ApplicationInstance org/cloud",
		`{"intent":"request-operation","operation":` + manifest + `}`:                     "apply ApplicationInstance org/cloud",
		`{"intent":"delete-application-instance","name":"cloud","namespace":"org"}`:       "delete ApplicationInstance org/cloud",
		`{"intent":"delete-application-instance","name":"cloud"}`:                         "the intent delete-application-instance needs name and namespace",
		`{"intent":"rotate-operator-credentials"}`:                                        `the intent "rotate-operator-credentials" is not known`,
		`{"intent":"ensure-application-instance"}`:                                        "the payload is not a manifest: it needs apiVersion, kind and metadata.name",
	} {
		task, err := read(pull.Job{Kind: pull.KindIntent, Payload: []byte(payload)})
		got := map[bool]string{true: "delete", false: "apply"}[task.delete] + " " + task.ref.Kind + " " + task.ref.Namespace + "/" + task.ref.Name
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %s, want %s", payload, got, want)
		}
	}
}
