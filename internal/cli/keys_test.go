package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
)

// TestARotationThatEndsTokensIsAskedFor: they are named. One that ends none, or goes on already, is not asked for.
func TestARotationThatEndsTokensIsAskedFor(t *testing.T) {
	later := time.Now().Add(time.Hour)
	tokens := []api.AccessTokenInfo{
		{Name: "alice", Authority: "f00d", ExpiresAt: later}, {Name: "bob", ExpiresAt: later}, {Name: "carol", Authority: "f00d"},
		{Name: "dave", Authority: "beef", FormerAuthority: true, ExpiresAt: later},
	}
	const ends = "This ends the tokens of alice, which name the authority that is replaced: each needs a new one."
	for name, tc := range map[string]struct {
		reason, key string
		yes         bool
		running     *api.KeyRotation
		tokens      []api.AccessTokenInfo
		asks        string
	}{
		"ends":    {"alice's names the authority", api.KeyNodes, false, nil, tokens[:1], ends + " Add --yes"},
		"both":    {"of bob's it isn't known", api.KeyNodes, false, nil, tokens, ends + " This may end the tokens of bob: of these it isn't known"},
		"unknown": {"there is bob's alone", api.KeyNodes, false, nil, tokens[1:], "This may end the tokens of bob: of these"},
		"told":    {"--yes was given", api.KeyNodes, true, nil, tokens, ""},
		"none":    {"no token names it", api.KeyNodes, false, nil, tokens[2:], ""},
		"goes on": {"it was asked for before", api.KeyNodes, false, &api.KeyRotation{}, tokens, ""},
		"another": {"tokens don't name it", api.KeySecrets, false, nil, tokens, ""},
	} {
		answers := map[string]any{
			"/v1/keys":   api.Keys{Items: []api.Key{{Name: api.KeyNodes, Rotation: tc.running}}},
			"/v1/tokens": api.ListResult[api.AccessTokenInfo]{Items: tc.tokens},
		}
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_ = json.NewEncoder(w).Encode(answers[r.URL.Path])
		}))
		a := &app{server: server.URL, streams: streams{in: strings.NewReader(""), err: io.Discard}}
		c, err := a.dial()
		if err != nil {
			t.Fatal(err)
		}
		err = a.confirmRotation(t.Context(), c, tc.key, tc.yes)
		if asks := err != nil; asks != (tc.asks != "") || asks && !strings.Contains(err.Error(), tc.asks) {
			t.Errorf("%s: %s: %v", name, tc.reason, err)
		}
		c.Close()
		server.Close()
	}
}

// TestARotationOutlivesItsServer: a rotation has servers started again. The command that follows it waits for the one
// that it asks, says so once, and prints one value for a program.
func TestARotationOutlivesItsServer(t *testing.T) {
	t.Parallel()
	for format, want := range map[string]string{"": "servers is rotated: beef\n", "name": "servers\n",
		"json": `"fingerprint": "beef"`} {
		asked, away := 0, 1
		if format != "" {
			asked, away = 3, 0 // it answers at once
		}
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			switch asked++; asked {
			case 1:
				w.WriteHeader(http.StatusServiceUnavailable)
			case 2:
				panic(http.ErrAbortHandler) // the connection is cut
			case 3:
				w.WriteHeader(http.StatusTooManyRequests)
			default:
				_ = json.NewEncoder(w).Encode(api.Keys{Items: []api.Key{{Name: api.KeyServers, Fingerprint: "beef"}}})
			}
		}))
		var out, said bytes.Buffer
		a := &app{server: server.URL, output: format, streams: streams{out: &out, err: &said}}
		c, err := a.dial()
		if err != nil {
			t.Fatal(err)
		}
		if err := a.followRotation(t.Context(), c, api.KeyServers); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("-o %q: %v, %q, want %q", format, err, out.String(), want)
		}
		if strings.Count(said.String(), "the server is away") != away {
			t.Errorf("-o %q: it says %q", format, said.String())
		}
		c.Close()
		server.Close()
	}
}

// TestARotationThatIsRefusedEnds: waiting would not help.
func TestARotationThatIsRefusedEnds(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
	}))
	defer server.Close()
	a := &app{server: server.URL, streams: streams{err: io.Discard}}
	c, err := a.dial()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := a.followRotation(t.Context(), c, api.KeyServers); client.StatusOf(err) != http.StatusForbidden {
		t.Errorf("%v, want 403", err)
	}
}

// TestATokenOfAFormerAuthorityIsNotValid: it is listed as what it is.
func TestATokenOfAFormerAuthorityIsNotValid(t *testing.T) {
	now := time.Now()
	for want, token := range map[string]api.AccessTokenInfo{
		"names a former authority: make another": {FormerAuthority: true, ExpiresAt: now.Add(90 * 24 * time.Hour)},
		"expired":                                {FormerAuthority: true, ExpiresAt: now.Add(-time.Hour)},
		"valid for 90d":                          {ExpiresAt: now.Add(90 * 24 * time.Hour)},
	} {
		if got := accessListing([]api.AccessTokenInfo{token}, now).rows[0][3]; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestSayToken: a new token is given with a listener that the server has, or with the flag that opens one.
func TestSayToken(t *testing.T) {
	for name, tc := range map[string]struct {
		server, local, want string
	}{
		"other machines": {"https://tend.example:8685", "http://127.0.0.1:8686", "with TEND_SERVER=https://tend.example:8685:\n"},
		"its machine": {"", "http://127.0.0.1:9999",
			"on the server's machine with TEND_SERVER=http://127.0.0.1:9999 (other machines need tend server --listen):\n"},
		"none": {"", "", "this one was started with --http off; start it with --http 127.0.0.1:8686 "},
	} {
		var out, err bytes.Buffer
		(&app{streams: streams{out: &out, err: &err}}).sayToken(api.AccessToken{Token: "secret", Server: tc.server, Local: tc.local})
		if !strings.Contains(err.String(), tc.want) || out.String() != "secret\n" {
			t.Errorf("%s: %q, want %q", name, err.String(), tc.want)
		}
	}
}
