package link

import (
	"crypto/tls"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"tend.dev/tend/internal/core/boundary"
)

// TestHeadersBeforeTheSettings: requests that are sent before the server's settings have come refer to no header that
// the server has dropped. A server that can't read one ends the connection, with all that is on it.
func TestHeadersBeforeTheSettings(t *testing.T) {
	tls1 := httptest.NewUnstartedServer(nil) // has a certificate, and is asked nothing
	tls1.EnableHTTP2 = true
	tls1.StartTLS()
	defer tls1.Close()
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: tls1.TLS.Certificates, NextProtos: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: tls1.Certificate().Raw})
	client, err := newHTTP(Link{Trust: Trust{Authority: string(authority)}}, &trips{now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		go func() {
			request, err := http.NewRequest(http.MethodGet, "https://"+listener.Addr().String(), http.NoBody)
			if err != nil {
				panic(err)
			}
			for _, name := range []string{"A", "B", "C", "D"} {
				request.Header.Set(name, strings.Repeat(name, 200))
			}
			if answer, err := client.Do(request); err == nil {
				_ = answer.Body.Close()
			}
		}()
	}
	if err := readsHeaders(listener, 2); err != nil {
		t.Error(err)
	}
}

// readsHeaders reads the heads of requests on one connection as a server does whose settings haven't come yet.
func readsHeaders(listener net.Listener, requests int) error {
	conn, err := listener.Accept()
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		return err
	}
	if _, err := io.CopyN(io.Discard, conn, int64(len(http2.ClientPreface))); err != nil {
		return err
	}
	framer, table := http2.NewFramer(io.Discard, conn), hpack.NewDecoder(boundary.HeaderTable, nil)
	for requests > 0 {
		frame, err := framer.ReadFrame()
		if err != nil {
			return err
		}
		head, is := frame.(*http2.HeadersFrame)
		if !is {
			continue
		}
		if _, err := table.DecodeFull(head.HeaderBlockFragment()); err != nil {
			return errors.Join(errors.New("COMPRESSION_ERROR"), err)
		}
		requests--
	}
	return nil
}
