package join

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
)

// unreached is the error of a request that no server got, or that none answered in time.
type unreached struct{ err *url.Error }

// reached returns an error of a request as it is, or as unreached.
func reached(err error) error {
	asked, ok := errors.AsType[*url.Error](err)
	if !ok || errors.Is(err, context.Canceled) {
		return err
	}
	failed, network := errors.AsType[*net.OpError](err)
	if asked.Timeout() || network && failed.Op == "dial" {
		return unreached{asked}
	}
	return err
}

func (u unreached) Error() string {
	why := fmt.Sprintf("no answer within %s", joinTime)
	if failed, ok := errors.AsType[*net.OpError](u.err); ok && !u.err.Timeout() {
		why = failed.Err.Error()
	}
	return why + ": check that a server listens there (--node-listen) and that no firewall drops its port"
}

func (u unreached) Unwrap() error { return u.err }
