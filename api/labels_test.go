package api_test

import (
	"strings"
	"testing"

	"golang.org/x/net/publicsuffix"

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
		"0a1b2c3d":   "web.0a1b2c3d web.0a1b2c3d.tend web.0a1b2c3d.voodu", // a commit, as of a review app
		"v1-command": "web.v1-command.tend web.v1-command.voodu", "v12-pre": "web.v12-pre.tend web.v12-pre.voodu",
		"m-0a1b2c3d": "web.m-0a1b2c3d.tend web.m-0a1b2c3d.voodu", "m-web": "web.m-web web.m-web.tend web.m-web.voodu",
		"v1": "web.v1 web.v1.tend web.v1.voodu", "v1-web": "web.v1-web web.v1-web.tend web.v1-web.voodu",
		"tend0": "web.tend0.tend web.tend0.voodu", // the engine has <container>.<network>
		"qa":    "web.qa.tend web.qa.voodu", "zw": "web.zw.tend web.zw.voodu", "ac": "web.ac.tend web.ac.voodu",
	} {
		if got := strings.Join(api.ServiceNames("Web", scope), " "); got != want {
			t.Errorf("%s: %s, want %s", scope, got, want)
		}
	}
}

// TestScopeLabel: only what ServiceNames may return for a name of the scope is in the scope.
func TestScopeLabel(t *testing.T) {
	for name, tc := range map[string]struct{ reason, scope, want string }{
		"web.prod":         {"the shortest", "prod", "web"},
		"Web.PROD.tend":    {"names have no case", "prod", "web"},
		"my_web.prod":      {"as an alias", "prod", "my_web"},
		"web.prod.voodu":   {"the predecessor's", "prod", "web"},
		"web.bank":         {"another scope's", "prod", ""},
		"web.prod.bank":    {"another scope's, which is in no zone", "prod", ""},
		"web":              {"of no scope: the engine answers for it on every network", "prod", ""},
		"prod":             {"the scope itself", "prod", ""},
		".prod":            {"nothing before it", "prod", ""},
		"a.web.prod":       {"two labels before it", "prod", ""},
		"webprod":          {"no dot", "prod", ""},
		"github.com":       {"a scope that is called like a public domain", "com", ""},
		"github.com.tend":  {"in a zone", "com", "github"},
		"shop-rc.v1-pre":   {"the pod of a command", "v1-pre", ""},
		"prod.tend":        {"of a scope tend", "prod", ""},
		"shop-db.0":        {"the pod of a statefulset", "0", ""},
		"web.prod.tend.":   {"no host name ends in a dot", "prod", ""},
		"web.prod.tend.eu": {"elsewhere", "prod", ""},
	} {
		if got, found := api.ScopeLabel(name, tc.scope); got != tc.want || found != (tc.want != "") {
			t.Errorf("%s: %s: %q, %v", name, tc.reason, got, found)
		}
	}
}

// TestPublicZonesAreThoseOfTheList: all domains of countries, as the public suffix list has them, and none of two
// letters that is not there; each other public zone is a top-level domain, or is of machines nearby.
func TestPublicZonesAreThoseOfTheList(t *testing.T) {
	for first := 'a'; first <= 'z'; first++ {
		for second := 'a'; second <= 'z'; second++ {
			scope := string([]rune{first, second})
			if _, listed := publicsuffix.PublicSuffix("qq--qq." + scope); listed != api.PublicZone(scope) {
				t.Errorf("%s: a top-level domain: %t, a public zone: %t", scope, listed, api.PublicZone(scope))
			}
		}
	}
	for _, scope := range strings.Fields("arpa biz com edu gov info int mil net org") {
		if _, listed := publicsuffix.PublicSuffix("qq--qq." + scope); !listed || !api.PublicZone(scope) {
			t.Errorf("%s: a top-level domain: %t, a public zone: %t", scope, listed, api.PublicZone(scope))
		}
	}
	for _, scope := range strings.Fields("prod app dev shop bank") { // top-level domains that scopes are called like
		if _, listed := publicsuffix.PublicSuffix("qq--qq." + scope); !listed || api.PublicZone(scope) {
			t.Errorf("%s: a top-level domain: %t, a public zone: %t", scope, listed, api.PublicZone(scope))
		}
	}
}
