package pulled_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"tend.dev/tend/internal/core/pulled"
)

var now = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

func TestDecide(t *testing.T) {
	image := func(change func(*pulled.Image)) pulled.Image {
		i := pulled.Image{Reference: "nginx:1", ID: "sha256:1", Present: true, Named: true, Tags: []string{"nginx:1"},
			Since: now.Add(-25 * time.Hour)}
		change(&i)
		return i
	}
	cases := map[string]struct {
		reason string
		image  pulled.Image
		short  bool
		want   pulled.Verdict
	}{
		"unused for a day": {"its name goes, and with it the image", image(func(*pulled.Image) {}),
			false, pulled.Untag},
		"referred": {"a release may come back",
			image(func(i *pulled.Image) { i.Referred = true }), true, pulled.Keep},
		"in use": {"whosever container it is",
			image(func(i *pulled.Image) { i.InUse = true }), true, pulled.Keep},
		"just now": {"the day begins when it is seen",
			image(func(i *pulled.Image) { i.Since = time.Time{} }), true, pulled.Begin},
		"for an hour": {"a day has not passed", image(func(i *pulled.Image) { i.Since = now.Add(-time.Hour) }),
			false, pulled.Await},
		"for an hour, no room": {"the room is needed",
			image(func(i *pulled.Image) { i.Since = now.Add(-time.Hour) }), true, pulled.Untag},
		"for a minute, no room": {"a rollback may be under way",
			image(func(i *pulled.Image) { i.Since = now.Add(-time.Minute) }), true, pulled.Await},
		"gone": {"a person removed it",
			image(func(i *pulled.Image) { i.Present, i.Referred = false, true }), false, pulled.Forget},
		"moved": {"its name is another image's, and it has none",
			image(func(i *pulled.Image) { i.Named, i.Tags = false, nil }), false, pulled.Remove},
		"moved, referred": {"a release may come back",
			image(func(i *pulled.Image) { i.Named, i.Tags, i.Referred = false, nil, true }), false, pulled.Keep},
		"renamed by a person": {"it is theirs now",
			image(func(i *pulled.Image) { i.Named, i.Tags = false, []string{"mine:1"} }), false, pulled.Forget},
		"with a name of others'": {"only the name that was pulled goes",
			image(func(i *pulled.Image) { i.Tags = []string{"mine:1", "nginx:1"} }), false, pulled.Untag},
		"by its digest": {"it has no tag, and is named by its digest", image(func(i *pulled.Image) { i.Tags = nil }),
			false, pulled.Untag},
		"a clock that went back": {"the wait goes on",
			image(func(i *pulled.Image) { i.Since = now.Add(time.Hour) }), true, pulled.Await},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := pulled.Decide(tc.image, tc.short, now); got != tc.want {
				t.Errorf("%s: %s, want %s", tc.reason, got, tc.want)
			}
		})
	}
}

// TestNothingNeededGoes: whatever is known, an image that is needed, or that has only names of others, isn't touched,
// and none goes before its wait is over.
func TestNothingNeededGoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		i := pulled.Image{
			Present: rapid.Bool().Draw(t, "present"), Named: rapid.Bool().Draw(t, "named"),
			Referred: rapid.Bool().Draw(t, "referred"), InUse: rapid.Bool().Draw(t, "in use"),
			Tags: rapid.SliceOfN(rapid.Just("x:1"), 0, 2).Draw(t, "tags"),
		}
		if rapid.Bool().Draw(t, "waits") {
			i.Since = now.Add(-time.Duration(rapid.IntRange(0, 3000).Draw(t, "minutes")) * time.Minute)
		}
		short := rapid.Bool().Draw(t, "short")
		got := pulled.Decide(i, short, now)
		if got != pulled.Untag && got != pulled.Remove {
			return
		}
		switch {
		case i.Referred, i.InUse, !i.Present, i.Since.IsZero(), now.Sub(i.Since) < pulled.ShortWait:
			t.Fatalf("%s: %+v", got, i)
		case !short && now.Sub(i.Since) < pulled.Wait:
			t.Fatalf("%s before a day: %+v", got, i)
		case !i.Named && len(i.Tags) > 0, got == pulled.Remove && i.Named:
			t.Fatalf("%s: it has names of others: %+v", got, i)
		}
	})
}
