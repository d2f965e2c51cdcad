package server

import (
	"log/slog"
	"testing"
	"time"

	"tend.dev/tend/internal/compat/plugin"
	"tend.dev/tend/internal/compat/plugin/broker"
)

// TestACallLastsAsLongAsItsPlugin: the server hears its calls, and answers them, for as long as it may take.
func TestACallLastsAsLongAsItsPlugin(t *testing.T) {
	root, err := plugin.Open(plugin.Options{Dir: t.TempDir(), Timeout: 15 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Options: Options{Plugins: broker.New(broker.Options{Root: root}), Logger: slog.New(slog.DiscardHandler)}}
	if served := s.callbackServer(nil); served.ReadTimeout != 31*time.Minute || served.WriteTimeout != 31*time.Minute {
		t.Errorf("its calls end after %s and %s", served.ReadTimeout, served.WriteTimeout)
	}
}
