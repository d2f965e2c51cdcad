package manifest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2"
	"github.com/hashicorp/hcl/v2/hclwrite"

	"tend.dev/tend/api/pattern"
)

// inserted matches a variable as substitute reads it, or a reference. HCL would parse their content as an expression.
var inserted = pattern.Lazy(`\$\{[^{}"\n]*\}`)

// Format formats a manifest in HCL as is usual: indentation, and aligned = signs. It changes only space between tokens.
func Format(text []byte) []byte {
	masked, unmask := mask(text)
	return unmask(hclwrite.Format(masked))
}

// mask replaces what HCL would parse as an expression by names as wide, for columns. unmask puts it back.
func mask(text []byte) (masked []byte, unmask func([]byte) []byte) {
	prefix := "tendfmt"
	for strings.Contains(string(text), prefix) {
		prefix += "x"
	}
	var found, names []string
	masked = []byte(inserted().ReplaceAllStringFunc(string(text), func(written string) string {
		name := fmt.Sprintf("%s%d_", prefix, len(found))
		name += strings.Repeat("_", max(len(written)-len(name), 0))
		found, names = append(found, written), append(names, name)
		return name
	}))
	return masked, func(laid []byte) []byte {
		out := string(laid)
		for i, name := range names {
			out = strings.Replace(out, name, found[i], 1)
		}
		return []byte(out)
	}
}

// Layout is a file in HCL, unchanged and as Format formats it.
type Layout struct {
	Path          string
	Before, After []byte
}

// Layouts reads the HCL manifests that the options name, folders recursively.
func Layouts(o Options) ([]Layout, error) {
	found, err := inputs(o)
	if err != nil {
		return nil, err
	}
	var out []Layout
	for _, in := range found {
		if in.format != formatHCL || in.stdin {
			continue
		}
		text, err := readFile(in.path, maxFormatted)
		if err != nil {
			return nil, err
		}
		if err := parses(in.path, text); err != nil {
			return nil, err
		}
		out = append(out, Layout{Path: in.path, Before: text, After: Format(text)})
	}
	return out, nil
}

// maxFormatted bounds a file to format.
const maxFormatted = 16 << 20

// parses returns an error unless a text is valid HCL for every value of its variables.
func parses(path string, text []byte) error {
	one := func(string) (string, bool) { return "1", true }
	var f faults
	if parseHCL(newSource(path, "", text), one, &f); f.count() > 0 {
		return f.err()
	}
	return nil
}

// Write replaces the file's text atomically.
func (l Layout) Write() error {
	path, err := filepath.EvalSymlinks(l.Path)
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	return renameio.WriteFile(path, l.After, info.Mode().Perm(), renameio.WithTempDir(filepath.Dir(path)))
}
