package builder

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/input/build/buildlog"
	"tend.dev/tend/internal/input/build/recipe"
	"tend.dev/tend/internal/input/build/tree"
	"tend.dev/tend/internal/node/agent"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/platform/confine"
	"tend.dev/tend/internal/platform/retention"
)

// DefaultTimeout limits a build.
const DefaultTimeout = time.Hour

// Options are the options of a Builder. Runtime, Trees, Secrets, Folder and BuildLogs are required.
type Options struct {
	Runtime runtime.Builder
	// Trees opens the tar of a tree by its digest; ErrNoTree if it is gone.
	Trees func(ctx context.Context, digest string) (io.ReadCloser, error)
	// Secrets returns the values of the secrets that the build of an object names.
	Secrets func(ctx context.Context, owner api.Ref) (map[string]string, error)
	// Folder holds the unpacked trees during their build.
	Folder string
	// BuildLogs takes the output of builds.
	BuildLogs *buildlog.Logs
	// Images and Logs record which built images and logs may be deleted; default: none.
	Images *retention.Ledger
	Logs   *retention.Ledger
	// Registry is prepended to the names of base images in Dockerfiles that are written; see recipe.Decide.
	Registry string
	// Find looks up the registries of base images. Default that of the machine.
	Find confine.Find
	// Timeout bounds a build; default DefaultTimeout. MaxBytes bounds an unpacked tree; default tree.DefaultMaxBytes.
	Timeout  time.Duration
	MaxBytes int64
	// Registerer takes the metrics; nil for none.
	Registerer prometheus.Registerer
	// Logger defaults to slog.Default().
	Logger *slog.Logger
	// Now is the clock; default time.Now.
	Now func() time.Time
}

// Builder implements agent.Builder.
type Builder struct {
	opts    Options
	metrics *metrics
	turns   turns
}

var _ agent.Builder = (*Builder)(nil)

// ErrNoTree means that the source no longer exists.
var ErrNoTree = errors.New("the source is not on this server any more")

// unpacked is the name pattern of folders of trees.
const unpacked = "tree-*"

// New returns a Builder, and removes what interrupted builds left behind.
func New(o Options) (*Builder, error) {
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Find == nil {
		o.Find = net.DefaultResolver.LookupNetIP
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if err := os.MkdirAll(o.Folder, 0o700); err != nil {
		return nil, fmt.Errorf("open the folder of builds: %w", err)
	}
	left, err := filepath.Glob(filepath.Join(o.Folder, unpacked))
	if err != nil {
		return nil, err
	}
	for _, folder := range left {
		if err := os.RemoveAll(folder); err != nil {
			o.Logger.Warn("source that a build left behind stays", "folder", folder, "error", err)
		}
	}
	return &Builder{opts: o, metrics: newMetrics(o.Registerer)}, nil
}

// Build implements agent.Builder.
func (b *Builder) Build(ctx context.Context, owner api.Ref, build api.ImageBuild, step func(text string)) error {
	called := buildlog.Name(owner.AppID(), build.ID)
	log, err := b.opts.BuildLogs.Begin(called)
	if err != nil {
		return err
	}
	b.claim(called, build.Image(owner), owner.AppID()+":latest")
	release, err := b.turns.take(ctx, build.ID) // waiting for another object's build doesn't count as build time
	if err != nil {
		log.End("failed: " + err.Error())
		return err
	}
	defer release()
	output, began := &output{log: log, step: step}, b.opts.Now()
	limited, cancel := context.WithTimeout(ctx, b.opts.Timeout)
	defer cancel()
	err = b.once(limited, owner, build, output)
	took := b.opts.Now().Sub(began)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		err = &runtime.RejectedError{Reason: api.ReasonBuildFailed,
			Detail: fmt.Sprintf("the build wasn't done after %s", b.opts.Timeout),
			Next:   "make it quicker, or raise TEND_BUILD_TIMEOUT at the server"}
	}
	b.metrics.ended(err, took)
	if err != nil {
		log.End("failed: " + err.Error())
		return &agent.BuildError{Err: err, Log: output.last}
	}
	log.End(fmt.Sprintf("built %s in %s", build.Image(owner), took.Round(100*time.Millisecond)))
	b.opts.Logger.InfoContext(ctx, "image built", "object", owner.String(), "image", build.Image(owner), "took", took)
	return nil
}

func (b *Builder) run(ctx context.Context, owner api.Ref, build api.ImageBuild, output *output) error {
	folder, err := os.MkdirTemp(b.opts.Folder, unpacked)
	if err != nil {
		return fmt.Errorf("make a folder for the source: %w", err)
	}
	defer func() {
		if err := os.RemoveAll(folder); err != nil {
			b.opts.Logger.WarnContext(ctx, "source stays behind", "folder", folder, "error", err)
		}
	}()
	source := filepath.Join(folder, "source")
	if err := b.unpack(ctx, build.Tree, source); err != nil {
		return err
	}
	root, err := os.OpenRoot(source) // links that lead out of it indirectly aren't followed
	if err != nil {
		return err
	}
	defer root.Close()
	how, err := recipe.Decide(root.FS(), build.Build, b.opts.Registry)
	if err != nil {
		return &runtime.RejectedError{Reason: api.ReasonBuildFailed, Detail: err.Error()}
	}
	if build.Confined {
		if err := how.Confine(root.FS(), build.Build.Args); err != nil {
			return &runtime.RejectedError{Reason: api.ReasonBuildFailed, Detail: err.Error(), Next: "write it otherwise, or have an admin apply it"}
		}
		if err := b.confineBases(ctx, how.Bases); err != nil {
			return err
		}
	}
	output.Line(announcement(how))
	from, err := b.opts.Trees(ctx, build.Tree)
	if err != nil {
		return err
	}
	defer from.Close()
	spec := specOf(owner, build, how)
	if spec.Secrets, err = b.secrets(ctx, owner, build); err != nil {
		return err
	}
	output.hide = agent.Hide(slices.Collect(maps.Values(spec.Secrets))...)
	if spec.Tree, err = withDockerfile(from, how); err != nil {
		return err
	}
	_, err = b.opts.Runtime.Build(ctx, spec, output.Line)
	return err
}

// secrets returns the values of the secrets that a build names.
func (b *Builder) secrets(ctx context.Context, owner api.Ref, build api.ImageBuild) (map[string]string, error) {
	if len(build.Build.Secrets) == 0 {
		return nil, nil
	}
	values, err := b.opts.Secrets(ctx, owner)
	if errors.Is(err, node.ErrNoConfig) {
		return nil, &runtime.RejectedError{Reason: api.ReasonBuildFailed, Detail: err.Error(), Next: "set it and apply again"}
	}
	return values, err
}

// unpack writes the tree into a new folder. It rejects a hostile tree for good.
func (b *Builder) unpack(ctx context.Context, digest, folder string) error {
	from, err := b.opts.Trees(ctx, digest)
	if errors.Is(err, ErrNoTree) {
		return &runtime.RejectedError{Reason: "SourceMissing", Detail: err.Error(),
			Next: "apply again from where the source is"}
	}
	if err != nil {
		return err
	}
	defer from.Close()
	if err := os.Mkdir(folder, 0o755); err != nil {
		return err
	}
	err = tree.Unpack(ctx, from, folder, tree.Limits{Bytes: b.opts.MaxBytes})
	if _, ok := errors.AsType[*tree.HostileError](err); ok {
		return &runtime.RejectedError{Reason: api.ReasonBuildFailed, Detail: err.Error(),
			Next: "pack the source with tend apply"}
	}
	return err
}
