package daemon

import (
	"context"

	"tend.dev/tend/internal/control/verbs"
)

// fresh returns a function that waits until the view has everything that was stored before the call; nil for a server
// that is alone, whose view has everything it has answered.
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
