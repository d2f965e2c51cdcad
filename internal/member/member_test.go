package member

import (
	"strings"
	"testing"
)

func TestServerURL(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "10.0.0.1:8688": "https://10.0.0.1:8688", "https://a.example:1": "https://a.example:1", "https://a:1/": "https://a:1",
		"[::1]:8688": "https://[::1]:8688", "http://a:1": "error", "a.example": "error", "https://a:1/path": "error", "https://a b:1": "error",
	} {
		got, err := serverURL(text)
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("%q: %q %v, want %q", text, got, err, want)
		}
	}
}

// TestARootIsOfOneNode: a machine doesn't work under another name than it joined with.
func TestARootIsOfOneNode(t *testing.T) {
	root, i := joined(t, newServer(t))
	o := options(root, "", "")
	o.Node = "n2"
	if err := run(t.Context(), o, i, nil); err == nil || !strings.Contains(err.Error(), "n1") || !strings.Contains(err.Error(), "--root") {
		t.Errorf("%v", err)
	}
}
