package secret

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"filippo.io/age"
)

// TestSeal: the age library itself decrypts a sealed stream, and a stream that it encrypted can be unsealed; every
// change is refused.
func TestSeal(t *testing.T) {
	passphraseWork = 10
	one, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	recipients, err := ParseRecipients("# for the vault\n\n" + one.Recipient().String() + "\n")
	if err != nil || recipients.Empty() || recipients.And(Recipients{}).Empty() {
		t.Fatal(err)
	}
	identities, err := ParseIdentities(one.String())
	if err != nil {
		t.Fatal(err)
	}
	byPhrase, err := PassphraseRecipient("open sesame")
	if err != nil {
		t.Fatal(err)
	}
	phrase, err := PassphraseIdentity("open sesame")
	if err != nil {
		t.Fatal(err)
	}
	wrong, err := PassphraseIdentity("open")
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := age.NewScryptIdentity("open sesame")
	if err != nil {
		t.Fatal(err)
	}
	plain := strings.Repeat("key ", 40_000) // three chunks
	for name, tc := range map[string]struct {
		to                 Recipients
		with, not          Identities
		other              age.Identity
		passphrase, sealed bool
	}{
		"recipients": {recipients, identities, phrase, one, false, true},
		"passphrase": {byPhrase, phrase, wrong, foreign, true, true},
	} {
		var out bytes.Buffer
		w, err := Seal(&out, tc.to)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, plain); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		text := out.Bytes()
		opened, err := age.Decrypt(bytes.NewReader(text), tc.other)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(opened); err != nil || string(got) != plain {
			t.Errorf("%s: the library reads something else: %v", name, err)
		}
		if sealed, passphrase := IsSealed(text[:64]); !sealed || passphrase != tc.passphrase {
			t.Errorf("%s: sealed %v, by a passphrase %v", name, sealed, passphrase)
		}
		if err := opens(text, tc.with, plain); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := opens(text, tc.not, plain); !errors.Is(err, ErrNoIdentity) {
			t.Errorf("%s: with another key: %v", name, err)
		}
		for at := 0; at < len(text); at += len(text)/40 + 1 {
			changed := bytes.Clone(text)
			changed[at] ^= 1
			if opens(changed, tc.with, plain) == nil || opens(text[:at], tc.with, plain) == nil {
				t.Errorf("%s: a change at %d of %d is not noticed", name, at, len(text))
			}
		}
	}
	if sealed, _ := IsSealed([]byte("\x28\xb5\x2f\xfd")); sealed {
		t.Error("zstd passes for age")
	}
}

func opens(text []byte, with Identities, want string) error {
	plain, err := Unseal(bytes.NewReader(text), with)
	if err != nil {
		return err
	}
	got, err := io.ReadAll(plain)
	if err == nil && string(got) != want {
		return errors.New("other bytes")
	}
	return err
}

func errorOf(_ Recipients, err error) string { return fmt.Sprint(err) }

func TestRecipientsAndIdentitiesThatAreNone(t *testing.T) {
	for _, text := range []string{"", "hello", "age1xyz", "# me\nage1xyz", "AGE-SECRET-KEY-1QQQQ"} {
		if _, err := ParseRecipients(text); !errors.Is(err, ErrRecipient) {
			t.Errorf("recipient %q: %v", text, err)
		}
		if wants := map[string]string{"hello": `"hello" is not an age recipient`, "# me\nage1xyz": `"age1xyz" is not`,
			"AGE-SECRET-KEY-1QQQQ": "give the public key"}; !strings.Contains(errorOf(ParseRecipients(text)), wants[text]) ||
			strings.Contains(errorOf(ParseRecipients(text)), "QQQQ") {
			t.Errorf("recipient %q: %s", text, errorOf(ParseRecipients(text)))
		}
		if _, err := ParseIdentities(text); !errors.Is(err, ErrKeyFile) || text != "" && strings.Contains(err.Error(), text) {
			t.Errorf("identity %q: %v; the error must not repeat a key", text, err)
		}
	}
	if _, err := PassphraseRecipient(""); !errors.Is(err, ErrRecipient) {
		t.Errorf("no passphrase: %v", err)
	}
}
