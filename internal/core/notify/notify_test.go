package notify

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tend.dev/tend/api"
)

var begin = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

var defaults = SettingsOf(nil)

func cause(name, reason string) api.SinkCause {
	return api.SinkCause{UID: "uid-" + name, Kind: api.KindDeployment, Scope: "prod", Name: name, Reason: reason,
		Message: "no node fits", ID: name + ".0"}
}

// world is a sink that runs: a step of time, a signal, and what was sent when.
type world struct {
	set   Settings
	known api.SinkCauses
	now   time.Time
	sent  []sent
}

type sent struct {
	at time.Time
	Message
}

// until lets time pass, and sends what is due.
func (w *world) until(at time.Time) {
	for {
		due := Due(w.known, w.set)
		if due.IsZero() || due.After(at) {
			break
		}
		if due.After(w.now) {
			w.now = due
		}
		m, ok := Next(w.known, w.set, w.now)
		if !ok {
			panic("nothing is sent when it is due")
		}
		w.sent = append(w.sent, sent{w.now, m})
		w.known = Sent(w.known, m, w.now)
	}
	if at.After(w.now) {
		w.now = at
	}
}

func (w *world) signal(what What, c api.SinkCause) {
	w.known = Observe(w.known, w.set, Signal{What: what, Cause: c, At: w.now})
}

// TestTranscript: what people get, line by line.
func TestTranscript(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		script string
		want   string
	}{
		"once": {"one failure, one message, after the time to gather", "fail web; 1h",
			"10s deployment prod/web failed: NoNode"},
		"again": {"the same cause is not sent twice", "fail web; 1m; fail web; 10h; fail web; 1h",
			"10s deployment prod/web failed: NoNode"},
		"a day": {"it is, after a day", "fail web; 25h; fail web; 1h",
			"10s deployment prod/web failed: NoNode | 25h0m10s deployment prod/web failed: NoNode"},
		"resolved": {"people hear of the end", "fail web; 1h; ok web; 1h",
			"10s deployment prod/web failed: NoNode | 1h0m10s deployment prod/web recovered"},
		"new failure": {"after the end, a failure is another one", "fail web; 1h; ok web; 1h; fail web; 1h",
			"10s deployment prod/web failed: NoNode | 1h0m10s deployment prod/web recovered | 2h0m10s deployment prod/web failed: NoNode"},
		"flapping": {"a flapping object waits for the quiet time",
			"fail web; 2m; ok web; 2m; fail web; 1m; ok web; 1m; fail web; 2h",
			"10s deployment prod/web failed: NoNode | 2m10s deployment prod/web recovered | 30m10s deployment prod/web failed: NoNode"},
		"short": {"a failure that ended before its message is sent all the same", "fail web; 2s; ok web; 1h",
			"10s deployment prod/web failed: NoNode"},
		"blip": {"an end that nobody was sent doesn't count", "fail web; 1h; ok web; 2s; fail web; 1h",
			"10s deployment prod/web failed: NoNode"},
		"storm": {"what comes together is one message", "fail a; fail b; 1s; fail c; fail d; 1h", "10s 4 objects failed"},
		"pause": {"there is a minute between messages", "fail a; 11s; fail b; 11s; fail c; 1h",
			"10s deployment prod/a failed: NoNode | 1m10s 2 objects failed"},
		"another reason": {"what follows before the message takes its place", "fail web; why web RolledBack; 1h; ok web; 1h",
			"10s deployment prod/web failed: RolledBack | 1h0m10s deployment prod/web recovered"},
		"a later reason": {"what follows the message has its own", "fail web; 1m; why web RolledBack; 1h",
			"10s deployment prod/web failed: NoNode | 1m10s deployment prod/web failed: RolledBack"},
		"removed": {"nothing is sent of what was deleted later", "fail web; 1h; gone web; 1h",
			"10s deployment prod/web failed: NoNode"},
		"both": {"what ends and what fails is one message", "fail a; 1h; ok a; fail b; 1h",
			"10s deployment prod/a failed: NoNode | 1h0m10s 1 objects failed, 1 recovered"},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{set: defaults, now: begin}
			run(w, tc.script)
			var got []string
			for _, s := range w.sent {
				subject, _, err := Text(s.Message, nil)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, s.at.Sub(begin).String()+" "+subject)
			}
			if text := strings.Join(got, " | "); text != tc.want {
				t.Errorf("%s:\n got %s\nwant %s", tc.reason, text, tc.want)
			}
		})
	}
}

func run(w *world, script string) {
	for step := range strings.SplitSeq(script, ";") {
		verb, name, _ := strings.Cut(strings.TrimSpace(step), " ")
		switch verb {
		case "fail":
			w.signal(Failed, cause(name, "NoNode"))
		case "why":
			name, reason, _ := strings.Cut(name, " ")
			w.signal(Failed, cause(name, reason))
		case "ok":
			w.signal(Recovered, cause(name, ""))
		case "gone":
			w.signal(Removed, cause(name, ""))
		default:
			d, err := time.ParseDuration(verb)
			if err != nil {
				panic(err)
			}
			w.until(w.now.Add(d))
		}
	}
}

// TestNeverTwiceNeverNone: of whatever happens, no cause has two messages within Quiet, nor within Repeat unless a
// message said in between that it is resolved; and each failure is in a message, or follows one that still stands.
func TestNeverTwiceNeverNone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &world{now: begin, set: Settings{
			Gather:   time.Duration(rapid.IntRange(0, 20).Draw(t, "gather")) * time.Second,
			Pause:    time.Duration(rapid.IntRange(0, 120).Draw(t, "pause")) * time.Second,
			Quiet:    time.Duration(rapid.IntRange(0, 40).Draw(t, "quiet")) * time.Minute,
			Repeat:   time.Duration(rapid.IntRange(40, 300).Draw(t, "repeat")) * time.Minute,
			Resolved: rapid.Bool().Draw(t, "resolved"),
		}}
		type failure struct {
			name string
			at   time.Time
		}
		var failures []failure
		resolved := map[string][]time.Time{}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			w.until(w.now.Add(time.Duration(rapid.IntRange(0, 3000).Draw(t, "seconds")) * time.Second))
			name := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "name")
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0:
				w.signal(Recovered, cause(name, ""))
				resolved[name] = append(resolved[name], w.now)
			default:
				w.signal(Failed, cause(name, "NoNode"))
				failures = append(failures, failure{name, w.now})
			}
		}
		w.until(w.now.Add(24 * time.Hour))
		messages := map[string][]time.Time{}
		for i, s := range w.sent {
			if i > 0 && s.at.Sub(w.sent[i-1].at) < w.set.Pause {
				t.Fatalf("messages at %s and %s are closer than %s", w.sent[i-1].at, s.at, w.set.Pause)
			}
			for _, c := range s.Failed {
				messages[c.Name] = append(messages[c.Name], s.at)
			}
		}
		between := func(name string, from, to time.Time) bool {
			for _, at := range resolved[name] {
				if !at.Before(from) && !at.After(to) {
					return true
				}
			}
			return false
		}
		for name, at := range messages {
			for i := 1; i < len(at); i++ {
				if gap := at[i].Sub(at[i-1]); gap < w.set.Quiet ||
					gap < w.set.Repeat && !between(name, at[i-1].Add(-w.set.Gather-w.set.Quiet-w.set.Pause), at[i]) {
					t.Fatalf("%s has messages at %s and %s", name, at[i-1], at[i])
				}
			}
		}
		for _, f := range failures {
			covered := false
			for _, at := range messages[f.name] {
				later := !at.Before(f.at) && !at.After(f.at.Add(w.set.Gather+w.set.Quiet+w.set.Pause))
				stands := at.Before(f.at) && f.at.Sub(at) < w.set.Repeat
				covered = covered || later || stands
			}
			if !covered {
				t.Fatalf("no message has the failure of %s at %s: %v", f.name, f.at, messages[f.name])
			}
		}
	})
}

// TestAfterTheEndAFailureIsSent: once a message said that a cause is resolved, the next failure has its own.
func TestAfterTheEndAFailureIsSent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &world{now: begin, set: defaults}
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			w.until(w.now.Add(time.Duration(rapid.IntRange(0, 5000).Draw(t, "seconds")) * time.Second))
			w.signal(rapid.SampledFrom([]What{Failed, Recovered}).Draw(t, "what"), cause("web", "NoNode"))
		}
		w.until(w.now.Add(48 * time.Hour))
		fails := false
		for _, s := range w.sent {
			for _, c := range s.Failed {
				if fails && s.at.Sub(c.MessageAt) < defaults.Repeat {
					t.Fatalf("two messages in a row say that it fails, at %s and %s", c.MessageAt, s.at)
				}
				fails = c.ResolvedAt.IsZero()
			}
			if len(s.Resolved) > 0 {
				fails = false
			}
		}
	})
}

// TestAFloodIsBoundedAndCounted: of more causes than are known one by one, all are counted.
func TestAFloodIsBoundedAndCounted(t *testing.T) {
	w := &world{now: begin, set: defaults}
	const n = 3 * MaxCauses
	for i := range n {
		w.signal(Failed, cause(fmt.Sprint("web-", i), "NoNode"))
	}
	if len(w.known.Open) > MaxCauses {
		t.Errorf("%d causes are kept", len(w.known.Open))
	}
	w.until(w.now.Add(time.Hour))
	if len(w.sent) != 1 || len(w.sent[0].Failed)+w.sent[0].More != n {
		t.Fatalf("sent %d messages", len(w.sent))
	}
	subject, text, err := Text(w.sent[0].Message, nil)
	if err != nil || subject != "300 objects failed" || !strings.Contains(text, "and 290 more") || len(text) > maxText {
		t.Errorf("%q %q %v", subject, text, err)
	}
	w.until(w.now.Add(time.Hour))
	for range 2 * MaxCauses { // the first message still counts for those that are known
		w.signal(Failed, cause("web-7", "NoNode"))
	}
	if w.until(w.now.Add(time.Hour)); len(w.sent) != 1 {
		t.Errorf("sent again: %+v", w.sent[1])
	}
}

// TestNoTwoMessagesHaveOneID: also of those that only count failures.
func TestNoTwoMessagesHaveOneID(t *testing.T) {
	w := &world{now: begin, set: defaults}
	for i := range MaxCauses { // causes that fail and were said, which stay
		w.signal(Failed, cause(fmt.Sprint("web-", i), "NoNode"))
	}
	w.until(w.now.Add(time.Minute))
	for range 3 {
		w.set.Quiet = 48 * time.Hour // no place is free
		w.signal(Failed, cause("more", "NoNode"))
		w.until(w.now.Add(time.Hour))
	}
	ids := map[string]int{}
	for i, s := range w.sent {
		if before, twice := ids[s.ID]; twice {
			t.Errorf("messages %d and %d have the id %s", before, i, s.ID)
		}
		ids[s.ID] = i
	}
	if len(w.sent) != 4 || w.sent[2].More != 1 || len(w.sent[2].Failed) > 0 {
		t.Errorf("sent %d messages", len(w.sent))
	}
	// What comes while one is sent is part of the next.
	known := api.SinkCauses{More: 1, MoreSince: begin}
	first, _ := Next(known, defaults, begin.Add(time.Minute))
	known.More = 2
	known = Sent(known, first, begin.Add(2*time.Minute))
	if second, ok := Next(known, defaults, begin.Add(time.Hour)); !ok || second.ID == first.ID || second.More != 1 {
		t.Errorf("%+v, then %+v", first, second)
	}
}

// TestATestSaysSo: in its subject and its first line, whatever the templates say.
func TestATestSaysSo(t *testing.T) {
	c := cause("web", "NoNode")
	m := Message{Test: "sink on-call", Failed: []api.SinkCause{c}}
	for name, by := range map[string]*api.SinkMessage{"default": nil,
		"templates": {Subject: "ALARM {{.Name}}", Template: "{{.Name}} failed"}} {
		subject, text, err := Text(m, by)
		if err != nil || !strings.HasPrefix(subject, "Test") ||
			!strings.HasPrefix(text, "This is a test of sink on-call: nothing failed.\n") {
			t.Errorf("%s: %q, %q, %v", name, subject, text, err)
		}
		if own := by != nil; strings.Contains(text, "web failed") != own || strings.Contains(subject, "ALARM web") != own {
			t.Errorf("%s: %q, %q", name, subject, text)
		}
	}
}

func TestText(t *testing.T) {
	c := cause("web", "NoNode")
	c.Since, c.Count, c.Release = begin, 2, "v3"
	m := Message{Failed: []api.SinkCause{c}}
	_, text, err := Text(m, nil)
	want := "deployment prod/web failed: NoNode\n  no node fits\n  release v3, since 2026-03-01 12:00:00 UTC, 2 times\n  Next: tend describe deployment prod/web\n"
	if err != nil || text != want {
		t.Errorf("%q, %v; want %q", text, err, want)
	}
	subject, text, err := Text(m, &api.SinkMessage{Subject: "[{{.Scope}}]\n{{.Title}}",
		Template: "{{.Name}}: {{.Reason}} ({{.More}})"})
	if err != nil || subject != "[prod] deployment prod/web failed: NoNode" || text != "web: NoNode (0)" {
		t.Errorf("%q %q, %v", subject, text, err)
	}
	m.Failed[0].Message = strings.Repeat("x", 3*maxText)
	if _, text, err = Text(m, nil); err != nil || len(text) > maxText {
		t.Errorf("%d bytes, %v", len(text), err)
	}
}

func TestTemplatesThatAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"{{.Nope}}":                   "Nope",
		"{{":                          "unclosed action",
		"{{range 1000000000}}{{end}}": "range only over",
		"{{range .Failed}}{{range $.Failed}}{{end}}{{end}}": "range only over",
		"{{printf \"%999999999d\" 1}}":                      "printf",
		"{{define \"a\"}}{{template \"a\"}}{{end}}":         "define",
		"{{template \"message\" .}}":                        "not supported",
		"{{if (call .Title)}}{{end}}":                       "call",
		"{{.Failed | js}}":                                  "js",
		"{{range .Failed}}{{.Title}}{{end}}":                "Title",
		strings.Repeat("x", api.MaxSinkTemplate+1):          "larger",
	} {
		if _, err := api.ParseSinkTemplate(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want %q", text, err, want)
		}
	}
	for _, text := range []string{"", "plain", "{{if and .Reason (gt .Count 1)}}{{.Reason}}{{else}}-{{end}}",
		"{{with .Message}}{{.}}{{end}}", defaultText} {
		if _, err := api.ParseSinkTemplate(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}
