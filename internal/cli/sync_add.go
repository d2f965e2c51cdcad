package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
)

// maxSecretFile bounds a file that a flag names.
const maxSecretFile = 64 << 10

// newSync are the flags of `tend sync add`.
type newSync struct {
	spec     api.SyncSpec
	interval time.Duration
	// password, key, known and signers name files.
	password, key, known, signers string
	wait                          waiting
}

func (a *app) addSyncCommand() *cobra.Command {
	var n newSync
	command := &cobra.Command{
		Use:   "add NAME --git URL | --http URL | --dir PATH",
		Short: "declare a sync, or declare it otherwise", Args: takes(1, 1),
		Long: "Declare a sync, and wait until its first revision is applied or refused. To change one, add it again with all its flags.\n\n" +
			"Exit status: 0 applied, 1 error or refused (the sync is stored, and goes on), 3 timed out.",
		Example: "  tend sync add shop --scope shop --git https://git.example.org/team/shop.git --path deploy/prod --prune\n" +
			"  tend sync add shop --scope shop --git git@git.example.org:team/shop.git --ssh-key ./deploy_key --known-hosts ./known_hosts\n" +
			"  tend sync add shop --scope shop --http https://releases.example.org/shop.yaml --interval 10m",
		RunE: a.connected(func(ctx context.Context, c *client.Client, args []string) error {
			if err := n.wait.check(); err != nil {
				return err
			}
			object, err := n.object(a, args[0])
			if err != nil {
				return err
			}
			result, err := c.Apply(ctx, api.ApplyRequest{Objects: []api.Object{object}})
			if err != nil {
				return err
			}
			if n.wait.none {
				return a.say(result, object.Ref().String(), fmt.Sprintf("%s %s", object.Ref(), result.Objects[0].Action))
			}
			return a.awaitSync(ctx, c, args[0], result.Objects[0].Revision, n.wait.timeout)
		}),
	}
	n.flags(command)
	return command
}

func (n *newSync) flags(command *cobra.Command) {
	f := command.Flags()
	f.StringVar(&n.spec.Git, "git", "", "repository: a `URL`, user@host:path, or a path of the server")
	f.StringVar(&n.spec.HTTP, "http", "", "`URL` of a manifest or of a .tar.gz")
	f.StringVar(&n.spec.Dir, "dir", "", "folder of the server, a `PATH`")
	f.StringVar(&n.spec.Ref, "ref", "",
		"branch, tag or whole commit id, a `REF` (default the repository's default branch)")
	f.StringVar(&n.spec.Path, "path", "", "`FOLDER` of the source that holds the manifests (default all of it)")
	f.DurationVar(&n.interval, "interval", api.DefaultSyncInterval, "time between two polls of the source, 5s to 24h")
	f.BoolVar(&n.spec.Prune, "prune", false, "delete what the sync created and the source has no more")
	f.StringSliceVar(&n.spec.Scopes, "scope", nil,
		"`SCOPE` that the source may change; several with commas, or by repeating it")
	f.BoolVar(&n.spec.Trusted, "trusted", false,
		"allow every scope, and manifests that reach the host or the cluster: host folders, devices, public ports, docker_options; and node, network, registry, sync")
	f.StringVar(&n.spec.Checksum, "checksum", "", "the one content of --http, a `DIGEST` sha256:…")
	f.StringVar(&n.signers, "allowed-signers", "", "`FILE` of ssh's allowed signers: who may sign the commits of --git")
	f.StringVar(&n.spec.Username, "username", "", "login `NAME` of an https or http source")
	f.StringVar(&n.password, "password-file", "", "`FILE` with its password or token, or - for stdin")
	f.StringVar(&n.key, "ssh-key", "", "`FILE` with a private key for --git over ssh")
	f.StringVar(&n.known, "known-hosts", "", "`FILE` with the host keys that are accepted for --git over ssh")
	command.MarkFlagsOneRequired("git", "http", "dir")
	command.MarkFlagsOneRequired("scope", "trusted")
	command.MarkFlagsMutuallyExclusive("git", "http", "dir")
	n.wait.flags(command)
}

// object returns the sync that the flags declare.
func (n *newSync) object(a *app, name string) (api.Object, error) {
	spec := n.spec
	if n.interval != api.DefaultSyncInterval {
		spec.Interval = api.Duration(n.interval.String())
	}
	for _, location := range []*string{&spec.Git, &spec.Dir} {
		relative := location == &spec.Dir && *location != "" || strings.HasPrefix(*location, "./") ||
			strings.HasPrefix(*location, "../")
		if !relative {
			continue
		}
		absolute, err := filepath.Abs(*location)
		if err != nil {
			return api.Object{}, err
		}
		*location = absolute
	}
	a.warnShared(n.password, n.key)
	for _, file := range []struct {
		name string
		text *string
	}{{n.password, &spec.Password}, {n.key, &spec.SSHKey}, {n.known, &spec.KnownHosts},
		{n.signers, &spec.AllowedSigners}} {
		if file.name == "" {
			continue
		}
		text, err := a.readSmall(file.name)
		if err != nil {
			return api.Object{}, err
		}
		*file.text = strings.TrimRight(text, "\r\n")
	}
	raw, err := json.Marshal(spec)
	return api.Object{Kind: api.KindSync, Scope: api.Unscoped, Name: name, Spec: raw}, err
}

// readSmall reads a file that a flag names, or stdin for -.
func (a *app) readSmall(name string) (string, error) {
	from := a.in
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return "", err
		}
		defer file.Close()
		from = file
	}
	text, err := io.ReadAll(io.LimitReader(from, maxSecretFile+1))
	if err == nil && len(text) > maxSecretFile {
		err = fmt.Errorf("%s is larger than %d bytes", name, maxSecretFile)
	}
	if err == nil && !utf8.Valid(text) { // JSON would change the bytes
		err = fmt.Errorf("%s is not UTF-8 text", nameOf(name))
	}
	return string(text), err
}
