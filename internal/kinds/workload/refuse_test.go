package workload

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control/controltest"
	"tend.dev/tend/internal/kinds/owner"
	"tend.dev/tend/internal/reconciler"
	"tend.dev/tend/internal/store/records"
)

func TestUnworkableObjects(t *testing.T) {
	for name, test := range map[string]struct {
		reason string
		spoil  func(*harness)
		mend   func(*harness)
		says   string
		words  []string // of the message
	}{
		"spec": {
			"a stored spec that this version can't read",
			func(l *harness) {
				object := *l.snapshot().Object(web).Value
				object.Spec = json.RawMessage(`{"image": "web:1", "replicas": "three"}`)
				l.put(object)
			},
			func(l *harness) { l.apply(replicas(2, "web:1")) },
			api.ReasonInvalidSpec, []string{"replicas", "apply a corrected manifest"},
		},
		"key lost": {
			"a value that was sealed under another key names itself",
			func(l *harness) { l.config("apps/prod/web/TOKEN", "hunter2"); l.sealer.lost = true },
			func(l *harness) { l.sealer.lost = false; l.config("apps/prod/web/TOKEN", "secret again") },
			api.ReasonEnvironmentUnreadable, []string{"/config/apps/prod/web/TOKEN", "no key fits"},
		},
		"a reference to no object": {
			"a reference names what it lacks, and no container gets its text",
			func(l *harness) { l.apply(withEnv(2, "API", "${ref.deployment.api.host}")) },
			func(l *harness) { l.beside("api") },
			api.ReasonUnresolvedReference, []string{"there is no deployment/prod/api", "Tend retries"},
		},
		"no bucket to take from": {
			"env_from names nothing that is there",
			func(l *harness) {
				spec := replicas(2, "web:1")
				spec.EnvFrom = []string{"shared/db"}
				l.apply(spec)
			},
			func(l *harness) { l.config("apps/shared/db/URL", "x") },
			api.ReasonEnvFromEmpty, []string{"shared/db", "tend config set"},
		},
		"no key for a file": {
			"a secret file's key is in no bucket",
			func(l *harness) {
				spec := replicas(2, "web:1")
				spec.SecretFiles = map[string]string{"/run/secrets/db": "DB_PASSWORD"}
				l.apply(spec)
			},
			func(l *harness) { l.config("scopes/prod/DB_PASSWORD", "x") },
			api.ReasonSecretKeyMissing, []string{"DB_PASSWORD", "tend config set"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newHarness(t)
			l.apply(replicas(2, "web:1"))
			l.settle()
			running := len(l.live())
			test.spoil(l)
			_, err := l.look()
			var unworkable *owner.UnworkableError
			if !reconciler.IsTerminal(err) || !errors.As(err, &unworkable) || unworkable.Reason != test.says {
				t.Fatalf("%s: %v (terminal: %v)", test.reason, err, reconciler.IsTerminal(err))
			}
			for _, conditionType := range []string{api.ConditionReady, api.ConditionProgressing,
				api.ConditionDegraded} {
				c := l.condition(conditionType)
				if bad := (c.Status == api.ConditionTrue) != (conditionType == api.ConditionDegraded); bad ||
					c.Reason != test.says {
					t.Errorf("%s: %+v", test.reason, c)
				}
				for _, word := range test.words { // a cause is given once
					if strings.Contains(c.Message+c.Next, word) != (conditionType == api.ConditionDegraded) {
						t.Errorf("%s: %s and %q: %s, next: %s", test.reason, conditionType, word, c.Message, c.Next)
					}
				}
			}
			controltest.Outcome(t, *l.snapshot().Object(web).Value, l.status(), api.OutcomeFailed)
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%s: the error shows the value: %v", test.reason, err)
			}

			before := len(l.commits)
			l.pass(60_000)
			if dirty := l.c.Dirty(l.now); len(dirty) != 0 {
				t.Errorf("%s: it is tried again every pass", test.reason)
			}
			if _, err := l.look(); !reconciler.IsTerminal(err) || len(l.commits) != before {
				t.Errorf("%s: another look wrote again, or was no terminal error: %v", test.reason, err)
			}
			if len(l.live()) != running {
				t.Errorf("%s: %d of %d tasks are left", test.reason, len(l.live()), running)
			}

			test.mend(l)
			l.settle()
			if c := l.condition(api.ConditionReady); c.Status != api.ConditionTrue {
				t.Errorf("%s: mended, and %+v", test.reason, c)
			}
		})
	}
}

// TestWhatIsInForceIsKeptWithoutItsEnvironment: the release in force fills a slot that failed again, surplus slots
// stop, and no slot changes its release.
func TestWhatIsInForceIsKeptWithoutItsEnvironment(t *testing.T) {
	l := newHarness(t)
	l.apply(replicas(3, "web:1"))
	l.settle()
	l.apply(withEnv(2, "API", "${ref.deployment.api.host}"))
	lost := l.live()[0]
	l.write(func(txn *records.Txn) {
		status := *l.snapshot().TaskStatus(lost.ID).Value
		status.State, status.Ready, status.Reason, status.FinishedAt = api.TaskFailed, false, "CrashLoop", l.now
		txn.Put(records.TaskStatusKey(lost.ID), status)
	})
	for range 10 {
		if _, err := l.look(); !reconciler.IsTerminal(err) {
			t.Fatalf("it has no environment, and the look says %v", err)
		}
		l.place()
		l.runAgent()
		l.pass(60_000)
	}
	live := l.live()
	for _, task := range live {
		if task.Release != "v1" || task.ID == lost.ID {
			t.Errorf("slot %s runs %s", task.Slot, task.Release)
		}
	}
	if status := l.status(); len(live) != 2 || status.Ready != 2 || status.Release != "v1" {
		t.Errorf("%d tasks are left; %+v", len(live), status)
	}
	if dirty := l.c.Dirty(l.now); len(dirty) != 0 {
		t.Error("it doesn't come to rest")
	}
	l.beside("api")
	l.settle()
	if status := l.status(); status.Release != "v2" || status.Updated != 2 {
		t.Errorf("the reference has a target: %+v", status)
	}
}

// A reference to something that has no release yet resolves in time, so a waiting command goes on waiting.
func TestAReferenceToWhatIsOnItsWay(t *testing.T) {
	l := newHarness(t)
	api1 := l.beside("api")
	l.apply(withEnv(1, "API", "${ref.deployment.api.release}"))
	_, _ = l.look()
	if got := l.status().Replicas; got != 1 {
		t.Errorf("%d replicas are said to be wanted", got)
	}
	l.is(api.ConditionProgressing, api.ConditionTrue, api.ReasonUnresolvedReference, "")
	if c := l.condition(api.ConditionDegraded); !strings.Contains(c.Message, "has no release yet") ||
		c.Next != "nothing to do: Tend continues by itself" {
		t.Errorf("%+v", c)
	}
	l.write(func(txn *records.Txn) { txn.Put(records.StatusKey(api1), api.WorkloadStatus{Release: "v1"}) })
	l.settle()
	l.is(api.ConditionReady, api.ConditionTrue, api.ReasonConverged, "1 of 1 replicas run v1")
}

// One object that can't be reconciled blocks no other.
func TestOthersAreUnaffected(t *testing.T) {
	l := newHarness(t)
	broken := api.Object{Kind: web.Kind, Scope: "prod", Name: "broken", Spec: json.RawMessage(`7`),
		Metadata: api.Metadata{Generation: 1}}
	l.put(broken)
	l.apply(replicas(1, "web:1"))
	if dirty := l.c.Dirty(l.now); len(dirty) != 2 {
		t.Errorf("both have something to be written: %v", dirty)
	}
	l.settle()
	if l.status().Ready != 1 {
		t.Errorf("%+v", l.status())
	}
	if status := l.snapshot().WorkloadStatus(broken.Ref()); status.Exists() {
		t.Errorf("another reconcile wrote %+v", status.Value)
	}
}
