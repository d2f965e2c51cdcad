package manifest

import (
	"reflect"
	"slices"
	"testing"

	"tend.dev/tend/api"
)

// TestElsewhere: each word of another tool leads to a field that some block has, and none is a field in its place.
func TestElsewhere(t *testing.T) {
	d := &decoder{native: true}
	blocks := map[reflect.Type]bool{}
	for _, kind := range api.KindsThat(api.Kind.Core) {
		collectBlocks(kind.Info().Spec, blocks)
	}
	for word, paths := range elsewhere {
		for _, path := range paths {
			leads := false
			for block := range blocks {
				_, is := d.propertyAt(path, properties(block))
				leads = leads || is
			}
			if !leads && path != "inits" { // as YAML calls it
				t.Errorf("%q leads to %q, which no block has", word, path)
			}
		}
		if nowhere[word] != "" {
			t.Errorf("%q stands in both tables", word)
		}
	}
	known := properties(api.KindDeployment.Info().Spec)
	for word := range nowhere {
		if slices.ContainsFunc(known, func(p property) bool { return p.native == word }) {
			t.Errorf("%q is a field of deployments", word)
		}
	}
}

// collectBlocks adds a block and all those within it.
func collectBlocks(block reflect.Type, into map[reflect.Type]bool) {
	for block.Kind() == reflect.Pointer || block.Kind() == reflect.Slice {
		block = block.Elem()
	}
	if block.Kind() != reflect.Struct || into[block] {
		return
	}
	into[block] = true
	for _, p := range properties(block) {
		collectBlocks(p.of, into)
	}
}
