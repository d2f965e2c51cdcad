package server_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/server"
	"tend.dev/tend/internal/store"
)

// TestTokens: made, used, listed, revoked; the secret is in one answer alone, and not in the store.
func TestTokens(t *testing.T) {
	authority, url := "f00d", "https://10.0.0.1:8685"
	w := newWorld(t, func(o *server.Options) {
		o.Remote = func() (string, string) { return url, authority }
		o.Keys = func() []api.Key {
			return []api.Key{{Name: api.KeySecrets, Fingerprint: "abad"}, {Name: api.KeyNodes, Fingerprint: authority}}
		}
	})
	made, err := w.client.AddToken(t.Context(),
		api.AccessTokenRequest{Name: "alice", Role: api.Viewer, Scopes: []string{"shop", "prod", "shop"}, TTL: "30d"})
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(made.Token, ".")
	if len(parts) != 4 || parts[1] != "alice" || parts[3] != "f00d" || made.Server != "https://10.0.0.1:8685" ||
		strings.Join(made.Scopes, " ") != "prod shop" {
		t.Errorf("made %+v", made)
	}
	if left := time.Until(made.ExpiresAt); left < 29*24*time.Hour || left > 30*24*time.Hour || made.MadeBy == "" {
		t.Errorf("it is valid for %s, made by %q", left, made.MadeBy)
	}
	if response, body := w.ask(made.Token, "GET", "/v1/pods", ""); response.StatusCode != http.StatusOK {
		t.Errorf("used: %s", body)
	}
	listed, err := w.client.Tokens(t.Context())
	text, _ := json.Marshal(listed)
	if err != nil || len(listed.Items) != 1 || listed.Items[0].ID != made.ID || strings.Contains(string(text), parts[2]) ||
		strings.Contains(string(text), "hash") {
		t.Errorf("listed %s, %v", text, err)
	}
	if listed.Items[0].Authority != "f00d" || listed.Items[0].FormerAuthority {
		t.Errorf("listed %+v", listed.Items[0])
	}
	authority, url = "beef", "" // a server without a listener for people gives the same answer
	if listed, err = w.client.Tokens(t.Context()); err != nil || !listed.Items[0].FormerAuthority {
		t.Errorf("after the rotation of its authority: %+v, %v", listed, err)
	}
	page, err := w.store.List(t.Context(), "", store.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range page.Entries {
		if strings.Contains(string(entry.Value), parts[2]) {
			t.Errorf("%s has the secret", entry.Key)
		}
	}
	if _, err := w.client.AddToken(t.Context(), api.AccessTokenRequest{Name: "alice", Role: api.Admin}); err == nil ||
		!strings.Contains(err.Error(), "tend tokens revoke alice") {
		t.Errorf("a second one of the name: %v", err)
	}
	if ended, err := w.client.RevokeToken(t.Context(), "alice"); err != nil || ended.ID != made.ID {
		t.Errorf("revoked %+v, %v", ended, err)
	}
	if response, body := w.ask(made.Token, "GET", "/v1/pods", ""); wantProblem(t, response, body,
		401).Detail != "the token is of another cluster, or was revoked" {
		t.Errorf("afterwards: %s", body)
	}
	if _, err := w.client.RevokeToken(t.Context(), "alice"); err == nil {
		t.Error("it was revoked twice")
	}
	again, err := w.client.AddToken(t.Context(), api.AccessTokenRequest{Name: "alice", Role: api.Viewer})
	if response, _ := w.ask(made.Token, "GET", "/v1/pods", ""); err != nil || again.ID == made.ID ||
		response.StatusCode != 401 {
		t.Errorf("the old token counts again with the new one: %s, %v", response.Status, err)
	}
}

// TestTokensThatAreNone: wrong requests, and texts that look like a token.
func TestTokensThatAreNone(t *testing.T) {
	w := newWorld(t)
	good := w.person("alice", api.Admin, time.Hour)
	for _, body := range []string{
		`{"name":"a.b","role":"viewer"}`, `{"name":"Alice","role":"viewer"}`, `{"name":"","role":"viewer"}`,
		`{"name":"x","role":"root"}`, `{"name":"x"}`,
		`{"name":"x","role":"admin","scopes":["prod"]}`, `{"name":"x","role":"viewer","scopes":["a/b"]}`,
		`{"name":"x","role":"viewer","scopes":["_"]}`,
		`{"name":"x","role":"viewer","ttl":"0d"}`, `{"name":"x","role":"viewer","ttl":"10y"}`,
		`{"name":"x","role":"viewer","ttl":"367d"}`, `{"name":"x","role":"viewer","ttl":"-1h"}`,
	} {
		if response, text := w.raw("POST", "/v1/tokens", "application/json", body); response.StatusCode < 400 ||
			response.StatusCode >= 500 {
			t.Errorf("%s: %s: %s", body, response.Status, text)
		}
	}
	for _, text := range []string{
		"tendaccess1.alice", "tendaccess1.alice.", "tendaccess1..secret-of-alice", "tendaccess2.alice.secret-of-alice", good +
			".a.b", good + "x", "alice", strings.ToUpper(good),
		"tendaccess1.../tokens/join/x.secret-of-alice",
	} {
		if response, body := w.ask(text, "GET", "/v1/pods", ""); response.StatusCode != 401 {
			t.Errorf("%s: %s", text, body)
		}
	}
	if response, body := w.ask(good+".pin", "GET", "/v1/tokens", ""); response.StatusCode != http.StatusOK {
		t.Errorf("with the authority that it names: %s", body)
	}
}
