package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/core/ownership"
)

func (a *app) blameCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "blame [KIND] SCOPE/NAME",
		Short: "list each field of a spec with who set it, and when",
		Long: "List each field of a spec with its value, who set it, and when. MANAGER is the role: `apply` is everything people send,\n" +
			"BY who asked in it. A field several managers set alike has a line for each. An age with + is at least that.",
		Example:           "  tend blame prod/web\n  tend blame deployment prod/web -o json",
		Args:              takes(1, 2),
		ValidArgsFunction: a.completeObjects,
		RunE: a.onObject(func(ctx context.Context, c *client.Client, ref api.Ref, rest []string) error {
			if err := tooMuch("blame", rest); err != nil {
				return err
			}
			object, err := c.Object(ctx, ref)
			if err != nil {
				return err
			}
			owners, err := ownersOf(object)
			if err != nil {
				return err
			}
			return blameListing(owners, time.Now()).write(a.streams, a.output)
		}),
	}
}

func ownersOf(object api.Object) ([]api.FieldOwner, error) {
	spec, err := ownership.Parse(object.Spec)
	if err != nil {
		return nil, err
	}
	return ownership.Blame(ownership.Stored{Spec: spec, Fields: object.Metadata.Fields, Since: object.Metadata.UpdatedAt})
}

func blameListing(owners []api.FieldOwner, now time.Time) listing {
	l := listing{
		value:      itemsOf(owners),
		header:     []string{"FIELD", "VALUE", "MANAGER", "BY", "AGE"},
		wideHeader: []string{"AT"},
		empty:      "the spec has no fields",
		narrow:     narrowing{drop: []string{"AGE", "BY"}, cut: []string{"VALUE"}},
	}
	for _, o := range owners {
		old := age(o.At, now)
		if o.OrBefore {
			old += "+"
		}
		l.names = append(l.names, o.Path)
		l.rows = append(l.rows, []string{o.Path, cut(string(o.Value), 60), o.Manager, dash(o.Actor), old})
		l.wideRows = append(l.wideRows, []string{o.At.UTC().Format(time.RFC3339)})
	}
	return l
}

// cut shortens a text to fit a cell of a table.
func cut(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}
