package join

import (
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// The beginnings of tokens: of which form they are, and what joins with them. A server gets every secret of the cluster, so the
// token of a node is none of a server.
const (
	forNodes   = "tend1"
	forServers = "tendserver1"
)

// Errors about tokens.
var (
	ErrMalformed = errors.New("that is not a token of tend nodes add")
	ErrExpired   = errors.New("the token has expired: make another with tend nodes add")
	ErrForeign   = errors.New("the token is of another cluster")
	ErrRole      = errors.New("a server joins with a token of tend nodes add --server, an agent with one of tend nodes add")
)

// newToken returns a token for what joins that ends at a time: its form, the authority's fingerprint, the end in Unix seconds, random
// text, and the hash of all that.
func newToken(form, fingerprint string, ends time.Time, mac func([]byte) string) string {
	head := strings.Join([]string{form, fingerprint, strconv.FormatInt(ends.Unix(), 10), rand.Text()}, ".")
	return head + "." + mac(signed(head))
}

func signed(head string) []byte { return []byte("join\x00" + head) }

// checkToken returns the error of a token that isn't valid now.
func checkToken(form, token string, now time.Time, mac func([]byte) string) error {
	parts := strings.Split(token, ".")
	switch {
	case len(parts) != 5 || parts[0] != forNodes && parts[0] != forServers:
		return ErrMalformed
	case parts[0] != form:
		return ErrRole
	}
	head := strings.Join(parts[:4], ".")
	if subtle.ConstantTimeCompare([]byte(parts[4]), []byte(mac(signed(head)))) != 1 {
		return ErrForeign
	}
	ends, err := strconv.ParseInt(parts[2], 10, 64)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if now.Unix() >= ends {
		return ErrExpired
	}
	return nil
}

// pinned returns the fingerprint of the authority that a token names.
func pinned(token string) (string, error) {
	parts := strings.Split(token, ".")
	if len(parts) != 5 || parts[0] != forNodes && parts[0] != forServers {
		return "", ErrMalformed
	}
	return parts[1], nil
}
