package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pull"
)

var cloudRef = api.ClusterResource{APIVersion: api.AppsAPIVersion, Kind: api.ApplicationInstanceKind, Namespace: "org", Name: "cloud"}

// TestAJob: acknowledged, applied, its status while it is not ready, its result once it is; and again as a no-op, also after a restart.
func TestAJob(t *testing.T) {
	inBench(t, func(b *bench) {
		b.plane.give(applyJob("j1", "k1", "1"))
		b.want(time.Second, "applied", "j1/ack; j1/status applied, not ready yet")
		b.want(30*time.Second, "soon", "")
		b.want(40*time.Second, "once a minute", "j1/status applied, not ready yet")
		b.cluster.ready(cloudRef, api.ConditionTrue, "HelmReleaseReady")
		b.agent.Moved()
		b.want(time.Second, "ready", "j1/status; j1/result succeeded")
		b.plane.give(applyJob("j2", "k1", "1"))
		b.want(time.Second, "again", "j2/ack; j2/result noop")
		b.stop()
		b.start()
		b.plane.give(applyJob("j3", "k1", "1"))
		b.want(time.Second, "after a restart", "j3/ack; j3/result noop")
		if b.cluster.applies != 1 {
			b.Errorf("applied %d times", b.cluster.applies)
		}
		b.plane.give(applyJob("j4", "k2", "2"))
		b.want(time.Second, "the Ready of the generation before", "j4/ack; j4/status applied, not ready yet")
		b.want(11*time.Minute, "never ready", strings.Repeat("j4/status applied, not ready yet; ", 9)+"j4/status; j4/result succeeded")
	})
}

// TestOutcomes: what can't be done, came too late, or is another manager's.
func TestOutcomes(t *testing.T) {
	inBench(t, func(b *bench) {
		late := applyJob("late", "late", "1")
		late.ExpiresAt = time.Now()
		b.plane.give(late, pull.Job{ID: "odd", Kind: "dance"}, pull.Job{ID: "empty", Kind: pull.KindApply, Payload: []byte(`{}`)}, pull.Job{ID: "bare", Kind: pull.KindDelete, Payload: []byte(`{"name":"x"}`)})
		b.want(time.Second, "refused", `late/ack; late/result noop expired; odd/ack; odd/result failed jobs of kind "dance" are not known; `+
			`empty/ack; empty/result failed the payload is no manifest: it needs apiVersion, kind and metadata.name; bare/ack; bare/result failed the payload of a delete needs apiVersion, kind and name`)
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

// TestAPassingError: a job about which the API server could not say anything has no result; it comes again, and is done.
func TestAPassingError(t *testing.T) {
	inBench(t, func(b *bench) {
		b.cluster.fail = fmt.Errorf("apply it: %w: failed calling webhook", ErrPassing)
		b.plane.give(applyJob("j1", "k1", "1"))
		b.want(time.Second, "no answer", "j1/ack")
		b.cluster.fail = nil
		b.plane.give(applyJob("j1", "k1", "1"))
		b.want(time.Minute, "an answer", "j1/ack; j1/status applied, not ready yet")
	})
}

// TestADelete: its result is sent once the resource is gone, however long that takes, and after a restart too.
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
		b.want(time.Second, "asked again: not gone is no no-op", "d2/ack; d2/status deleting")
		// Half a minute more: a report at the very end of the hour is not cut off by it.
		b.want(time.Hour+30*time.Second, "an hour", strings.TrimSuffix(strings.Repeat("d2/status deleting; ", 60), "; "))
		b.cluster.gone(cloudRef)
		b.want(10*time.Second, "gone", "d2/result succeeded")
		b.plane.give(remove("d3"))
		b.want(time.Second, "asked again", "d3/ack; d3/result noop")
	})
}

// TestIntents: the intents are applies and deletes.
func TestIntents(t *testing.T) {
	manifest := string(applyJob("", "", "1").Payload)
	for payload, want := range map[string]string{
		`{"intent":"ensure-application-instance","applicationInstance":` + manifest + `}`: "apply ApplicationInstance org/cloud",
		`{"intent":"request-operation","operation":` + manifest + `}`:                     "apply ApplicationInstance org/cloud",
		`{"intent":"delete-application-instance","name":"cloud","namespace":"org"}`:       "delete ApplicationInstance org/cloud",
		`{"intent":"delete-application-instance","name":"cloud"}`:                         "the intent delete-application-instance needs name and namespace",
		`{"intent":"rotate-operator-credentials"}`:                                        `the intent "rotate-operator-credentials" is not known`,
		`{"intent":"ensure-application-instance"}`:                                        "the payload is no manifest: it needs apiVersion, kind and metadata.name",
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
