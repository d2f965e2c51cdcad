package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"tend.dev/tend/internal/store/secret"
)

// sealFlags say for whom a backup is encrypted.
type sealFlags struct {
	to          []string
	files       []string
	passphrase  string
	unencrypted bool
}

func (f *sealFlags) add(command *cobra.Command) {
	flags := command.Flags()
	flags.StringSliceVar(&f.to, "recipient", nil, "age `RECIPIENT` (age1…) that can open it; may be repeated")
	flags.StringSliceVar(&f.files, "recipients-file", nil, "`FILE` of age recipients, one a line")
	flags.StringVar(&f.passphrase, "passphrase-file", "", "`FILE` whose first line is the passphrase that opens it")
	flags.BoolVar(&f.unencrypted, "unencrypted", false,
		"don't encrypt: whoever has the file has the cluster's keys and secrets")
}

// recipients returns who can open the backup; nobody in particular with --unencrypted.
func (f *sealFlags) recipients(ctx context.Context, a *app) (out secret.Recipients, err error) {
	named := len(f.to) + len(f.files)
	switch {
	case f.unencrypted && (named > 0 || f.passphrase != ""), f.passphrase != "" && named > 0:
		return out, errors.New("--unencrypted, --passphrase-file and recipients exclude each other: choose one")
	case f.unencrypted:
		return out, nil
	case f.passphrase != "":
		text, err := a.passphraseIn(f.passphrase)
		if err != nil {
			return out, err
		}
		return secret.PassphraseRecipient(text)
	case named > 0:
		return readRecipients(f.to, f.files)
	}
	text, err := a.askTwice(ctx)
	if err != nil {
		return out, err
	}
	return secret.PassphraseRecipient(text)
}

// readRecipients returns the recipients given by themselves and those in files.
func readRecipients(given, files []string) (out secret.Recipients, err error) {
	if len(given) > 0 {
		if out, err = secret.ParseRecipients(strings.Join(given, "\n")); err != nil {
			return out, err
		}
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			return out, err
		}
		more, err := secret.ParseRecipients(string(text))
		if err != nil {
			return out, fmt.Errorf("%s: %w", path, err)
		}
		out = out.And(more)
	}
	return out, nil
}

// askTwice asks for a new passphrase.
func (a *app) askTwice(ctx context.Context) (string, error) {
	keyboard, ok := a.in.(*os.File)
	if !ok || !terminal(keyboard) {
		return "", errors.New("say who can open the backup: --recipient age1…, --recipients-file FILE or --passphrase-file FILE (it holds keys; --unencrypted leaves it open)")
	}
	first, err := a.secret(ctx, keyboard, "the passphrase")
	if err != nil {
		return "", err
	}
	again, err := a.secret(ctx, keyboard, "the passphrase again")
	if err == nil && first != again {
		err = errors.New("the two passphrases differ")
	}
	return first, err
}

// openFlags say what opens a backup.
type openFlags struct {
	identities []string
	passphrase string
}

func (f *openFlags) add(command *cobra.Command) {
	command.Flags().StringSliceVarP(&f.identities, "identity", "i", nil, "`FILE` of age identities that open it")
	command.Flags().StringVar(&f.passphrase, "passphrase-file", "",
		"`FILE` whose first line is the passphrase that opens it")
}

// open returns a backup's content, decrypted; path - is standard input.
func (f *openFlags) open(ctx context.Context, a *app, path string) (io.Reader, func(), error) {
	in, done := a.in, func() {}
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return nil, done, err
		}
		in, done = file, func() { _ = file.Close() }
		if about, err := file.Stat(); err == nil && about.IsDir() {
			return nil, done, &fs.PathError{Op: "open", Path: path, Err: errors.New("a folder: name one of the backups in it")}
		}
	}
	buffered := bufio.NewReaderSize(in, 64<<10)
	head, _ := buffered.Peek(64)
	sealed, byPassphrase := secret.IsSealed(head)
	if !sealed {
		return buffered, done, nil
	}
	with, err := f.keys(ctx, a, byPassphrase, path != "-")
	if err != nil {
		return nil, done, err
	}
	plain, err := secret.Unseal(buffered, with)
	return plain, done, err
}

// aboutFile names the file that an error is about, unless the error does.
func aboutFile(path string, err error) error {
	var failed *fs.PathError
	if errors.As(err, &failed) && failed.Path == path {
		return err
	}
	return fmt.Errorf("%s: %w", path, err)
}

// keys returns what opens a backup; it asks for a passphrase if that may be asked for.
func (f *openFlags) keys(ctx context.Context, a *app, byPassphrase, mayAsk bool) (secret.Identities, error) {
	if f.passphrase != "" {
		text, err := a.passphraseIn(f.passphrase)
		if err != nil {
			return secret.Identities{}, err
		}
		return secret.PassphraseIdentity(text)
	}
	if len(f.identities) > 0 {
		a.warnShared(f.identities...)
		var all bytes.Buffer
		for _, path := range f.identities {
			text, err := os.ReadFile(path)
			if err != nil {
				return secret.Identities{}, err
			}
			all.Write(append(text, '\n'))
		}
		return secret.ParseIdentities(all.String())
	}
	keyboard, ok := a.in.(*os.File)
	switch {
	case !byPassphrase:
		return secret.Identities{},
			errors.New("it is encrypted for age recipients: add --identity FILE with the key of one of them")
	case !mayAsk || !ok || !terminal(keyboard):
		return secret.Identities{}, errors.New("it is encrypted with a passphrase: add --passphrase-file FILE")
	}
	text, err := a.secret(ctx, keyboard, "the passphrase")
	if err != nil {
		return secret.Identities{}, err
	}
	return secret.PassphraseIdentity(text)
}

// passphraseIn reads a passphrase: the first line of a file.
func (a *app) passphraseIn(path string) (string, error) {
	a.warnShared(path)
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	line, _, _ := strings.Cut(string(text), "\n")
	if line = strings.TrimRight(line, "\r"); line == "" {
		return "", fmt.Errorf("%s: its first line is empty: want a passphrase", path)
	}
	return line, nil
}
