package manifest

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"tend.dev/tend/api"
)

// Options are the options of Load. The zero value loads nothing; only Files is required.
type Options struct {
	// Files are files and folders (read recursively, in lexical order, skipping files that are not manifests), and "-"
	// for Stdin.
	Files []string
	// Stdin is read for "-". Default: os.Stdin.
	Stdin io.Reader
	// Format is hcl, yaml or json: needed for Stdin and for files without a known extension.
	Format string
	// Lookup finds the value of ${VAR}. Default: the environment.
	Lookup func(name string) (string, bool)
	// Bucket looks up a ${VAR} that Lookup doesn't have in a bucket: an app's, or with an empty name the scope's. Default:
	// no bucket has a value.
	Bucket func(scope, name, key string) (value string, found bool, err error)
	// Dir is the folder to which paths in Stdin are relative. Default: the working directory.
	Dir string
	// Within is a folder that the paths in manifests must not lead out of. Default: they may name any file.
	Within string
	// App is the scope of a Procfile's objects. Default: the one in its app.json, else the folder's name.
	App string
	// Image is the image of its processes. Default: the one in its app.json, else the variable TEND_IMAGE.
	Image string
	// MaxBytes bounds each file. Default 16 MiB.
	MaxBytes int64
	// Context ends the loading, also the wait for a pipe without a writer; its cause becomes the error. Default: never.
	Context context.Context //nolint:containedctx // one of many options of a single call
	// PipeWait is the time for which a pipe may have no writer. Default 10 s.
	PipeWait time.Duration
}

// DefaultMaxBytes bounds a file unless Options does.
const DefaultMaxBytes = 16 << 20

// Result holds what was loaded.
type Result struct {
	// Objects are in the order of the files. A spec is canonical JSON exactly as written, except for env_file, which
	// was read into env.
	Objects []api.Object
	// Sources are the files read; standard input is "-".
	Sources []string
	// Uploads are the asset files to send to the server before the objects.
	Uploads []Upload
	// Builds are the objects that are built from source; their trees are sent to the server before the objects.
	Builds []Source
	// Warnings lists assumptions that Load made, for the user who applies.
	Warnings []string
	// Origin maps each object to its position in the files.
	Origin map[api.Ref]Position

	drafts map[api.Ref]*draft
}

// Load reads, decodes and validates. Its error is an *Error, which lists every error with its position, unless a source
// could not be read at all.
func Load(o Options) (Result, error) {
	if o.Lookup == nil {
		o.Lookup = os.LookupEnv
	}
	if o.Stdin == nil {
		o.Stdin = os.Stdin
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	if o.Context == nil {
		o.Context = context.Background()
	}
	if o.PipeWait <= 0 {
		o.PipeWait = pipeWait
	}
	found, err := inputs(o)
	if err != nil {
		return Result{}, err
	}
	l := &loader{options: o, result: Result{Origin: map[api.Ref]Position{}, drafts: map[api.Ref]*draft{}}}
	for _, in := range found {
		if err := l.read(in); err != nil {
			return Result{}, err
		}
	}
	if err := l.faults.err(); err != nil {
		return Result{}, err
	}
	if len(l.result.Origin) == 0 && len(found) > 0 {
		return Result{}, nothingIn(found[0])
	}
	return l.result, nil
}

// nothingIn returns the error for sources that declare nothing, of which the first is named.
func nothingIn(first input) error {
	name := first.path
	if first.stdin {
		name = "<stdin>"
	}
	next := "declare an object: kind, scope, name and spec"
	switch first.format {
	case formatHCL:
		next = `declare an object: deployment "SCOPE" "NAME" { … }`
	case formatProcfile:
		next = "name a process: web: COMMAND"
	}
	return fmt.Errorf("%s:1:1: %w: read as %s, it declares nothing\n  %s; `tend init` writes a first one", name,
		ErrNoManifest, first.format, next)
}

// loader is one call of Load in progress.
type loader struct {
	options Options
	faults  faults
	result  Result
}

func (l *loader) read(in input) error {
	src, err := l.source(in)
	if err != nil {
		return err
	}
	l.result.Sources = append(l.result.Sources, in.path)
	if in.format == formatProcfile {
		return l.procfile(src)
	}
	values := &bucketValues{src: src, format: in.format, find: l.options.Lookup, ask: l.options.Bucket,
		known: map[string]string{}, missing: map[string]bool{}}
	for _, d := range parse(src, in.format, values.lookup, &l.faults) {
		if l.options.Context.Err() != nil {
			return context.Cause(l.options.Context)
		}
		l.add(d)
	}
	return cmp.Or(values.err, context.Cause(l.options.Context))
}

// procfile reads a Procfile with the app.json of its folder.
func (l *loader) procfile(src *source) error {
	folder, err := filepath.Abs(src.dir)
	if err != nil {
		return err
	}
	app, err := readAppFile(src.dir, l.options.Lookup, l.options.MaxBytes, &l.faults)
	if err != nil {
		return err
	}
	o := procfileOptions{app: app}
	fromEnvironment, _ := l.options.Lookup("TEND_IMAGE")
	o.image = cmp.Or(l.options.Image, app.image, fromEnvironment)
	if o.scope = cmp.Or(l.options.App, app.scope); o.scope == "" {
		if o.scope, err = ScopeOf(filepath.Base(folder)); err != nil {
			return err
		}
	}
	for _, d := range procfileDrafts(src, o, &l.faults) {
		l.add(d)
	}
	return nil
}

func (l *loader) source(in input) (*source, error) {
	if in.stdin {
		text, err := l.unlessEnded(func() ([]byte,
			error) {
			return readBounded(l.options.Stdin, "standard input", l.options.MaxBytes)
		})
		return newSource("<stdin>", l.options.Dir, text), err
	}
	text, err := l.readInput(in.path)
	return newSource(in.path, filepath.Dir(in.path), text), err
}

// parse reads a text in one of the languages.
func parse(src *source, format string, find lookup, f *faults) []*draft {
	switch format {
	case formatHCL:
		before := f.count()
		if file := parseHCL(src, find, f); file != nil {
			refused := f.count() > before
			drafts := draftsOfBlocks(src, file, f)
			for _, d := range drafts {
				d.broken = d.broken || refused // a value that was refused would seem to be missing
			}
			return drafts
		}
	case formatYAML:
		before := f.count()
		if values := parseYAML(src, find, f); f.count() == before {
			return draftsOfValues(src, values, f)
		}
	case formatJSON:
		if value := parseJSON(src, f); value != nil {
			return draftsOfValues(src, []*node{value}, f)
		}
	}
	return nil
}

// add adds a draft, if its name is new: it reads its env files and validates it.
func (l *loader) add(d *draft) {
	ref := d.object.Ref()
	if first, twice := l.result.Origin[ref]; twice {
		l.faults.at(d.src, d.at, "keep one of them", "%s is declared twice, first at %s", ref, first)
		return
	}
	l.result.Origin[ref] = d.src.position(d.at.start)
	l.result.drafts[ref] = d
	if d.broken || d.object.Kind.Core() && (!l.readEnvFiles(d) || !l.readAssetFiles(d)) {
		return
	}
	if err := d.finish(); err != nil {
		l.faults.at(d.src, d.at, "", "%s", err)
		return
	}
	for _, fault := range check(d.object) {
		l.faults.add(d.diagnose(fault))
	}
	l.addSource(d)
	l.result.Objects = append(l.result.Objects, d.object)
}

// check returns the errors of an object that can be found before it is sent.
func check(o api.Object) []api.FieldError {
	if !o.Kind.Core() {
		return api.ValidateMacro(o)
	}
	return append(Validate(o), api.CheckDeclared(o)...)
}

// Explain adds positions in the files to errors that a server found. Errors of objects from elsewhere get none.
func (r Result) Explain(found []api.FieldError) *Error {
	var f faults
	for _, fault := range found {
		plain := Diagnostic{Object: fault.Object, Field: fault.Field, Summary: fault.Detail}
		for ref, d := range r.drafts {
			if fault.In(ref) {
				fault.Object = ref.String()
				plain = d.diagnose(fault)
			}
		}
		f.add(plain)
	}
	return &Error{List: f.list, More: f.more}
}
