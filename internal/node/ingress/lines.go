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

// dialer makes the connections to pods. One that is gone doesn't always say so: the timeout has room for one packet
// that is lost.
var dialer = &net.Dialer{Timeout: 1500 * time.Millisecond, KeepAlive: 30 * time.Second}

// lines are the connections to one pod. Each pod has its own, so that only the connections of a pod that leaves are
// closed.
type lines struct {
	plain *http.Transport // HTTP/1.1
	h2c   *http.Transport // HTTP/2 without TLS, which gRPC needs
}

// newLines returns those to one pod; open follows each new connection, unless it is nil.
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

// of returns what a request goes over.
func (l *lines) of(request *http.Request) *http.Transport {
	if isGRPC(request) {
		return l.h2c
	}
	return l.plain
}

// closeIdle closes the idle connections, and those that become idle until the next request: a pod that is to end
// needn't wait for them.
func (l *lines) closeIdle() {
	l.plain.CloseIdleConnections()
	l.h2c.CloseIdleConnections()
}

func isGRPC(request *http.Request) bool {
	return request.ProtoMajor == 2 && strings.HasPrefix(request.Header.Get("Content-Type"), "application/grpc")
}
