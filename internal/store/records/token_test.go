package records_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"tend.dev/tend/internal/store/records"
)

func reversed(text []byte) ([]byte, error) {
	out := slices.Clone(text)
	slices.Reverse(out)
	return out, nil
}

func TestTokensAreSealedAndOpened(t *testing.T) {
	sealed := records.SealedToken("abc", []byte("terces"))
	if strings.Contains(sealed, "secret") || records.TokenMAC(sealed) != "abc" {
		t.Errorf("sealed as %s", sealed)
	}
	if plain, err := records.OpenToken(sealed, reversed); plain != "secret" || err != nil {
		t.Errorf("%q, %v", plain, err)
	}
	for _, wrong := range []string{"", "hunter2", "sealed:", "sealed:hunter2", "sealed:abc:hunter2!"} {
		if _, err := records.OpenToken(wrong, reversed); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v", wrong, err)
		}
	}
	broken := errors.New("another key")
	if _, err := records.OpenToken(sealed, func([]byte) ([]byte, error) { return nil, broken }); !errors.Is(err, broken) {
		t.Error(err)
	}
}
