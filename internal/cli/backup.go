package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/google/renameio/v2"
	"github.com/spf13/cobra"

	"tend.dev/tend/client"
	"tend.dev/tend/internal/server/backup"
	"tend.dev/tend/internal/store/secret"
)

func (a *app) backupCommand() *cobra.Command {
	var to sealFlags
	command := &cobra.Command{
		Use: "backup [FILE|-]", Short: "write a backup of the cluster to an encrypted file", Args: takes(0, 1),
		Long: "Write a backup of the running cluster to one encrypted file, or to standard output: the store as it is at one revision, the\n" +
			"files that it refers to, and the keys. Data in volumes, images and plugins' files are not inside. Without a flag it asks for\n" +
			"a passphrase. The file is in age's format. tend restore makes a server from it.",
		Example: "  tend backup tend.tar.zst.age\n  tend backup --recipient age1… -  | ssh store 'cat > tend.age'\n  tend backup verify tend.tar.zst.age",
		RunE: a.connected(func(ctx context.Context, c *client.Client, args []string) error {
			recipients, err := to.recipients(ctx, a)
			if err != nil {
				return err
			}
			path := ""
			if len(args) == 1 {
				path = args[0]
			}
			return a.backUp(ctx, c, path, recipients)
		}),
	}
	to.add(command)
	command.AddCommand(a.verifyCommand(), a.backupStatusCommand())
	return command
}

// backUp writes a backup to a file, or to standard output. No recipients mean that it isn't encrypted.
func (a *app) backUp(ctx context.Context, c *client.Client, path string, to secret.Recipients) error {
	if path == "-" {
		if terminal(a.out) {
			return errors.New("a backup is not text: give a FILE, or redirect standard output")
		}
		_, err := receive(ctx, c, a.out, to)
		return err
	}
	if path == "" {
		path = "tend-" + time.Now().UTC().Format("20060102T150405Z") + backup.SuffixSealed
		if to.Empty() {
			path = "tend-" + time.Now().UTC().Format("20060102T150405Z") + backup.SuffixPlain
		}
	}
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("%s exists already: choose another name", path)
	}
	file, err := renameio.NewPendingFile(path, renameio.WithTempDir(filepath.Dir(path)), renameio.WithPermissions(0o600),
		renameio.IgnoreUmask())
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("write %s: there is no folder %s: make it, or name a file elsewhere", path, filepath.Dir(path))
		}
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer func() { _ = file.Cleanup() }()
	manifest, err := receive(ctx, c, file, to)
	if err != nil {
		return err
	}
	if err := file.CloseAtomicallyReplace(); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	warnMissing(a.err, manifest)
	return a.say(manifest, path, fmt.Sprintf("%s: cluster %s at revision %d, %s, %s of content", path,
		manifest.Cluster, manifest.Revision,
		countOf(len(manifest.Blobs()), "file"), bytesText(manifest.Size())))
}

// receive writes a backup to w, and checks it on the way.
func receive(
	ctx context.Context, c *client.Client, w io.Writer, to secret.Recipients,
) (manifest backup.Manifest, err error) {
	var sealed io.WriteCloser
	if !to.Empty() {
		if sealed, err = secret.Seal(w, to); err != nil {
			return manifest, err
		}
		w = sealed
	}
	checked, check := io.Pipe()
	read := make(chan error, 1)
	go func() {
		var err error
		manifest, err = backup.Read(checked, func(backup.Header, string, int64, io.Reader) error { return nil })
		_ = checked.CloseWithError(err)
		read <- err
	}()
	err = c.Backup(ctx, io.MultiWriter(w, check))
	_ = check.CloseWithError(err)
	if wrong := <-read; err == nil {
		err = wrong
	}
	if err == nil && sealed != nil {
		err = sealed.Close()
	}
	return manifest, err
}

func warnMissing(w io.Writer, manifest backup.Manifest) {
	for _, digest := range manifest.MissingBlobs {
		fmt.Fprintf(w, "warning: the server had lost file %s when the backup was taken: apply its asset again\n",
			printable(digest, ""))
	}
}

func (a *app) backupStatusCommand() *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "show what has become of scheduled backups", Args: takes(0, 0),
		Long:    "Show what has become of the backups that the server takes by itself (tend server --backup-schedule). It ends with 1 if the\nlast one failed, or lacks files.",
		Example: "  tend backup status\n  tend backup status -o json",
		RunE: a.connected(func(ctx context.Context, c *client.Client, _ []string) error {
			status, err := c.BackupStatus(ctx)
			if err != nil {
				return err
			}
			if a.structured() {
				err = listing{value: status}.write(a.streams, a.output)
			} else {
				err = a.printBackups(status)
			}
			if err == nil && status.Failed() {
				return &exitStatus{code: exitError}
			}
			return err
		}),
	}
}
