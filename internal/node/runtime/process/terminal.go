//go:build linux

package process

import (
	"errors"
	"io"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// openTerminal opens a pseudo terminal.
func openTerminal() (master, slave *os.File, err error) {
	master, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, err
	}
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		slave, err = os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		return nil, nil, errors.Join(err, master.Close())
	}
	return master, slave, nil
}

func resizeTerminal(master *os.File, width, height int) {
	if width > 0 && height > 0 {
		_ = unix.IoctlSetWinsize(int(master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: uint16(height), Col: uint16(width)})
	}
}

// terminalOutput turns the kernel's I/O error into io.EOF. The error means that no process has the other side open any
// more.
type terminalOutput struct{ *os.File }

func (t terminalOutput) Read(into []byte) (int, error) {
	n, err := t.File.Read(into)
	if errors.Is(err, syscall.EIO) {
		err = io.EOF
	}
	return n, err
}

// terminalInput sends the end-of-input character when closed: the terminal itself stays open for the output.
type terminalInput struct{ *os.File }

func (t terminalInput) Close() error {
	_, err := t.Write([]byte{4})
	return err
}
