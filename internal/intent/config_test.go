package intent

import (
	"strings"
	"testing"
)

// TestConfigRefusesWhatNoVariableHolds: the value never shows in the refusal.
func TestConfigRefusesWhatNoVariableHolds(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.Seal = func(plain []byte) ([]byte, error) { return plain, nil } })
	before := w.revision()
	_, err := w.service.SetConfig(t.Context(), Bucket{Scope: "prod"}, map[string]string{"TOKEN": "hunter2\x00more"}, nil, "")
	refused := wantReason(t, err, Invalid)
	if !strings.Contains(refused.Detail, "TOKEN") || !strings.Contains(refused.Detail, "NUL") {
		t.Errorf("%q names neither key nor cause", refused.Detail)
	}
	if strings.Contains(err.Error()+refused.Next, "hunter2") {
		t.Errorf("%q tells the value", err)
	}
	if w.revision() != before {
		t.Error("something was stored")
	}
}
