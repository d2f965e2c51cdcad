package membership_test

import (
	"strings"
	"testing"

	"tend.dev/tend/internal/core/membership"
)

// TestVersionsThatGoTogether walks the table of docs/operate/upgrading.md.
func TestVersionsThatGoTogether(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		joins, runs   string
		server, agent bool // it may join
	}{
		{"v1.4.0", "v1.4.0", true, true},
		{"v1.4.9", "v1.4.0", true, true},
		{"v1.4.0", "v1.4.9", true, true},
		{"v1.3.7", "v1.4.0", true, true},
		{"v1.2.7", "v1.4.0", false, false},
		{"v1.5.0", "v1.4.9", true, false},
		{"v1.6.0", "v1.4.0", false, false},
		{"v2.4.0", "v1.4.0", false, false},
		{"v1.4.0", "v2.4.0", false, false},
		{"v2.0.0", "v1.9.0", false, false},
		{"v1.10.0", "v1.9.0", true, false},
		{"v1.4.0-rc1", "v1.4.0", true, true},
		{"v1.5.0-3-g1a2b3c4", "v1.4.0", true, false},
		{"v1.99999999999999999999.0", "v1.4.0", false, false},
		{"dev", "v1.4.0", true, true},
		{"v1.2.0", "dev", true, true},
		{"64e07a7a", "v1.4.0", true, true},
		{"", "v1.4.0", true, true},
	} {
		for _, party := range []struct {
			is    string
			may   bool
			check func(string, []string) *membership.RefusalError
		}{{"server", c.server, membership.CheckServerVersion}, {"agent", c.agent, membership.CheckAgentVersion}} {
			refused := party.check(c.joins, []string{"dev", c.joins, c.runs})
			if (refused == nil) != party.may {
				t.Errorf("%s %s beside %s: %v", party.is, c.joins, c.runs, refused)
			}
			if refused != nil && (!strings.Contains(refused.Why, c.joins) || !strings.Contains(refused.Next, c.runs)) {
				t.Errorf("%s %s beside %s: %v", party.is, c.joins, c.runs, refused)
			}
		}
	}
}
