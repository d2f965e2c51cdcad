package member

import (
	"strings"
	"testing"
)

// TestARootIsOfOneNode: a machine doesn't work under another name than it joined with.
func TestARootIsOfOneNode(t *testing.T) {
	root, i := joined(t, newServer(t))
	o := options(root, "", "")
	o.Node = "n2"
	if err := run(t.Context(), o, i, nil, false); err == nil || !strings.Contains(err.Error(), "n1") ||
		!strings.Contains(err.Error(), "--root") {
		t.Errorf("%v", err)
	}
}
