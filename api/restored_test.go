package api

import (
	"testing"
	"time"
)

// TestALabThatIsRedeclared: the clock doesn't decide whether its manifest was changed since a restore.
func TestALabThatIsRedeclared(t *testing.T) {
	at := time.Date(1999, 12, 31, 3, 0, 0, 1, time.UTC)
	lab := Object{Kind: KindLab, Metadata: Metadata{Generation: 3, UpdatedAt: at.Add(20 * time.Hour)}}
	if lab.Redeclared() || !lab.RestoredAt().IsZero() {
		t.Error("nothing was restored")
	}
	lab.Metadata.Stamps = map[string]string{StampRestored: lab.RestoredLab(at)}
	if lab.Redeclared() || !lab.RestoredAt().Equal(at) {
		t.Errorf("as it was restored: %t, %s", lab.Redeclared(), lab.RestoredAt())
	}
	lab.Metadata.Generation++
	if !lab.Redeclared() {
		t.Error("changed since")
	}
	lab.Metadata.Stamps[StampRestored] = at.Format(time.RFC3339)
	if lab.Redeclared() || lab.RestoredAt().IsZero() {
		t.Error("a stamp without a generation is a cron job's")
	}
}
