package manifest

import (
	"bytes"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclwrite"

	"tend.dev/tend/api"
)

// Written is an object's block as its file has it, with the comments right above it.
type Written struct {
	Ref  api.Ref
	Text []byte
}

// Blocks returns the blocks of a manifest in HCL as they are written. The Ref of one that doesn't declare an object
// under its own kind and name is empty.
func Blocks(path string, text []byte) ([]Written, error) {
	if err := parses(path, text); err != nil {
		return nil, err
	}
	masked, unmask := mask(text)
	file, diags := hclwrite.ParseConfig(masked, path, hcl.InitialPos)
	if diags.HasErrors() {
		return nil, diags
	}
	var out []Written
	for _, block := range file.Body().Blocks() {
		w := Written{Text: bytes.TrimSpace(unmask(block.BuildTokens(nil).Bytes()))}
		kind, labels := api.Kind(block.Type()), block.Labels()
		switch {
		case !kind.Core():
		case len(labels) == 1:
			w.Ref = api.Ref{Kind: kind, Scope: api.Unscoped, Name: labels[0]}
		case len(labels) == 2:
			w.Ref = api.Ref{Kind: kind, Scope: labels[0], Name: labels[1]}
		}
		out = append(out, w)
	}
	return out, nil
}
