package portowner

import (
	"errors"
	"fmt"
	"net"
	"syscall"
)

// Named adds to the error of an occupied port which process listens there, if that can be found out.
func Named(err error) error {
	var failed *net.OpError
	if !errors.Is(err, syscall.EADDRINUSE) || !errors.As(err, &failed) {
		return err
	}
	if address, ok := failed.Addr.(*net.TCPAddr); ok {
		if owner, found := Of(address.Port); found {
			return fmt.Errorf("%w by %s", err, owner)
		}
	}
	return err
}
