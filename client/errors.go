package client

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"tend.dev/tend/api"
)

// UnreachableError is a server that doesn't answer.
type UnreachableError struct {
	Server string
	// From names the origin of Server, such as TEND_SERVER. Empty if it is a default.
	From string
	Err  error
	// Sent is set if the connection was cut or timed out after it was made. The server may have carried out the request.
	Sent bool
}

func (e *UnreachableError) Error() string {
	if e.Denied() {
		return fmt.Sprintf("no permission to reach %s: %v\n  the socket belongs to another user: use sudo, or --server http://127.0.0.1:8686 with its token (TEND_TOKEN)", e.Server, e.Err)
	}
	if ssh, ok := errors.AsType[*SSHError](e.Err); ok {
		return fmt.Sprintf("no server answers at %s: %v\n  `ssh HOST tend version` has to work without a question first",
			e.named(), ssh)
	}
	if e.Sent {
		return fmt.Sprintf("the connection to %s was cut before the server answered: %v\n  a change it was asked for may be stored: check before you repeat it",
			e.Server, e.Err)
	}
	next, why := "start one (`tend dev` here, `tend server` on a host), or name it by --server", fmt.Sprint(e.Err)
	if e.From != "" {
		next = "correct " + e.From + ", or start that server (tend server)"
	}
	if strings.HasPrefix(e.Server, "unix:") && errors.Is(e.Err, fs.ErrNotExist) {
		why = "there is no such socket"
	}
	return fmt.Sprintf("no server answers at %s: %s\n  %s", e.named(), why, next)
}

// named returns the server with its origin.
func (e *UnreachableError) named() string {
	if e.From == "" {
		return e.Server
	}
	return e.Server + " (from " + e.From + ")"
}

// Denied reports whether this user lacks the right to open the server's socket. A retry doesn't help.
func (e *UnreachableError) Denied() bool {
	return strings.HasPrefix(e.Server, "unix:") && errors.Is(e.Err, fs.ErrPermission)
}

// Unwrap returns the network's own error.
func (e *UnreachableError) Unwrap() error { return e.Err }

// StatusOf returns the HTTP status of a server's problem, or 0 for any other error.
func StatusOf(err error) int {
	if problem, ok := errors.AsType[*api.Problem](err); ok {
		return problem.Status
	}
	return 0
}

// IsNotFound reports whether the requested object does not exist.
func IsNotFound(err error) bool { return StatusOf(err) == http.StatusNotFound }

// IsConflict reports whether the request conflicts with the state of the store. The conflict may pass.
func IsConflict(err error) bool { return StatusOf(err) == http.StatusConflict }

// IsGone reports whether a watch can't continue from its revision: list again.
func IsGone(err error) bool { return StatusOf(err) == http.StatusGone }

// CertificateError means that this client doesn't trust the server's certificate: nothing was sent to it.
type CertificateError struct {
	Server string
	Err    error
}

func (e *CertificateError) Error() string {
	next := "is it the right server? ask an admin for a token that names its authority (tend tokens add), or give it a certificate that this machine trusts (--tls-cert)"
	if errors.Is(e.Err, errOtherAuthority) {
		next = "is it the right server? if it has another certificate now, ask an admin for a new token (tend tokens add)"
	}
	return fmt.Sprintf("the server at %s is not trusted: %v\n  %s", e.Server, e.Err, next)
}

// Unwrap returns the error of the handshake.
func (e *CertificateError) Unwrap() error { return e.Err }

// certificateFault returns the error of a handshake that failed for the server's certificate, or because the server
// speaks no TLS; nil for any other error.
func certificateFault(server string, err error) error {
	var untrusted *tls.CertificateVerificationError
	var plain tls.RecordHeaderError
	switch {
	case errors.Is(err, errOtherAuthority):
		return &CertificateError{server, errOtherAuthority}
	case errors.As(err, &untrusted):
		return &CertificateError{server, untrusted.Err}
	case errors.As(err, &plain):
		return &CertificateError{server, errors.New("it doesn't answer with TLS")}
	}
	return nil
}

func isThere(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// tokenFile returns the path of the token of this machine's server, or the default one if none is visible here.
func tokenFile() string {
	for _, root := range roots(os.Getenv) {
		if path := filepath.Join(root, TokenName); isThere(path) {
			return path
		}
	}
	return filepath.Join(DefaultRoot, TokenName)
}

// refused returns the error of a server that refuses calls with this client's token.
func (c *Client) refused(response *http.Response) error {
	if strings.HasPrefix(c.token, api.AccessTokenPrefix+".") || strings.HasPrefix(c.server, "https:") && c.token != "" {
		return problemFrom(response)
	}
	problem := &api.Problem{
		Status: http.StatusUnauthorized, Title: http.StatusText(http.StatusUnauthorized),
		Detail: fmt.Sprintf("the server at %s refuses the token from %s: it doesn't know that token", c.server,
			cmp.Or(c.from, "this client")),
		Next: "set TEND_TOKEN to the content of " + tokenFile() + " on that server's machine; " +
			"or, on that machine, leave --server out: its socket needs no token",
	}
	if c.from == "--token" {
		problem.Next = "correct --token: the token is in " + tokenFile() + " on that server's machine"
	}
	if strings.HasPrefix(c.server, "https:") {
		problem.Next = "ask an admin for a token (tend tokens add NAME), and set TEND_TOKEN"
	}
	if c.token == "" {
		problem.Detail = fmt.Sprintf("the server at %s asks for a token, and there is none in %s", c.server,
			cmp.Or(c.from, "this client's options"))
	}
	return problem
}
