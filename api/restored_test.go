package api

import (
	"testing"
	"time"
)

// TestALabThatIsAskedForAnew: whether its manifest was changed since a restore is no matter of the clock.
func TestALabThatIsAskedForAnew(t *testing.T) {
	at := time.Date(1999, 12, 31, 3, 0, 0, 1, time.UTC)
	lab := Object{Kind: KindLab, Metadata: Metadata{Generation: 3, UpdatedAt: at.Add(20 * time.Hour)}}
	if lab.Anew() || !lab.RestoredAt().IsZero() {
		t.Error("nothing was restored")
	}
	lab.Metadata.Stamps = map[string]string{StampRestored: lab.RestoredLab(at)}
	if lab.Anew() || !lab.RestoredAt().Equal(at) {
		t.Errorf("as it was restored: %t, %s", lab.Anew(), lab.RestoredAt())
	}
	lab.Metadata.Generation++
	if !lab.Anew() {
		t.Error("changed since")
	}
	lab.Metadata.Stamps[StampRestored] = at.Format(time.RFC3339)
	if lab.Anew() || lab.RestoredAt().IsZero() {
		t.Error("a stamp without a generation is a cron job's")
	}
}
