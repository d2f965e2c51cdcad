package client

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"tend.dev/tend/api"
	"tend.dev/tend/client/execwire"
)

// TestExecOfOtherServers: a server that opens no WebSocket of the protocol causes an error with the next step; a cut
// connection doesn't count as an exit.
func TestExecOfOtherServers(t *testing.T) {
	accept := func(protocol string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{protocol}})
			if err != nil {
				t.Error(err)
				return
			}
			_, _, _ = conn.Read(r.Context())
			_ = conn.CloseNow()
		}
	}
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		status int
		says   string
	}{
		"a server without it": {http.NewServeMux().ServeHTTP, 404, "see that this is a Tend server"},
		"an older server": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusMethodNotAllowed)
		}, 405, "update the server"},
		"another protocol": {accept("v2.exec.tend.dev"), 502, "another protocol"},
		"a proxy": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) },
			200, "Tend server"},
		"a cut": {accept(execwire.Protocol), 0, "cut before the command ended"},
	} {
		web := httptest.NewServer(test.answer)
		c, err := New(Options{Server: web.URL})
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Exec(t.Context(), "p", api.ExecRequest{Command: []string{"true"}}, ExecIO{})
		if err == nil || StatusOf(err) != test.status || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v, want %d %q", name, err, test.status, test.says)
		}
		c.Close()
		web.Close()
	}
}
