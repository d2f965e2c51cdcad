package instance

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestTheFirstLook: an operator that has just started finds a change that Flux may not have read, and none that it has.
func TestTheFirstLook(t *testing.T) {
	for name, tc := range map[string]struct {
		reason           string
		instance, secret time.Duration // since which each was written
		noticed          bool
	}{
		"while the operator was away": {"Flux reads every five minutes only", time.Hour, time.Minute, true},
		"a second before":             {"the instance is new, and Flux was faster", time.Minute, time.Second, true},
		"long ago":                    {"Flux has read it since", time.Hour, 10 * time.Minute, false},
		"before the instance":         {"there was nothing to read it for", time.Minute, 2 * time.Minute, false},
		"with the instance":           {"Flux reads it when it installs", time.Minute, time.Minute, false},
	} {
		t.Run(name, func(t *testing.T) {
			written := metav1.NewTime(noon.Add(-tc.secret))
			s := &shelf{t: t, instance: withOptionsOf(t, "valuesFrom: [{kind: Secret, name: a}]"),
				versions: map[string]string{"Secret a": "1"}, written: []metav1.ManagedFieldsEntry{{}, {Time: &written}}}
			s.instance.CreationTimestamp = metav1.NewTime(noon.Add(-tc.instance))
			r := s.references(func() time.Time { return noon })
			for _, again := range []bool{false, true} {
				if _, err := s.looks(r); err != nil {
					t.Fatal(err)
				}
				changed := r.Changed(s.key)
				if (changed != "") != (tc.noticed && !again) {
					t.Errorf("again %v: changed %q: %s", again, changed, tc.reason)
				}
				r.Asked(s.key, changed)
			}
		})
	}
}
