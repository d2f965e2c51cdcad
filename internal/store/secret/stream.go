package secret

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"filippo.io/age"
)

// Recipients are the keys that can open a file encrypted for them. The zero value has no keys.
type Recipients struct{ list []age.Recipient }

// Identities open what was sealed for one of them. The zero value opens nothing.
type Identities struct{ list []age.Identity }

// ParseRecipients reads recipients, one a line (age1…); empty lines and those that begin with # are skipped. It returns
// ErrRecipient.
func ParseRecipients(text string) (Recipients, error) {
	list, err := age.ParseRecipients(strings.NewReader(text))
	if err != nil {
		return Recipients{}, fmt.Errorf("%w: %s", ErrRecipient, recipientFault(text))
	}
	return Recipients{list}, nil
}

// recipientFault returns which line of a text is not a recipient, and why. It never repeats a secret key.
func recipientFault(text string) string {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		_, err := age.ParseRecipients(strings.NewReader(line))
		switch {
		case line == "" || line[0] == '#' || err == nil:
		case strings.HasPrefix(strings.ToUpper(line), "AGE-SECRET-KEY-"):
			return "a secret key opens backups: give the public key that belongs to it (age-keygen -y FILE prints it)"
		default:
			return fmt.Sprintf("%.80q is not an age recipient: want a whole age1…, as age-keygen prints it", line)
		}
	}
	return "want age1…, as age-keygen prints it"
}

// And returns both.
func (r Recipients) And(other Recipients) Recipients {
	return Recipients{append(append([]age.Recipient{}, r.list...), other.list...)}
}

// Empty reports whether there are no recipients.
func (r Recipients) Empty() bool { return len(r.list) == 0 }

// passphraseWork is the binary logarithm of the work for each try of a passphrase: about a second.
var passphraseWork = 18

// PassphraseRecipient returns a recipient for everyone who knows the passphrase. It returns ErrRecipient if the
// passphrase is empty.
func PassphraseRecipient(passphrase string) (Recipients, error) {
	recipient, err := age.NewScryptRecipient(passphrase)
	if err != nil {
		return Recipients{}, fmt.Errorf("%w: %w", ErrRecipient, err)
	}
	recipient.SetWorkFactor(passphraseWork)
	return Recipients{[]age.Recipient{recipient}}, nil
}

// PassphraseIdentity returns the identity that decrypts a stream sealed with a passphrase. It returns ErrRecipient if
// the passphrase is empty.
func PassphraseIdentity(passphrase string) (Identities, error) {
	identity, err := age.NewScryptIdentity(passphrase)
	if err != nil {
		return Identities{}, fmt.Errorf("%w: %w", ErrRecipient, err)
	}
	return Identities{[]age.Identity{identity}}, nil
}

// ParseIdentities parses identities, one a line (AGE-SECRET-KEY-1…), as age-keygen writes them. It returns ErrKeyFile.
func ParseIdentities(text string) (Identities, error) {
	list, err := age.ParseIdentities(strings.NewReader(text))
	if err != nil {
		// the library's error may quote the key
		return Identities{}, fmt.Errorf("%w: it must hold age identities, as age-keygen writes them", ErrKeyFile)
	}
	return Identities{list}, nil
}

// Seal returns a writer that encrypts for all recipients. What is written is complete only after Close. Its format is
// that of the age command.
func Seal(w io.Writer, to Recipients) (io.WriteCloser, error) {
	sealed, err := age.Encrypt(w, to.list...)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRecipient, err)
	}
	return sealed, nil
}

// Unseal returns a reader that decrypts a stream of Seal. It returns ErrNoIdentity, or ErrDecrypt if the beginning was
// changed; its reads return an error at the place where the stream was changed or cut.
func Unseal(r io.Reader, with Identities) (io.Reader, error) {
	plain, err := age.Decrypt(r, with.list...)
	var none *age.NoIdentityMatchError
	switch {
	case errors.As(err, &none):
		return nil, ErrNoIdentity
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrDecrypt, err)
	}
	return plain, nil
}

// IsSealed reports whether a stream that begins with these bytes is encrypted, and whether with a passphrase.
func IsSealed(head []byte) (sealed, passphrase bool) {
	first, rest, _ := strings.Cut(string(head), "\n")
	return first == "age-encryption.org/v1", strings.HasPrefix(rest, "-> scrypt ")
}
