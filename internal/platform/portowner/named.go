package portowner

import (
	"errors"
	"fmt"
	"net"
	"syscall"
)

// inUseError is the error of an occupied port in words that name the port once.
type inUseError struct {
	text  string
	cause error
}

func (e *inUseError) Error() string { return e.text }

// Unwrap returns the error of the system.
func (e *inUseError) Unwrap() error { return e.cause }

// Refused returns the error of a program that can't listen on an address, with the option that chooses another one.
func Refused(address, option string, err error) error {
	if !errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("listen on %s: %w: choose another %s", address, err, option)
	}
	text := address + " is in use"
	if owner := ownerOf(err); owner != "" {
		text += " by " + owner
	}
	return &inUseError{text + ": stop what listens there, or choose another " + option, err}
}

// Named adds to the error of an occupied port which process listens there, if that can be found out.
func Named(err error) error {
	if owner := ownerOf(err); owner != "" {
		return fmt.Errorf("%w by %s", err, owner)
	}
	return err
}

// ownerOf returns the process that has the port of the error; empty if it isn't that error, or can't be found out.
func ownerOf(err error) string {
	var failed *net.OpError
	if !errors.Is(err, syscall.EADDRINUSE) || !errors.As(err, &failed) {
		return ""
	}
	if address, ok := failed.Addr.(*net.TCPAddr); ok {
		if found, ok := Of(address.Port); ok {
			return found.String()
		}
	}
	return ""
}
