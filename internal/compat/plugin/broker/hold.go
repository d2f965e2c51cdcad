package broker

import (
	"context"
	"slices"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/compat/plugin"
	"tend.dev/tend/internal/control/verbs"
)

// maxHeld bounds the objects that one command holds.
const maxHeld = 16

// hold keeps the pods of the objects that a command's arguments name from being healed while the command works on them.
func (b *Broker) hold(ctx context.Context, p *plugin.Plugin, ask Command) (release func(), err error) {
	record := api.Hold{Plugin: p.Folder(), Command: ask.Name, By: ask.Actor}
	return b.Verbs.Hold(ctx, objectsNamed(ask.Args), record, b.Root.CallTime())
}

// objectsNamed returns the objects that arguments name as scope/name or scope/name.ordinal.
func objectsNamed(args []string) []verbs.Bucket {
	var out []verbs.Bucket
	for _, arg := range args {
		for _, word := range strings.Split(arg, ",") {
			found := addressed().FindStringSubmatch(word)
			if found == nil {
				continue
			}
			name, _, _ := strings.Cut(found[2], ".")
			object := verbs.Bucket{Scope: found[1], Name: name}
			if len(out) < maxHeld && !slices.Contains(out, object) {
				out = append(out, object)
			}
		}
	}
	return out
}
