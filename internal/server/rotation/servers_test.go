package rotation_test

import (
	"os"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/peer"
	"tend.dev/tend/internal/server/rotation"
	"tend.dev/tend/internal/store/records"
)

// TestAServerUsesWhatItShows: one whose new certificate could not be written doesn't say that it uses the new
// authority, and tries again, also after it was started again.
func TestAServerUsesWhatItShows(t *testing.T) {
	plain := func(text []byte) ([]byte, error) { return text, nil }
	folder := t.TempDir()
	identity, err := peer.Open(folder, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	key := rotation.Servers{Identity: identity, Encrypt: plain, Decrypt: plain, Now: time.Now}
	r := &records.Rotation{}
	if err := key.Begin(records.Snapshot{}, r, nil); err != nil {
		t.Fatal(err)
	}
	follow := func(phase api.KeyPhase) (string, error) {
		r.Phase = phase
		holds, err := key.Follow(records.Snapshot{}, r)
		return holds.Uses, err
	}
	if uses, err := follow(api.KeySpreads); uses != r.Old || err != nil {
		t.Errorf("it spreads: uses %s, %v", uses, err)
	}
	certificate, _, _ := identity.Files()
	if err := os.Remove(certificate); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(certificate+"/taken", 0o700); err != nil { // a file can't be written there
		t.Fatal(err)
	}
	for range 2 {
		if uses, err := follow(api.KeyMoves); uses == r.New || err == nil {
			t.Errorf("without the certificate: uses the new one: %v, %v", uses == r.New, err)
		}
	}
	if err := os.RemoveAll(certificate); err != nil {
		t.Fatal(err)
	}
	if uses, err := follow(api.KeyMoves); uses != r.New || err != nil {
		t.Errorf("with it: uses the new one: %v, %v", uses == r.New, err)
	}
}
