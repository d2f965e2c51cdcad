// Package messengertest has a mail server for tests. It accepts mails over SMTP on loopback and never sends any.
package messengertest

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"net"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// Mail is a mail that the server accepted.
type Mail struct {
	From string
	To   []string
	Data string
	// User and Password are the login of the session. Encrypted is set if the session was encrypted.
	User, Password string
	Encrypted      bool
}

// Server is a mail server.
type Server struct {
	Port int
	// Roots trusts the server's certificate, which is for 127.0.0.1 and example.com.
	Roots *x509.CertPool

	mode     string
	config   *tls.Config
	listener net.Listener
	wait     sync.WaitGroup

	mu     sync.Mutex
	mails  []Mail
	answer func(command string) string
	// answerLine is asked before answer.
	answerLine func(line string) string
	conns      map[net.Conn]bool
}

// New starts a server in a mode: starttls, tls or none. It stops when the test ends.
func New(t testing.TB, mode string) *Server {
	t.Helper()
	certified := httptest.NewUnstartedServer(nil)
	certified.StartTLS()
	config := &tls.Config{Certificates: certified.TLS.Certificates, MinVersion: tls.VersionTLS12}
	s := &Server{mode: mode, config: config, Roots: x509.NewCertPool(), conns: map[net.Conn]bool{}}
	s.Roots.AddCert(certified.Certificate())
	certified.Close()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.listener, s.Port = listener, listener.Addr().(*net.TCPAddr).Port
	s.wait.Go(s.accept)
	t.Cleanup(s.close)
	return s
}

// Answer sets a function that answers commands. An empty text means the usual answer, and "-" none at all.
func (s *Server) Answer(answer func(command string) string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = answer
}

// AnswerLine does the same with the whole line of a command.
func (s *Server) AnswerLine(answer func(line string) string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answerLine = answer
}

// Mails returns the mails that the server accepted.
func (s *Server) Mails() []Mail {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Mail(nil), s.mails...)
}

func (s *Server) close() {
	_ = s.listener.Close()
	s.mu.Lock()
	for conn := range s.conns {
		_ = conn.Close()
	}
	s.mu.Unlock()
	s.wait.Wait()
}

func (s *Server) accept() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.conns[conn] = true
		s.mu.Unlock()
		s.wait.Go(func() { defer conn.Close(); s.serve(conn) })
	}
}

// session serves one connection.
type session struct {
	*Server
	conn net.Conn
	read *bufio.Reader
	Mail
}

func (s *Server) serve(conn net.Conn) {
	c := &session{Server: s, conn: conn}
	if s.mode == "tls" {
		c.conn, c.Encrypted = tls.Server(conn, s.config), true
	}
	c.read = bufio.NewReader(c.conn)
	c.say("220 test ready")
	for {
		line, err := c.read.ReadString('\n')
		if err != nil || !c.take(strings.TrimSpace(line)) {
			return
		}
	}
}

func (c *session) say(text string) { _, _ = c.conn.Write([]byte(text + "\r\n")) }

// take answers one command. It returns false at the end of the session.
func (c *session) take(line string) bool {
	verb := strings.ToUpper(strings.SplitN(line, " ", 2)[0])
	c.mu.Lock()
	answer, answerLine := c.answer, c.answerLine
	c.mu.Unlock()
	text := ""
	if answerLine != nil {
		text = answerLine(line)
	}
	if text == "" && answer != nil {
		text = answer(verb)
	}
	switch text {
	case "":
	case "-":
		return true
	default:
		c.say(text)
		return true
	}
	switch verb {
	case "EHLO", "HELO":
		c.hello()
	case "STARTTLS":
		c.say("220 go ahead")
		c.conn, c.Encrypted = tls.Server(c.conn, c.config), true
		c.read = bufio.NewReader(c.conn)
	case "AUTH":
		c.login(line)
	case "MAIL":
		c.From, c.To = address(line), nil
		c.say("250 ok")
	case "RCPT":
		c.To = append(c.To, address(line))
		c.say("250 ok")
	case "DATA":
		c.say("354 go ahead")
		return c.data()
	case "QUIT":
		c.say("221 bye")
		return false
	default:
		c.say("250 ok")
	}
	return true
}

func (c *session) hello() {
	lines := []string{"test"}
	if c.mode == "starttls" && !c.Encrypted {
		lines = append(lines, "STARTTLS")
	}
	lines = append(lines, "AUTH PLAIN", "SIZE "+strconv.Itoa(1<<20))
	for i, line := range lines {
		c.say("250" + map[bool]string{true: " ", false: "-"}[i == len(lines)-1] + line)
	}
}

func (c *session) login(line string) {
	fields := strings.Fields(line)
	plain, _ := base64.StdEncoding.DecodeString(fields[len(fields)-1])
	if parts := strings.Split(string(plain), "\x00"); len(parts) == 3 {
		c.User, c.Password = parts[1], parts[2]
	}
	c.say("235 ok")
}

func (c *session) data() bool {
	var data strings.Builder
	for {
		line, err := c.read.ReadString('\n')
		if err != nil {
			return false
		}
		if line == ".\r\n" {
			break
		}
		data.WriteString(line)
	}
	c.Data = data.String()
	c.mu.Lock()
	c.mails = append(c.mails, c.Mail)
	c.mu.Unlock()
	c.say("250 taken")
	return true
}

// address returns the text between < and >.
func address(line string) string {
	_, rest, _ := strings.Cut(line, "<")
	text, _, _ := strings.Cut(rest, ">")
	return text
}
