package ingress

import (
	"net"
	"net/http"
	"strings"
	"time"
)

// How many idle connections to one pod are kept, and for how long.
const (
	maxIdleLines = 256
	idleLineLife = 60 * time.Second
)

// maxAnswerHead bounds the head of a pod's answer.
const maxAnswerHead = 1 << 20

// dialer makes the connections to pods. A pod that is gone may not refuse the connection, so there is a timeout; it
// allows for one lost packet.
var dialer = &net.Dialer{Timeout: 1500 * time.Millisecond, KeepAlive: 30 * time.Second}

// lines are the connections to one pod. Each pod has its own, so that the connections of a removed pod can be closed
// alone.
type lines struct {
	plain *http.Transport // HTTP/1.1
	h2c   *http.Transport // HTTP/2 without TLS, which gRPC needs
}

// newLines returns the connections to one pod; open, unless nil, runs on each new connection.
func newLines(answer time.Duration, open opening) *lines {
	l := &lines{
		plain: &http.Transport{
			DialContext: open.after(dialLine), MaxIdleConnsPerHost: maxIdleLines, IdleConnTimeout: idleLineLife,
			DisableCompression:    true,
			ExpectContinueTimeout: time.Second, ResponseHeaderTimeout: answer, MaxResponseHeaderBytes: maxAnswerHead,
		},
		h2c: &http.Transport{
			DialContext: open.after(dialer.DialContext), IdleConnTimeout: idleLineLife, DisableCompression: true,
			MaxResponseHeaderBytes: maxAnswerHead,
			Protocols:              new(http.Protocols),
		},
	}
	l.h2c.Protocols.SetUnencryptedHTTP2(true)
	return l
}

// of returns the transport for a request.
func (l *lines) of(request *http.Request) *http.Transport {
	if isGRPC(request) {
		return l.h2c
	}
	return l.plain
}

// closeIdle closes the idle connections, and those that become idle until the next request: a pod that must end needn't
// wait for them.
func (l *lines) closeIdle() {
	l.plain.CloseIdleConnections()
	l.h2c.CloseIdleConnections()
}

func isGRPC(request *http.Request) bool {
	return request.ProtoMajor == 2 && strings.HasPrefix(request.Header.Get("Content-Type"), "application/grpc")
}
