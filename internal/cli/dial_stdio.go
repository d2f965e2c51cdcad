package cli

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"tend.dev/tend/client"
)

// dialStdioCommand returns the far end of ssh://user@host: it joins its input and output to the server's socket.
func (a *app) dialStdioCommand() *cobra.Command {
	return &cobra.Command{
		Use: "dial-stdio", Short: "join standard input and output to the server's socket", Hidden: true,
		Long: "Join standard input and output to the socket of the server on this machine: what ssh://user@host runs there.",
		Args: takes(0, 0),
		RunE: func(*cobra.Command, []string) error {
			c, err := a.dial()
			if err != nil {
				return err
			}
			defer c.Close()
			path, isSocket := strings.CutPrefix(c.Server(), "unix://")
			if !isSocket {
				return fmt.Errorf("%s is not a socket: dial-stdio connects SSH with the socket of this machine's server",
					c.Server())
			}
			conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
			if failed, ok := errors.AsType[*net.OpError](err); ok {
				return &client.UnreachableError{Server: c.Server(), Err: failed.Err}
			}
			if err != nil {
				return err
			}
			return a.join(conn)
		},
	}
}

// join copies both ways until the server sends nothing more.
func (a *app) join(conn *net.UnixConn) error {
	defer conn.Close()
	go func() {
		_, _ = io.Copy(conn, a.in) // the caller has ended, or sees the error in the other direction
		_ = conn.CloseWrite()
	}()
	_, err := io.Copy(a.out, conn)
	if errors.Is(err, os.ErrClosed) || errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
