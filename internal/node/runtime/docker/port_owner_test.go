package docker

import (
	"strings"
	"testing"

	"tend.dev/tend/internal/core/volumes"
)

// TestHolderOf: a port that a service of a Compose project publishes is had by taking the project over.
func TestHolderOf(t *testing.T) {
	for name, tc := range map[string]struct {
		reason       string
		labels       map[string]string
		holder, next string
	}{
		"compose": {"the project may be taken over", map[string]string{volumes.LabelProject: "shop", volumes.LabelService: "web"},
			"container shop-web-1 (service web of the Compose project shop)", "tend adopt compose; or stop it"},
		"other":  {"it is somebody else's", map[string]string{"a": "b"}, "container shop-web-1", ""},
		"no one": {"a label alone makes no service", map[string]string{volumes.LabelProject: "shop"}, "container shop-web-1", ""},
	} {
		holder, next := holderOf("shop-web-1", tc.labels, "stop it")
		if holder != tc.holder || !strings.Contains(next, tc.next) || tc.next == "" && next != "" {
			t.Errorf("%s: %s: %q, %q", name, tc.reason, holder, next)
		}
	}
}
