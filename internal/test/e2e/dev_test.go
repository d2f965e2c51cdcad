//go:build integration

package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"testing"

	"tend.dev/tend/client"
)

// TestDevBesideAServer: two instances on one machine, with the same scope and name, and neither touches the other's.
// The network that `tend dev` named after its root is removed when it ends, unless containers of it are left.
func TestDevBesideAServer(t *testing.T) {
	m := newMachine(t).start()
	dev := m.beside()
	sum := sha256.Sum256([]byte(dev.root))
	dev.network = "tend-dev-" + hex.EncodeToString(sum[:4])
	start := func() {
		dev.launch("dev", "--network", "", "--ingress-http", "off", "--ingress-https", "off")
		dev.until("dev answers", func() bool {
			readiness, err := dev.client.Readiness(t.Context())
			return err == nil && readiness.Ready
		})
	}
	there := func() bool { return m.engine("network", "ls", "-q", "--filter", "name="+dev.network).must() != "" }
	start()
	m.deploy(m.manifest("app", replicas(2)))
	mine := m.containers("app")
	dev.deploy(dev.manifest("app", replicas(1), runs("v2")))
	if len(dev.pods("app")) != 1 || len(m.pods("app")) != 2 {
		t.Errorf("they mix up their pods: %v and %v", dev.pods("app"), m.pods("app"))
	}
	dev.terminate()
	if !there() || len(m.running("app")) != 3 {
		t.Fatalf("what dev runs did not go on, or without its network: %v", m.running("app"))
	}
	start()
	if _, err := dev.client.Delete(t.Context(), dev.ref("app")); err != nil {
		t.Fatal(err)
	}
	dev.until("dev's is gone", func() bool {
		_, err := dev.client.Object(t.Context(), dev.ref("app"))
		return client.IsNotFound(err)
	})
	if now := m.containers("app"); !slices.Equal(now, mine) || len(m.running("app")) != 2 {
		t.Errorf("the other instance touched ours: %v -> %v", mine, now)
	}
	dev.terminate()
	if there() {
		t.Errorf("the network %s is left behind", dev.network)
	}
}
