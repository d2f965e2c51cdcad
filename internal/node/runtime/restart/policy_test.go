package restart

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	tests := map[string]struct {
		reason string
		text   string
		want   Policy
		fails  bool
	}{
		"empty": {reason: "no policy means no", want: Policy{Name: No}},
		"plain": {reason: "names stand for themselves", text: "always", want: Policy{Name: Always}},
		"counted": {reason: "on-failure takes a bound", text: "on-failure:3",
			want: Policy{Name: OnFailure, MaxRetries: 3}},
		"wrong count":  {reason: "only on-failure is bounded", text: "always:3", fails: true},
		"not a number": {reason: "a count is digits", text: "on-failure:x", fails: true},
		"negative":     {reason: "a count is not negative", text: "on-failure:-1", fails: true},
		"unknown":      {reason: "a word that docker refuses", text: "sometimes", fails: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := Parse(tc.text)
			if (err != nil) != tc.fails {
				t.Fatalf("%s: error %v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(tc.reason, diff)
			}
			if err == nil && tc.text != "" && got.String() != tc.text {
				t.Errorf("%q prints as %q", tc.text, got)
			}
		})
	}
}

func TestPolicies(t *testing.T) {
	tests := map[string]struct {
		reason string
		policy string
		end    End
		want   bool
	}{
		"no":                    {"never", "no", End{ExitCode: 1}, false},
		"always, clean":         {"whatever the code", "always", End{}, true},
		"always, stopped":       {"nothing starts right after a manual stop", "always", End{Stopped: true}, false},
		"unless, failed":        {"it ended by itself", "unless-stopped", End{ExitCode: 1}, true},
		"unless, stopped":       {"a manual stop lasts", "unless-stopped", End{Stopped: true}, false},
		"on-failure, clean":     {"0 doesn't count as a failure", "on-failure", End{}, false},
		"on-failure, failed":    {"no bound", "on-failure", End{ExitCode: 2, Restarts: 99}, true},
		"on-failure:2, second":  {"one of two used", "on-failure:2", End{ExitCode: 2, Restarts: 1}, true},
		"on-failure:2, used up": {"two of two used", "on-failure:2", End{ExitCode: 2, Restarts: 2}, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			policy, err := Parse(tc.policy)
			if err != nil {
				t.Fatal(err)
			}
			if got := policy.Restarts(tc.end); got != tc.want {
				t.Errorf("%s: restarts %v", tc.reason, got)
			}
		})
	}
}

func TestBackoffDoublesAndForgets(t *testing.T) {
	var b Backoff
	var got []time.Duration
	for range 12 {
		got = append(got, b.Next(time.Millisecond))
	}
	ms := time.Millisecond
	want := []time.Duration{100 * ms, 200 * ms, 400 * ms, 800 * ms, 1600 * ms, 3200 * ms, 6400 * ms, 12800 * ms,
		25600 * ms, 51200 * ms, time.Minute, time.Minute}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if wait := b.Next(10 * time.Second); wait != 100*ms {
		t.Errorf("after a run of 10 s the wait is %s", wait)
	}
}
