//go:build simulate

package simulation

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"sync/atomic"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// dial is the listener of the present world. The operator makes its own transport from the standard one.
var dial atomic.Pointer[listener]

var quiet = log.New(io.Discard, "", 0)

// Enclose makes the standard transport of this process reach nothing but the present world. A test binary calls it
// once.
func Enclose() error {
	transport, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return errors.New("the standard transport was replaced")
	}
	// A handler of client-go sleeps until a time after the last error, which may be one of another world.
	utilruntime.ErrorHandlers = nil
	transport.Proxy = nil
	transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
		to := dial.Load()
		if to == nil {
			return nil, errRefused
		}
		return to.connect(ctx)
	}
	return nil
}
