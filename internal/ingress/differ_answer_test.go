package ingress

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// answers begin FuzzAnswersMeanTheSame.
var answers = []string{
	"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX: 1\r\nX: 2\r\n\r\nhello",
	"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello and more",
	"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello",
	"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n0\r\n\r\n",
	"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX-Trailer: 1\r\n\r\n",
	"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\nhello\n0\n\n",
	"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
	"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\nhello",
	"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
	"HTTP/1.1 200 OK\r\nContent_Length: 3\r\n\r\nhello",
	"HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
	"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\nEtag: x\r\n\r\n",
	"HTTP/1.1 200 OK\r\n\r\nto the end",
	"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\nto the end",
	"HTTP/1.1 200 OK\r\nX: a\rSet-Cookie: b\r\nContent-Length: 0\r\n\r\n",
	"HTTP/1.1 200\r\nX: a\r\n b\r\nContent-Length: 0\r\n\r\n",
	"HTTP/1.1 999 \xff\r\nContent-Length: 1\r\nKeep-Alive: 5\r\nDate: now\r\n\r\n.",
	"HTTP/1.1 200 OK\r\nContent-Length: 000000000005\r\nConnection: close\r\n\r\nhello",
}

var lastChunk = regexp.MustCompile(`0[ \t]*(;.*)?\r?\n`)

// spoken is a connection on which everything was said already; what is written to it is kept.
type spoken struct {
	net.Conn
	said    *bytes.Reader
	written bytes.Buffer
}

func (s *spoken) Read(into []byte) (int, error)   { return s.said.Read(into) }
func (s *spoken) Write(text []byte) (int, error)  { return s.written.Write(text) }
func (s *spoken) SetReadDeadline(time.Time) error { return nil }
func (s *spoken) Close() error                    { return nil }

// FuzzAnswersMeanTheSame: an answer that is passed on without net/http is to a client what net/http reads in the same bytes; one
// that broke off is none, and only where all of it was read the connection is kept.
func FuzzAnswersMeanTheSame(f *testing.F) {
	for _, text := range answers {
		f.Add([]byte(text), false)
		f.Add([]byte(text), true)
	}
	f.Fuzz(func(t *testing.T, text []byte, bare bool) {
		method := map[bool]string{false: http.MethodGet, true: http.MethodHead}[bare]
		client := &spoken{}
		c := newConversation(&plainSite{}, client)
		if !c.request.Parse([]byte(method + " / HTTP/1.1\r\nHost: a\r\n\r\n")) {
			t.Fatal("the request isn't plain")
		}
		l := &link{Conn: &spoken{said: bytes.NewReader(text)}}
		l.reader = bufio.NewReaderSize(l, longestAnswerHead)
		if plain, err := c.readHead(l); !plain || err != nil {
			return
		}
		passed, failure := c.pass(l)
		rest, _ := io.ReadAll(l.reader)
		want, wantBody, wantErr, wantRest := understand(text, method)
		if want == nil {
			t.Fatalf("net/http reads no answer (%v), and the client gets %q from %q", wantErr, client.written.Bytes(), text)
		}
		// What follows the last chunk is not read: a body is whole without it, and the connection of no further use.
		whole := wantErr == nil || c.answer.Chunked && c.answer.Close && lastChunk.Match(text)
		if (failure == nil) != whole && (failure == nil) != (wantErr == nil) {
			t.Fatalf("whole is %v here and %v by net/http: %q", failure, wantErr, text)
		}
		if failure != nil {
			if _, _, err, _ := understand(client.written.Bytes(), method); err == nil {
				t.Fatalf("a client takes what broke off for whole: %q from %q", client.written.Bytes(), text)
			}
			return
		}
		got, gotBody, gotErr, gotRest := understand(client.written.Bytes(), method)
		if gotErr != nil || len(gotRest) > 0 || passed != int64(len(wantBody)) || !bytes.Equal(gotBody, wantBody) {
			t.Fatalf("%v, rest %q, %d passed: %q from %q", gotErr, gotRest, passed, client.written.Bytes(), text)
		}
		if got, want := ofClient(got), ofClient(want); got != want {
			t.Fatalf("of %q the client gets\n%s\nby net/http\n%s", text, got, want)
		}
		if !c.answer.Close && !bytes.Equal(rest, wantRest) {
			t.Fatalf("on the kept connection is left %q, by net/http %q, from %q", rest, wantRest, text)
		}
	})
}

// understand is what net/http reads in an answer's bytes.
func understand(text []byte, method string) (*http.Response, []byte, error, []byte) {
	reader := bufio.NewReaderSize(bytes.NewReader(text), longestAnswerHead)
	response, err := http.ReadResponse(reader, &http.Request{Method: method})
	if err != nil {
		return nil, nil, err, nil
	}
	body, err := io.ReadAll(response.Body)
	rest, _ := io.ReadAll(reader)
	return response, body, err, rest
}

// ofClient is all of an answer's head that is the client's affair.
func ofClient(r *http.Response) string {
	lines := []string{r.Status}
	for name, values := range r.Header {
		switch name {
		case "Connection", "Keep-Alive", "Date":
		default:
			lines = append(lines, fmt.Sprintf("%s: %q", name, values))
		}
	}
	slices.Sort(lines[1:])
	return strings.Join(lines, "\n")
}
