package failures

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// onScreen runs a command on a terminal of 80 columns, types the answer to its question, and returns the final screen:
// the lines as the command wrote them.
func onScreen(command *exec.Cmd, answer string) (text string, code int, err error) {
	master, slave, err := terminal()
	if err != nil {
		return "", 0, err
	}
	defer master.Close()
	command.Stdin, command.Stdout, command.Stderr = slave, slave, slave
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	err = command.Start()
	slave.Close()
	if err != nil {
		return "", 0, err
	}
	screen := &screen{}
	read := make(chan struct{})
	go func() {
		defer close(read)
		buffer := make([]byte, 32<<10)
		for {
			n, err := master.Read(buffer)
			screen.write(string(buffer[:n]))
			if answer != "" && screen.asks() {
				_, _ = master.WriteString(answer) // a command that gets no answer fails
				answer = ""
			}
			if err != nil { // EIO: the last writer has closed it
				return
			}
		}
	}()
	_ = command.Wait() // its ProcessState shows the result
	<-read
	return screen.String(), command.ProcessState.ExitCode(), nil
}

// terminal opens a pair of files that a program takes for a terminal.
func terminal() (master, slave *os.File, err error) {
	if master, err = os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0); err != nil {
		return nil, nil, err
	}
	fd := int(master.Fd())
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 50, Col: columns})
	}
	if err == nil {
		slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	}
	if err != nil {
		master.Close()
	}
	return master, slave, err
}

// screen is a terminal wide enough for every line, so each line is one that the command wrote. brokenLine finds where a
// real one breaks it.
type screen struct {
	lines    []string
	row      int
	unparsed string
}

func (s *screen) write(text string) {
	text = s.unparsed + text
	s.unparsed = ""
	for text != "" {
		switch {
		case text[0] == '\n':
			s.row++
			text = text[1:]
		case text[0] == '\r':
			text = text[1:]
		case text[0] == '\x1b':
			end := strings.IndexFunc(text[1:], func(r rune) bool { return r >= '@' && r <= '~' && r != '[' })
			if end < 0 {
				s.unparsed = text
				return
			}
			s.control(text[:end+2])
			text = text[end+2:]
		default:
			end := strings.IndexAny(text, "\n\r\x1b")
			if end < 0 {
				end = len(text)
			}
			s.at()
			s.lines[s.row] += text[:end]
			text = text[end:]
		}
	}
}

// control carries out a control sequence of the live block: a row is written from its start, after the cursor went up.
func (s *screen) control(sequence string) {
	switch sequence[len(sequence)-1] {
	case 'A':
		n := 1
		_, _ = fmt.Sscanf(sequence, "\x1b[%dA", &n)
		s.row = max(0, s.row-n)
		s.at()
		for i := s.row; i < len(s.lines); i++ {
			s.lines[i] = ""
		}
	case 'J':
		s.at()
		s.lines = s.lines[:s.row+1]
	}
}

func (s *screen) at() {
	for len(s.lines) <= s.row {
		s.lines = append(s.lines, "")
	}
}

func (s *screen) String() string { return strings.TrimRight(strings.Join(s.lines, "\n"), "\n") + "\n" }

// asks reports whether the last line is a question.
func (s *screen) asks() bool {
	return s.row < len(s.lines) && strings.HasSuffix(s.lines[s.row], "[y/N] ")
}

// TestScreen: a block that is drawn again stands there once.
func TestScreen(t *testing.T) {
	s := &screen{}
	for _, part := range []string{"one\r\n", "\rtwo\x1b[K\n\rthree\x1b[K\n\x1b[J", "\x1b[2",
		"A\r\x1b[31mfour\x1b[0m\x1b[K\n\x1b[J", "five\n"} {
		s.write(part)
	}
	if got := s.String(); got != "one\nfour\nfive\n" {
		t.Errorf("%q", got)
	}
}
