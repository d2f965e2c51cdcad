package manifest

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// The languages.
const (
	formatHCL  = "hcl"
	formatYAML = "yaml"
	formatJSON = "json"
	// formatProcfile is the format of files named Procfile, not of an extension.
	formatProcfile = "procfile"
)

// manifestFolders lists the folders for a project's manifests. Names without a path are also searched there.
var manifestFolders = []string{".tend", ".voodu"}

// extensions maps file extensions to languages, in any case.
var extensions = map[string]string{
	".hcl": formatHCL, ".tend": formatHCL, ".voodu": formatHCL, ".vdu": formatHCL, ".vd": formatHCL,
	".yaml": formatYAML, ".yml": formatYAML,
	".json": formatJSON,
}

// suffixes are appended, in order, to a name that doesn't exist as it is.
var suffixes = []string{".hcl", ".tend", ".voodu", ".vdu", ".vd", ".yaml", ".yml", ".json"}

func formatOf(path string) string {
	if filepath.Base(path) == Procfile {
		return formatProcfile
	}
	return extensions[strings.ToLower(filepath.Ext(path))]
}

// Defaults returns the sources in a folder for a command that names none: the Procfile, else .tend or .voodu if it
// holds a manifest.
func Defaults(folder string) ([]string, error) {
	if _, err := os.Stat(filepath.Join(folder, Procfile)); err == nil {
		return []string{filepath.Join(folder, Procfile)}, nil
	}
	if found, err := Manifests(folder); err == nil {
		return []string{found}, nil
	}
	return nil, fmt.Errorf("%w: there is no Procfile here, and none in .tend or .voodu; name a file or a folder with -f",
		ErrNoManifest)
}

// Manifests returns the first of .tend and .voodu that holds a manifest, else ErrNoManifest.
func Manifests(folder string) (string, error) {
	for _, hidden := range manifestFolders {
		if hasManifest(filepath.Join(folder, hidden)) {
			return filepath.Join(folder, hidden), nil
		}
	}
	return "", ErrNoManifest
}

// input is one text to read and its language.
type input struct {
	path   string
	stdin  bool
	format string
}

// maxFiles bounds the number of manifests in a folder.
const maxFiles = 10_000

// inputs returns the files that the options name, each once, in the order named; the files of a folder in lexical
// order.
func inputs(o Options) ([]input, error) {
	var out []input
	seen := map[string]bool{}
	for _, name := range o.Files {
		found, err := inputsOf(name, o)
		if err != nil {
			return nil, err
		}
		for _, in := range found {
			if !seen[in.path] {
				seen[in.path] = true
				out = append(out, in)
			}
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%w: name a file or a folder with -f", ErrNoManifest)
	}
	return out, nil
}

// inputsOf returns the files to read for a name: standard input, a file, or the manifests of a folder.
func inputsOf(name string, o Options) ([]input, error) {
	if name == "-" {
		format, err := formatNamed(o.Format)
		if err != nil {
			return nil, err
		}
		return []input{{path: "-", stdin: true, format: format}}, nil
	}
	path, info, err := resolve(name)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return walk(path)
	}
	format := formatOf(path)
	if format == "" && strings.HasPrefix(filepath.Base(path), Procfile+".") {
		format = formatProcfile // Procfile.dev, if the user names it
	}
	if o.Format != "" && format == "" {
		format, err = formatNamed(o.Format)
	}
	if err == nil && format == "" {
		err = fmt.Errorf("%s: its name doesn't show its language; name it .hcl, .yaml or .json, or add --format", path)
	}
	return []input{{path: filepath.Clean(path), format: format}}, err
}

func formatNamed(format string) (string, error) {
	switch strings.ToLower(format) {
	case "hcl", "tend":
		return formatHCL, nil
	case "yaml", "yml":
		return formatYAML, nil
	case "json":
		return formatJSON, nil
	case "":
		return "", errors.New("standard input has no name that shows its language; add --format hcl, yaml or json")
	}
	return "", fmt.Errorf("format %q is not hcl, yaml or json", format)
}

// resolve finds a file or folder by its name, with or without its extension. A name without a path may also be in one
// of the manifest folders. If another file of that name exists in the working directory, resolve returns an error that
// names both.
func resolve(name string) (string, fs.FileInfo, error) {
	here, info, err := resolveIn("", name)
	if filepath.IsAbs(name) || strings.HasPrefix(name, ".") {
		return here, info, err
	}
	for _, folder := range manifestFolders {
		there, found, missing := resolveIn(folder, name)
		switch {
		case missing == nil && err == nil && !os.SameFile(info, found):
			return "", nil, fmt.Errorf("%s is both %s and %s: write ./%s or %s", name, there, here, here, there)
		case missing == nil:
			return there, found, nil
		}
	}
	return here, info, err
}

// resolveIn finds a file or folder in a folder, with or without one of the suffixes.
func resolveIn(folder, name string) (string, fs.FileInfo, error) {
	path := filepath.Join(folder, name)
	if folder == "" {
		path = name
	}
	info, err := os.Stat(path)
	if err == nil {
		return path, info, nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		for _, suffix := range suffixes {
			if info, err := os.Stat(path + suffix); err == nil && !info.IsDir() {
				return path + suffix, info, nil
			}
		}
	}
	return "", nil, fmt.Errorf("read manifest: %w", err)
}

// walk returns the manifests of a folder and those below it. It skips hidden folders, and every folder in .tend.
func walk(root string) ([]input, error) {
	var out []input
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != root && (strings.HasPrefix(entry.Name(), ".") || filepath.Base(root) == ".tend"):
			return filepath.SkipDir // .tend may also be a server's root, which has folders of its own
		case entry.IsDir() || !isManifest(filepath.Dir(path), entry.Name()):
			return nil
		}
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
			return err
		}
		if out = append(out, input{path: filepath.Clean(path), format: formatOf(path)}); len(out) > maxFiles {
			return fmt.Errorf("%s holds more than %d manifests", root, maxFiles)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read folder: %w", err)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%w in %s: want a file that ends in %s; `tend init` writes a first one",
			ErrNoManifest, root, strings.Join(suffixes, ", "))
	}
	return out, nil
}

// readBounded reads all of r, or returns an error that it is too large.
func readBounded(r io.Reader, name string, limit int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if int64(len(text)) > limit {
		return nil, fmt.Errorf("%s %w: more than %d bytes", name, ErrTooLarge, limit)
	}
	return text, nil
}

// path returns the path of a file that a manifest names, relative to the manifest's folder. With Options.Within it
// refuses a file outside of that folder, also through a link.
func (l *loader) path(src *source, name string) (string, error) {
	path := name
	if !filepath.IsAbs(path) {
		path = filepath.Join(src.dir, path)
	}
	if l.options.Within == "" {
		return path, nil
	}
	if filepath.IsAbs(name) || !inside(l.options.Within, path) {
		return "", fmt.Errorf("%s leads out of the folder of manifests", name)
	}
	within, err := filepath.EvalSymlinks(l.options.Within)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(path)
	if err == nil && !inside(within, real) {
		err = fmt.Errorf("%s leads out of the folder of manifests", name)
	}
	return real, err
}

// inside reports whether a path is below a folder.
func inside(folder, path string) bool {
	relative, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(relative)
}

// openRegular opens a regular file that a manifest names. Reading any other kind of file may never end or never begin.
func openRegular(path string) (*os.File, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file", path)
	}
	return os.Open(path)
}

// readFile reads a file that a manifest names.
func readFile(path string, limit int64) ([]byte, error) {
	file, err := openRegular(path)
	if err != nil {
		return nil, fmt.Errorf("read manifest: %w", err)
	}
	defer file.Close()
	return readBounded(file, path, limit)
}
