package deployment

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/engine"
)

func TestUnworkableObjects(t *testing.T) {
	for name, test := range map[string]struct {
		reason string
		spoil  func(*lab)
		mend   func(*lab)
		says   string
		words  []string // of the message
	}{
		"spec": {
			"a stored spec that this version can't read",
			func(l *lab) {
				object := *l.snapshot().Object(web).Value
				object.Spec = json.RawMessage(`{"image": "web:1", "replicas": "three"}`)
				l.put(object)
			},
			func(l *lab) { l.apply(replicas(2, "web:1")) },
			ReasonInvalidSpec, []string{"replicas", "apply a corrected manifest"},
		},
		"key lost": {
			"a value that was sealed under another key names itself",
			func(l *lab) { l.config("apps/prod/web/TOKEN", "secret"); l.sealer.lost = true },
			func(l *lab) { l.sealer.lost = false; l.config("apps/prod/web/TOKEN", "secret again") },
			ReasonEnvironmentUnreadable, []string{"/config/apps/prod/web/TOKEN", "no key fits"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			l.apply(replicas(2, "web:1"))
			l.settle()
			running := len(l.live())
			test.spoil(l)
			_, err := l.look()
			var unworkable *UnworkableError
			if !engine.IsTerminal(err) || !errors.As(err, &unworkable) || unworkable.Reason != test.says {
				t.Fatalf("%s: %v (terminal: %v)", test.reason, err, engine.IsTerminal(err))
			}
			for _, conditionType := range []string{api.ConditionReady, api.ConditionProgressing, api.ConditionDegraded} {
				c := l.condition(conditionType)
				if bad := (c.Status == api.ConditionTrue) != (conditionType == api.ConditionDegraded); bad || c.Reason != test.says {
					t.Errorf("%s: %+v", test.reason, c)
				}
				for _, word := range test.words {
					if !strings.Contains(c.Message, word) {
						t.Errorf("%s: %s doesn't say %q: %s", test.reason, conditionType, word, c.Message)
					}
				}
			}
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("%s: the error shows the value: %v", test.reason, err)
			}

			before := len(l.commits)
			l.pass(60_000)
			if dirty := l.c.Dirty(l.now); len(dirty) != 0 {
				t.Errorf("%s: it is tried again every pass", test.reason)
			}
			if _, err := l.look(); !engine.IsTerminal(err) || len(l.commits) != before {
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

// One object that can't be worked on stops no other.
func TestOthersAreUnaffected(t *testing.T) {
	l := newLab(t)
	broken := api.Object{Kind: web.Kind, Scope: "prod", Name: "broken", Spec: json.RawMessage(`7`), Metadata: api.Metadata{Generation: 1}}
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
		t.Errorf("somebody else's look wrote %+v", status.Value)
	}
}
