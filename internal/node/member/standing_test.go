package member

import (
	"context"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/internal/node/nodeapi/authority"
)

// joinedEarlier returns the root of a machine whose certificate has ended since it joined, and its identity.
func joinedEarlier(t *testing.T, s *server) (string, *identity) {
	t.Helper()
	s.behind.Store(int64(authority.NodeLife + time.Hour))
	defer s.behind.Store(0)
	return joined(t, s)
}

// TestAnEndedCertificate: no server accepts it, so without a token the agent says what to do. A server that accepts the
// certificate shows that the machine's clock is ahead.
func TestAnEndedCertificate(t *testing.T) {
	s := newServer(t)
	root, _ := joinedEarlier(t, s)
	const next = "tend nodes add --node n1 --replace"
	if _, err := identify(t.Context(), options(root, "", "")); err == nil || !strings.Contains(err.Error(), next) {
		t.Errorf("without a token: %v", err)
	}
	root, first := joined(t, s)
	o := options(root, "", "")
	o.Now = func() time.Time { return time.Now().Add(authority.NodeLife + time.Hour) }
	for _, token := range []string{"", s.token} {
		o.Token = token
		if i, err := identify(t.Context(), o); err != nil || !same(i.membership(), first.membership()) {
			t.Errorf("a clock that is ahead, token %q: %v", token, err)
		}
	}
	first.now = o.Now
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := first.renewDue(ctx, client(t, first)); err == nil || !strings.Contains(err.Error(), next) {
		t.Errorf("a renewal too late: %v", err)
	}
}
