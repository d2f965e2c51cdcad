package cli

import (
	"encoding/json"
	"testing"
	"time"

	"tend.dev/tend/api"
)

// TestUntilWhenACertificateLasts: only an obtained certificate is shown as renewed, and an expired one as expired.
func TestUntilWhenACertificateLasts(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		spec string
		end  time.Time
		want string
	}{
		"got": {`{"host":"a.org","tls":{}}`, now.Add(48 * time.Hour),
			"until 2026-11-23T12:00:00Z (2d), renewed before"},
		"one's own": {`{"host":"a.org","tls":{"certificate":"C","key":"K"}}`, now.Add(48 * time.Hour),
			"until 2026-11-23T12:00:00Z (2d): set its config keys again before"},
		"one that is over": {`{"host":"a.org","tls":{}}`, now.Add(-48 * time.Hour), "ended 2026-11-19T12:00:00Z (2d ago)"},
	} {
		object := api.Object{Kind: api.KindIngress, Scope: "prod", Name: "a", Spec: json.RawMessage(test.spec)}
		if got := expiry(object, test.end, now); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
