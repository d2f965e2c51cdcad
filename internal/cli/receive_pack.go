package cli

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/input/build/tree"
	"tend.dev/tend/internal/input/manifest"
)

// receivePackCommand receives a source from another machine: ssh HOST tend receive-pack prod/web < source.tar.gz
func (a *app) receivePackCommand() *cobra.Command {
	var ask received
	command := &cobra.Command{
		Use:   "receive-pack [KIND] SCOPE/NAME | --procfile SCOPE",
		Short: "build an object from a tar of its source on standard input", Hidden: true,
		Long: "Take a source as a tar, compressed with gzip or not, from standard input, and build the object from it: over SSH from\n" +
			"another machine. The object has to be there, with build { }. With --procfile the tar has a Procfile, whose processes are\n" +
			"applied in the scope and built.",
		Example: "  tar -cz . | ssh host tend receive-pack prod/web\n  tar -cz . | ssh host tend receive-pack --procfile shop",
		Args:    takes(0, 2),
	}
	toObject := a.onObject(func(ctx context.Context, c *client.Client, ref api.Ref, rest []string) error {
		if len(rest) > 0 {
			return tooMuch(command.Name(), rest)
		}
		return a.receive(ctx, c, ref, ask)
	})
	command.RunE = func(cmd *cobra.Command, args []string) error {
		if err := ask.wait.check(); err != nil {
			return err
		}
		switch {
		case ask.procfile == "":
			if err := takes(1, 2)(cmd, args); err != nil {
				return err
			}
			return toObject(cmd, args)
		case len(args) > 0 || ask.spec != "":
			return errors.New("--procfile names what is built: neither an object nor --spec goes with it")
		}
		return a.connected(func(ctx context.Context, c *client.Client, _ []string) error {
			return a.receiveProcfile(ctx, c, ask)
		})(cmd, nil)
	}
	command.Flags().BoolVar(&ask.force, "force", false, "build although the source is the same")
	command.Flags().StringVar(&ask.spec, "spec", "",
		"the `BUILD` block the sender has, base64 of its JSON; where the stored one differs it is an error")
	command.Flags().StringVar(&ask.procfile, "procfile", "", "apply the tar's Procfile in `SCOPE`")
	ask.wait.flags(command)
	return command
}

// received holds the options of a receive-pack.
type received struct {
	force          bool
	spec, procfile string
	wait           waiting
}

func (a *app) receive(ctx context.Context, c *client.Client, ref api.Ref, ask received) error {
	object, err := c.Object(ctx, ref)
	if err != nil {
		return err
	}
	declared, err := declaredBuild(object, ask.spec)
	if err != nil {
		return err
	}
	packed, err := a.repack(ctx, manifest.Source{Object: ref, Build: declared})
	if err != nil {
		return err
	}
	defer dropTrees([]packedTree{packed})
	if err := a.sendTrees(ctx, c, []packedTree{packed}); err != nil {
		return err
	}
	result, err := c.SetBuild(ctx, client.Target{Kind: ref.Kind, Scope: ref.Scope, Name: ref.Name},
		packed.Digest, ask.force)
	if err != nil {
		return err
	}
	said := fmt.Sprintf("%s is made of build %s", ref, result.Build)
	if err := a.say(result, ref.String(), said); err != nil || ask.wait.none {
		return err
	}
	return a.await(ctx, c, []wait{{Awaited: api.Awaited{Ref: ref, Revision: result.Revision, Generation: result.Generation,
		Built: result.Build != ""}, build: result.Build}}, ask.wait.timeout)
}

// receiveProcfile applies the Procfile in a tar as `tend apply` in its folder would.
func (a *app) receiveProcfile(ctx context.Context, c *client.Client, received received) error {
	folder, remove, err := a.unpackInput(ctx)
	if err != nil {
		return err
	}
	defer remove()
	loaded, err := manifest.Load(manifest.Options{Files: []string{filepath.Join(folder, manifest.Procfile)},
		App: received.procfile})
	if errors.Is(err, fs.ErrNotExist) {
		return errors.New("the tar has no Procfile\n  tar -cz . | ssh HOST tend receive-pack --procfile SCOPE")
	}
	if err != nil {
		return err
	}
	trees, err := a.packTrees(ctx, loaded, true)
	if err != nil {
		return err
	}
	defer dropTrees(trees)
	if err := a.sendTrees(ctx, c, trees); err != nil {
		return err
	}
	ask := applying{request: api.ApplyRequest{Objects: loaded.Objects, Force: received.force}, wait: received.wait}
	result, err := applyRetrying(ctx, c, ask.request)
	if err != nil {
		return located(err, loaded)
	}
	return a.applied(ctx, c, ask, nil, result)
}

// repack unpacks the tar on standard input and packs its content again, so that the digest depends only on the content:
// not on who packed it, when, or with which compression.
func (a *app) repack(ctx context.Context, source manifest.Source) (packedTree, error) {
	limit, err := maxTree()
	if err != nil {
		return packedTree{}, err
	}
	folder, remove, err := a.unpackInput(ctx)
	if err != nil {
		return packedTree{}, err
	}
	defer remove()
	source.Folder = folder
	packed, err := packTree(ctx, source, limit, true)
	if err == nil && packed.Files == 0 {
		dropTrees([]packedTree{packed})
		return packedTree{}, errors.New("no file came on standard input\n  tar -cz . | ssh HOST tend receive-pack SCOPE/NAME")
	}
	return packed, err
}

// unpackInput unpacks the tar on standard input into a folder. The caller removes the folder with remove.
func (a *app) unpackInput(ctx context.Context) (folder string, remove func(), err error) {
	limit, err := maxTree()
	if err != nil {
		return "", nil, err
	}
	outer, err := os.MkdirTemp("", "tend-received-*")
	if err != nil {
		return "", nil, err
	}
	remove = func() { _ = os.RemoveAll(outer) }
	folder = filepath.Join(outer, "source")
	if err = os.Mkdir(folder, 0o700); err == nil {
		var from io.Reader
		// A tar holds headers besides the files.
		if from, err = tree.Inflate(a.in, limit+limit/4+(1<<20)); err == nil {
			err = tree.Unpack(ctx, from, folder, tree.Limits{Bytes: limit})
		}
	}
	if err != nil {
		remove()
		return "", nil,
			fmt.Errorf("%w\n  what comes on standard input is to be a whole tar of the source: tar -cz . | ssh HOST tend receive-pack …", err)
	}
	return folder, remove, nil
}

// declaredBuild returns how the stored object is built; it has to be what the sender thinks.
func declaredBuild(object api.Object, sent string) (api.Build, error) {
	spec, err := api.DecodeWorkload(object.Kind, object.Spec)
	if err != nil {
		return api.Build{}, err
	}
	if spec.Build == nil {
		return api.Build{}, fmt.Errorf("%s is not built from source\n  apply a manifest with build { } first", object.Ref())
	}
	if sent == "" {
		return *spec.Build, nil
	}
	raw, err := base64.StdEncoding.DecodeString(sent)
	if err != nil {
		return api.Build{}, fmt.Errorf("--spec is not base64: %w", err)
	}
	var theirs api.Build
	if err := json.Unmarshal(raw, &theirs); err != nil {
		return api.Build{}, fmt.Errorf("--spec is not a build block: %w", err)
	}
	stamp := "sha256:0" // any tree: only to compare how the two are built
	if api.NewImageBuild(stamp, theirs).ID != api.NewImageBuild(stamp, *spec.Build).ID {
		return api.Build{},
			fmt.Errorf("%s is built another way than the sender says\n  apply the manifest the source belongs to first",
				object.Ref())
	}
	return *spec.Build, nil
}
