package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"tend.dev/tend/internal/server"
)

// TestRefusedAddressesAreAudited: a call with a valid token that another server's page may have sent is recorded with
// its holder; without one it is counted.
func TestRefusedAddressesAreAudited(t *testing.T) {
	for name, tc := range map[string]struct {
		header, value, method string
		token                 bool
		want                  string
	}{
		"a foreign origin": {"Origin", "https://evil.example", "POST", true, "POST /v1/config 403 Forbidden"},
		"a foreign host":   {"Host", "evil.example", "POST", true, "POST /v1/config 421 Misdirected Request"},
		"a read":           {"Origin", "https://evil.example", "GET", true, ""},
		"no token":         {"Origin", "https://evil.example", "POST", false, "counted"},
		"no token, a host": {"Host", "evil.example", "POST", false, "counted"},
	} {
		t.Run(name, func(t *testing.T) {
			audit := &fakeAuditor{}
			w := newWorld(t, func(o *server.Options) { o.Auditor = audit })
			request, err := http.NewRequestWithContext(t.Context(), tc.method, w.http+"/v1/config?scope=prod", strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			if request.Header.Set(tc.header, tc.value); tc.header == "Host" {
				request.Host = tc.value
			}
			if tc.token {
				request.Header.Set("Authorization", "Bearer "+token)
			}
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			response.Body.Close()
			audit.mu.Lock()
			defer audit.mu.Unlock()
			got := ""
			for _, c := range audit.calls {
				got += fmt.Sprintf("%s %s %d %s", c.Method, c.Path, c.Status, c.Problem)
				if c.Actor == "" || c.Scope != "prod" {
					t.Errorf("the call is %+v", c)
				}
			}
			if len(audit.foreign) > 0 {
				got += "counted"
			}
			if got != tc.want {
				t.Errorf("audited is %q, want %q", got, tc.want)
			}
		})
	}
}
