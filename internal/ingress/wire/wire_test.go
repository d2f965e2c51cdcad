package wire

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
)

const plainRequest = "GET /a/b?q=%20x HTTP/1.1\r\nHost: shop.org:8080\r\nAccept: */*\r\nX-Forwarded-For: 6.6.6.6\r\nConnection: keep-alive\r\n\r\n"

func TestAPlainRequest(t *testing.T) {
	var r Request
	if !r.Parse([]byte(plainRequest + "GET /next")) {
		t.Fatal("it isn't plain")
	}
	if string(r.Method) != "GET" || string(r.Target) != "/a/b?q=%20x" || string(r.Path) != "/a/b" || string(r.Host) != "shop.org:8080" ||
		r.Close || r.Size != len(plainRequest) || len(r.Fields) != 1 || string(r.Fields[0].Name) != "Accept" {
		t.Errorf("%s", r.Target)
	}
}

func TestWhatIsNotPlain(t *testing.T) {
	for reason, text := range map[string]string{
		"the head isn't there yet":            "GET / HTTP/1.1\r\nHost: a\r\n",
		"a body by length":                    "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc",
		"a body in chunks":                    "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"both":                                "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
		"an encoding in disguise":             "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding : chunked\r\n\r\n",
		"a length in disguise":                "GET / HTTP/1.1\r\nHost: a\r\n Content-Length: 3\r\n\r\n",
		"a folded line":                       "GET / HTTP/1.1\r\nHost: a\r\nX: a\r\n b\r\n\r\n",
		"a bare LF":                           "GET / HTTP/1.1\r\nHost: a\nX: b\r\n\r\n",
		"a bare CR":                           "GET / HTTP/1.1\r\nHost: a\r\nX: b\rContent-Length: 3\r\n\r\n",
		"a NUL":                               "GET / HTTP/1.1\r\nHost: a\r\nX: \x00\r\n\r\n",
		"two hosts":                           "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
		"no host":                             "GET / HTTP/1.1\r\nAccept: a\r\n\r\n",
		"a host with a path":                  "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n",
		"a name that is no token":             "GET / HTTP/1.1\r\nHost: a\r\nX(: b\r\n\r\n",
		"no name":                             "GET / HTTP/1.1\r\nHost: a\r\n: b\r\n\r\n",
		"no colon":                            "GET / HTTP/1.1\r\nHost: a\r\nX\r\n\r\n",
		"an absolute target":                  "GET http://b/ HTTP/1.1\r\nHost: a\r\n\r\n",
		"an escape in the path":               "GET /%2e%2e HTTP/1.1\r\nHost: a\r\n\r\n",
		"a broken escape in the query":        "GET /?a=%zz HTTP/1.1\r\nHost: a\r\n\r\n",
		"a semicolon in the query":            "GET /?a;b HTTP/1.1\r\nHost: a\r\n\r\n",
		"a fragment":                          "GET /#a HTTP/1.1\r\nHost: a\r\n\r\n",
		"two spaces":                          "GET  / HTTP/1.1\r\nHost: a\r\n\r\n",
		"an older version":                    "GET / HTTP/1.0\r\nHost: a\r\n\r\n",
		"another method":                      "POST / HTTP/1.1\r\nHost: a\r\n\r\n",
		"a method in small letters":           "get / HTTP/1.1\r\nHost: a\r\n\r\n",
		"an upgrade":                          "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
		"fields of this connection":           "GET / HTTP/1.1\r\nHost: a\r\nConnection: close, X-Mine\r\nX-Mine: 1\r\n\r\n",
		"a wish to go on":                     "GET / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n\r\n",
		"HTTP/2":                              "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"the PROXY protocol from anybody":     "PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
		"credentials for a proxy":             "GET / HTTP/1.1\r\nHost: a\r\nProxy-Authorization: x\r\n\r\n",
		"an empty line before the first line": "\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
	} {
		var r Request
		if r.Parse([]byte(text)) {
			t.Errorf("%s passes as plain: %q", reason, text)
		}
	}
}

func TestAnswers(t *testing.T) {
	for text, want := range map[string]Answer{
		"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nDate: today\r\n\r\nhello":            {Status: 200, Length: 5, Dated: true},
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n":                       {Status: 200, Length: -1, Chunked: true},
		"HTTP/1.1 404\r\nContent-Length: 0\r\nConnection: close\r\n\r\n":              {Status: 404, Close: true},
		"HTTP/1.1 200 OK\r\n\r\nuntil the end":                                        {Status: 200, Length: -1, Close: true},
		"HTTP/1.0 200 OK\r\nContent-Length: 1\r\nConnection: keep-alive\r\n\r\n.":     {Status: 200, Length: 1, Close: true},
		"HTTP/1.1 304 Not Modified\r\nContent-Length: 500\r\n\r\n":                    {Status: 304},
		"HTTP/1.1 204 No Content\r\n\r\n":                                             {Status: 204},
		"HTTP/1.1 299 Whatever it says\r\nKeep-Alive: 5\r\nContent-Length: 0\r\n\r\n": {Status: 299},
	} {
		var got Answer
		if !got.Parse([]byte(text), false) || got.Status != want.Status || got.Length != want.Length || got.Chunked != want.Chunked ||
			got.Close != want.Close || got.Dated != want.Dated {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	}
	for reason, text := range map[string]string{
		"informational":             "HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
		"an upgrade":                "HTTP/1.1 101 Switching Protocols\r\nUpgrade: a\r\n\r\n",
		"two lengths":               "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
		"a list of lengths":         "HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\n",
		"a negative length":         "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n",
		"an endless length":         "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
		"a length and chunks":       "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
		"chunks twice":              "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
		"another encoding":          "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
		"chunks before they were":   "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
		"trailers":                  "HTTP/1.1 200 OK\r\nTrailer: X\r\nTransfer-Encoding: chunked\r\n\r\n",
		"fields of this connection": "HTTP/1.1 200 OK\r\nConnection: X-Mine\r\nContent-Length: 0\r\n\r\n",
		"a bare LF":                 "HTTP/1.1 200 OK\nContent-Length: 0\r\n\r\n",
		"a folded line":             "HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 0\r\n\r\n",
		"a status of two digits":    "HTTP/1.1 99 OK\r\n\r\n",
		"a status of four digits":   "HTTP/1.1 2000 OK\r\n\r\n",
		"another protocol":          "SSH-2.0-x 200 OK\r\n\r\n",
		"nothing with a body":       "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n",
	} {
		var got Answer
		if got.Parse([]byte(text), false) {
			t.Errorf("%s passes as plain: %q", reason, text)
		}
	}
}

// FuzzRequest: what passes as plain, net/http reads as the very same request, without a body, up to the same byte.
func FuzzRequest(f *testing.F) {
	f.Add([]byte(plainRequest))
	f.Add([]byte("HEAD /a//b/../c?x=1 HTTP/1.1\r\nhost: [::1]:80\r\nX: \xff\r\nX:\t y\t\r\nConnection: Close\r\n\r\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		var got Request
		if !got.Parse(text) {
			return
		}
		input := bytes.NewReader(text)
		reader := bufio.NewReaderSize(input, 16)
		want, err := http.ReadRequest(reader)
		if err != nil {
			t.Fatalf("net/http refuses it: %v\n%q", err, text)
		}
		if body, _ := io.ReadAll(want.Body); len(body) > 0 || want.ContentLength != 0 {
			t.Fatalf("it has a body of %d\n%q", want.ContentLength, text)
		}
		if read := len(text) - input.Len() - reader.Buffered(); read != got.Size {
			t.Fatalf("it ends at %d, for net/http at %d\n%q", got.Size, read, text)
		}
		if string(got.Method) != want.Method || string(got.Target) != want.RequestURI || string(got.Path) != want.URL.Path ||
			string(got.Host) != want.Host || got.Close != want.Close {
			t.Fatalf("%+v is not %+v\n%q", got, want, text)
		}
		for _, field := range got.Fields {
			if values := want.Header.Values(string(field.Name)); !contains(values, string(field.Value)) {
				t.Fatalf("%s: %q is not among %q\n%q", field.Name, field.Value, values, text)
			}
		}
	})
}

// FuzzAnswer: what passes as plain, net/http reads as the same answer with the same body.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"), false)
	f.Add([]byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"), false)
	f.Add([]byte("HTTP/1.0 304 x\r\nContent-Length: 5\r\n\r\n"), true)
	f.Fuzz(func(t *testing.T, text []byte, bare bool) {
		var got Answer
		if !got.Parse(text, bare) {
			return
		}
		method := "GET"
		if bare {
			method = "HEAD"
		}
		want, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(text)), &http.Request{Method: method})
		if err != nil {
			t.Fatalf("net/http refuses it: %v\n%q", err, text)
		}
		length := want.ContentLength
		if bare || got.Status == 304 || got.Status == 204 {
			length = 0
		}
		if got.Status != want.StatusCode || got.Length != length || got.Chunked != (len(want.TransferEncoding) > 0 && length != 0) {
			t.Fatalf("%+v is not %+v\n%q", got, want, text)
		}
	})
}

func contains(values []string, value string) bool {
	for _, v := range values {
		if strings.Trim(v, " \t") == value {
			return true
		}
	}
	return false
}

// TestWhatAClientSaysOfItself is left out, however it spells it.
func TestWhatAClientSaysOfItself(t *testing.T) {
	var r Request
	if !r.Parse([]byte("GET / HTTP/1.1\r\nHost: a\r\nX_Forwarded-For: b\r\nX-REAL_IP: b\r\nForwarded: b\r\nX-Forwarded-Port: 1\r\nX_Mine: c\r\n\r\n")) {
		t.Fatal("it isn't plain")
	}
	if len(r.Fields) != 2 || string(r.Fields[0].Name) != "X-Forwarded-Port" || string(r.Fields[1].Name) != "X_Mine" {
		t.Errorf("%q", r.Fields)
	}
}

func TestDotted(t *testing.T) {
	for path, want := range map[string]bool{
		"/a/..": true, "/.": true, "/./a": true, "/a/../b": true, "/...": false, "/.a": false, "/a./b..": false, "/..a/.": true, "*": false,
		`/a/..\b`: true, `/a\..\b`: true, "/a/..;/b": true, "/a/.;x": true, "/a/...;": false, `/a\b`: false, "/": false, "": false,
	} {
		if Dotted(path) != want {
			t.Errorf("%s: %v", path, !want)
		}
	}
}
