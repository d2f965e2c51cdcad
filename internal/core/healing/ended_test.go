package healing_test

import (
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/healing"
)

// TestTheEndNamesThePolicy: of a program that should go on it is said why it isn't started again; of a run, its end is
// the result.
func TestTheEndNamesThePolicy(t *testing.T) {
	for name, c := range map[string]struct {
		class  api.RestartClass
		policy string
		oom    bool
		code   int
		want   string
	}{
		"a pod":          {api.ClassKeep, "no", false, 0, "the program ended with exit code 0, and `restart` is \"no\""},
		"its tries over": {api.ClassKeep, "on-failure:2", false, 3, "the program ended with exit code 3, and `restart` is \"on-failure:2\""},
		"out of memory":  {api.ClassKeep, "no", true, 137, "the program was killed for lack of memory, and `restart` is \"no\""},
		"a run":          {api.ClassOnce, "no", false, 0, "the container ended with exit code 0"},
	} {
		in := failing()
		in.Task.Class, in.Container.Restart, in.Container.OOMKilled, in.Container.ExitCode = c.class, c.policy, c.oom, c.code
		in.Container.RestartCount = 2
		d := healing.Plan(in, now)
		in.Status, in.Log = d.Status, &healing.LogReading{Request: d.Log, Since: now, Done: true, Lines: []string{"bye"}}
		if got := healing.Plan(in, now.Add(time.Second)).Status.Message; got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
