//go:build integration

package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"
)

// TestDevTakesItsNetworkAlong: the network that `tend dev` named after its root goes with its end, unless containers of it
// are left.
func TestDevTakesItsNetworkAlong(t *testing.T) {
	m := newMachine(t)
	sum := sha256.Sum256([]byte(m.root))
	m.network = "tend-dev-" + hex.EncodeToString(sum[:4])
	dev := func() {
		m.launch("dev", "--network", "", "--ingress-http", "off", "--ingress-https", "off")
		m.until("dev answers", func() bool {
			readiness, err := m.client.Readiness(t.Context())
			return err == nil && readiness.Ready
		})
	}
	there := func() bool { return m.engine("network", "ls", "-q", "--filter", "name="+m.network).must() != "" }
	dev()
	m.deploy(m.manifest("app"))
	m.terminate()
	if !there() || len(m.boxes("tend.scope="+m.scope)) != 1 {
		t.Fatal("what runs did not go on, or without its network")
	}
	dev()
	m.delete("app")
	m.gone("app")
	m.terminate()
	if there() {
		t.Errorf("the network %s is left behind", m.network)
	}
}
