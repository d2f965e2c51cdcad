package daemon

import (
	"crypto/tls"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/node/nodeapi/authority"
)

// TestPeopleOnOtherMachines: a token leads to the server and names its authority, also after a start on another
// address. What speaks no TLS, or has another certificate, gets no token.
func TestPeopleOnOtherMachines(t *testing.T) {
	m := newMachine(t)
	r := m.startWith(func(o *Options) { o.Listen = "127.0.0.1:0" })
	made, err := r.addToken(api.AccessTokenRequest{Name: "alice", Role: api.Viewer})
	if err != nil {
		t.Fatal(err)
	}
	call := func(server string) error {
		c, err := client.New(client.Options{Server: server, Token: made.Token})
		if err != nil {
			return err
		}
		defer c.Close()
		_, err = c.Nodes(t.Context())
		return err
	}
	if err := call(made.Server); err != nil {
		t.Errorf("at %s: %v", made.Server, err)
	}
	r.stop()
	r = m.startWith(func(o *Options) { o.Listen = "127.0.0.1:0" })
	again, err := r.addToken(api.AccessTokenRequest{Name: "bob", Role: api.Viewer})
	if err != nil {
		t.Fatal(err)
	}
	if err := call(again.Server); err != nil {
		t.Errorf("after another start, at %s: %v", again.Server, err)
	}
	if _, err := r.client.RevokeToken(t.Context(), "alice"); err != nil {
		t.Fatal(err)
	}
	if err := call(again.Server); client.StatusOf(err) != 401 {
		t.Errorf("revoked: %v", err)
	}
	r.stop()
	certificate, key := certificatePair(t, t.TempDir())
	r = m.startWith(func(o *Options) { o.Listen, o.TLSCert, o.TLSKey = "127.0.0.1:0", certificate, key })
	own, err := r.addToken(api.AccessTokenRequest{Name: "carol", Role: api.Viewer})
	if err != nil || strings.Count(own.Token, ".") != 2 {
		t.Errorf("with a certificate of one's own: %+v, %v", own, err)
	}
	var untrusted *client.CertificateError
	if err := call(own.Server); !errors.As(err, &untrusted) {
		t.Errorf("with another certificate: %v", err)
	}
}

// TestPeopleOnItsMachine: a new token comes with the loopback address at which the server accepts it, if there is one.
func TestPeopleOnItsMachine(t *testing.T) {
	m := newMachine(t)
	r := m.startWith(func(o *Options) { o.HTTP = "127.0.0.1:0" })
	made, err := r.addToken(api.AccessTokenRequest{Name: "alice", Role: api.Viewer})
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(client.Options{Server: made.Local, Token: made.Token})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Nodes(t.Context()); err != nil {
		t.Errorf("at %q: %v", made.Local, err)
	}
	r.stop()
	r = m.startWith(func(o *Options) { o.HTTP = "off" })
	if made, err := r.addToken(api.AccessTokenRequest{Name: "bob", Role: api.Viewer}); err != nil || made.Local != "" {
		t.Errorf("without a listener: %q, %v", made.Local, err)
	}
}

// addToken makes a token once the server is there.
func (r *running) addToken(asked api.AccessTokenRequest) (made api.AccessToken, err error) {
	r.t.Helper()
	r.until("a token", func() bool {
		made, err = r.client.AddToken(r.t.Context(), asked)
		return err == nil || client.StatusOf(err) >= 400 && client.StatusOf(err) < 500
	})
	return made, err
}

// certificatePair writes a certificate and its key, and returns their files.
func certificatePair(t *testing.T, folder string) (certificate, key string) {
	t.Helper()
	ca, err := authority.Found("test", time.Now)
	if err != nil {
		t.Fatal(err)
	}
	public, private, err := ca.Peer(time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	certificate, key = filepath.Join(folder, "cert.pem"), filepath.Join(folder, "key.pem")
	if err := errors.Join(os.WriteFile(certificate, public, 0o600), os.WriteFile(key, private, 0o600)); err != nil {
		t.Fatal(err)
	}
	return certificate, key
}

// TestAChangedCertificateIsReadAgain: without a restart; files that don't fit together leave the last one in use.
func TestAChangedCertificateIsReadAgain(t *testing.T) {
	folder := t.TempDir()
	certificate, key := certificatePair(t, folder)
	m := newMachine(t)
	r := m.startWith(func(o *Options) { o.Listen, o.TLSCert, o.TLSKey = "127.0.0.1:0", certificate, key })
	made, err := r.addToken(api.AccessTokenRequest{Name: "alice", Role: api.Viewer})
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(made.Server, "https://"))
	serial := func() string {
		conn, err := tls.Dial("tcp", "127.0.0.1:"+port, &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		return conn.ConnectionState().PeerCertificates[0].SerialNumber.String()
	}
	first := serial()
	stamp := func(path string, at time.Time) {
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	certificatePair(t, folder)
	stamp(certificate, time.Now().Add(time.Second))
	second := serial()
	if second == first {
		t.Error("the changed certificate is not served")
	}
	if err := os.WriteFile(key, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	stamp(key, time.Now().Add(2*time.Second))
	if serial() != second {
		t.Error("the last good certificate is not served")
	}
}
