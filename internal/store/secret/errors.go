package secret

import "errors"

// The errors of this package. Each is wrapped with the path and the next step.
var (
	// ErrKeyMissing: the store holds data encrypted under a key whose file is gone.
	ErrKeyMissing = errors.New("the cluster's key is missing")
	// ErrKeyMismatch: the key file is not the one the store's data was encrypted under.
	ErrKeyMismatch = errors.New("the key is not this cluster's")
	// ErrKeyFile: the key file is malformed, or readable by others.
	ErrKeyFile = errors.New("unusable key file")
	// ErrDecrypt: the data was not encrypted under this key, or was changed since.
	ErrDecrypt = errors.New("can't decrypt")
	// ErrRecipient: a line isn't an age recipient, or a passphrase is empty or given together with recipients.
	ErrRecipient = errors.New("no usable recipient")
	// ErrNoIdentity: no identity, or not this passphrase, decrypts the stream.
	ErrNoIdentity = errors.New("it was encrypted for others, or with another passphrase")
)
