package daemon

import (
	"context"

	"tend.dev/tend/internal/control/verbs"
)

// fresh returns what waits until the view has all that was stored before; nil for a server that is alone, whose view
// has what it has answered itself.
func (d *daemon) fresh() func(context.Context) error {
	if !d.several() {
		return nil
	}
	reader := verbs.FromView{Store: d.store, View: d.view}
	return func(ctx context.Context) error {
		_, err := reader.Fresh(ctx)
		return err
	}
}
