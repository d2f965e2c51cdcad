package api_test

import (
	"strings"
	"testing"

	"tend.dev/tend/api"
)

func TestServiceNames(t *testing.T) {
	for scope, want := range map[string]string{
		"prod": "web.prod web.prod.tend web.prod.voodu", "com": "web.com.tend web.com.voodu",
		"io":   "web.io.tend web.io.voodu",
		"arpa": "web.arpa.tend web.arpa.voodu", "t": "web.t web.t.tend web.t.voodu", "t1": "web.t1 web.t1.tend web.t1.voodu",
		"dev": "web.dev web.dev.tend web.dev.voodu", "db": "web.db web.db.tend web.db.voodu",
		"de":    "web.de.tend web.de.voodu",
		"local": "web.local.tend web.local.voodu", "internal": "web.internal.tend web.internal.voodu",
		"localdomain": "web.localdomain.tend web.localdomain.voodu", "app": "web.app web.app.tend web.app.voodu",
		"0": "web.0.tend web.0.voodu", "12": "web.12.tend web.12.voodu",
		"0a1b2c3d": "web.0a1b2c3d web.0a1b2c3d.tend web.0a1b2c3d.voodu", // a commit, as of a review app
		"qa":       "web.qa.tend web.qa.voodu", "zw": "web.zw.tend web.zw.voodu", "ac": "web.ac.tend web.ac.voodu",
	} {
		if got := strings.Join(api.ServiceNames("Web", scope), " "); got != want {
			t.Errorf("%s: %s, want %s", scope, got, want)
		}
	}
}
