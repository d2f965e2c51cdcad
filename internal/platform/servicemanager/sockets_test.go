package servicemanager

import (
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestWhichSocketFits(t *testing.T) {
	for _, test := range []struct {
		asked, at string
		want      bool
	}{
		{":80", "[::]:80", true}, {":80", "0.0.0.0:80", true}, {":80", "127.0.0.1:80", true}, {":80", "[::]:443", false},
		{"0.0.0.0:80", "[::]:80", true}, {"127.0.0.1:80", "[::]:80", false}, {"127.0.0.1:80", "127.0.0.1:80", true},
		{"off", "[::]:80", false},
	} {
		if got := fits(test.asked, test.at); got != test.want {
			t.Errorf("%s at %s: %v", test.asked, test.at, got)
		}
	}
}

func TestSocketsOfAnotherProcess(t *testing.T) {
	t.Setenv("LISTEN_PID", "1")
	t.Setenv("LISTEN_FDS", "2")
	t.Setenv("LISTEN_FDNAMES", "a:b")
	if got := Inherited(slog.New(slog.DiscardHandler)); len(got.held) > 0 {
		t.Errorf("%v", got)
	}
	if _, left := os.LookupEnv("LISTEN_FDS"); left {
		t.Error("children know of them")
	}
}

// TestTheManagerHoldsASocket: it gets the listener's socket, under a valid name; a dropped socket is closed there too.
func TestTheManagerHoldsASocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notify")
	manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer manager.Close()
	t.Setenv("NOTIFY_SOCKET", path)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	s := Handed(slog.New(slog.DiscardHandler), nil)
	s.Keep(address, listener)

	text, rights := make([]byte, 1024), make([]byte, 1024)
	n, m, _, _, err := manager.ReadMsgUnix(text, rights)
	if want := "FDSTORE=1\nFDNAME=tend_127.0.0.1_" + address[len("127.0.0.1:"):]; err != nil || string(text[:n]) != want {
		t.Fatalf("%q, %v; want %q", text[:n], err, want)
	}
	messages, err := syscall.ParseSocketControlMessage(rights[:m])
	if err != nil || len(messages) != 1 {
		t.Fatal(messages, err)
	}
	files, err := syscall.ParseUnixRights(&messages[0])
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	file := os.NewFile(uintptr(files[0]), nameOf(address))
	defer file.Close()

	_ = listener.Close()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal("the process's own end closed what the manager holds:", err)
	}
	_ = conn.Close()
	next := Handed(slog.New(slog.DiscardHandler), []*os.File{file})
	if next.Find(address) == nil || next.Lent(address) || next.Find("127.0.0.1:1") != nil {
		t.Error("the next process doesn't find it")
	}
	s.DropAddress("127.0.0.1:1")
	if s.Find(address) == nil {
		t.Error("another one's end ended it")
	}
	s.DropAddress(address)
	if conn, err := net.Dial("tcp", address); err == nil {
		_ = conn.Close()
		t.Error("the manager's copy takes connections that nobody answers")
	}
	if n, err = manager.Read(text); err != nil || string(text[:n]) != "FDSTOREREMOVE=1\nFDNAME="+nameOf(address) ||
		s.Find(address) != nil {
		t.Errorf("%q, %v", text[:n], err)
	}
}

// TestASocketUnitsSocket isn't this program's to end.
func TestASocketUnitsSocket(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	file, err := listener.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	s := Handed(slog.New(slog.DiscardHandler), []*os.File{file})
	s.DropAddress(listener.Addr().String())
	if !s.Lent(listener.Addr().String()) || s.Find(listener.Addr().String()) == nil {
		t.Error("it is gone")
	}
}

// TestWhichKeptSocketFits: a socket that this program opened for one address doesn't fit all addresses.
func TestWhichKeptSocketFits(t *testing.T) {
	for _, test := range []struct {
		name, at, asked string
		want            bool
	}{
		{"tend.socket", "127.0.0.1:80", ":80", true}, {own + "x", "127.0.0.1:80", ":80", false},
		{own + "x", "[::]:80", ":80", true},
		{own + "x", "0.0.0.0:80", ":80", true}, {own + "x", "127.0.0.1:80", "127.0.0.1:80", true},
	} {
		if got := (held{name: test.name, address: test.at}).fits(test.asked); got != test.want {
			t.Errorf("%s at %s, asked for %s: %v", test.name, test.at, test.asked, got)
		}
	}
}
