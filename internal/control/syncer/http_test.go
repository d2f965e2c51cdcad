package syncer

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"sync"
	"testing"

	"tend.dev/tend/api"
)

// web is a server whose answer the test sets. It answers 304 for the ETag that it gave.
type web struct {
	*httptest.Server
	mu     sync.Mutex
	status int
	body   []byte
	header map[string]string
	seen   []*http.Request
}

func newWeb(t *testing.T) *web {
	s := &web{status: http.StatusOK}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.seen = append(s.seen, r)
		tag := fmt.Sprintf("%q", digestText(string(s.body)))
		for name, value := range s.header {
			w.Header().Set(name, value)
		}
		if s.status == http.StatusOK && r.Header.Get("If-None-Match") == tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		w.Header().Set("ETag", tag)
		w.WriteHeader(s.status)
		_, _ = w.Write(s.body)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *web) answer(status int, body string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status, s.body = status, []byte(body)
}

func (s *web) last() *http.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen[len(s.seen)-1]
}

// archived returns a .tar.gz of files, in any order.
func archived(t *testing.T, headers []tar.Header, text string) string {
	t.Helper()
	var out bytes.Buffer
	packed := gzip.NewWriter(&out)
	w := tar.NewWriter(packed)
	for _, h := range headers {
		if h.Typeflag == tar.TypeReg {
			h.Size, h.Mode = int64(len(text)), 0o644
		}
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg {
			if _, err := w.Write([]byte(text)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if w.Close() != nil || packed.Close() != nil {
		t.Fatal("close the archive")
	}
	return out.String()
}

// TestAServerThatAnswersWithASecret: no fault has what it was sent.
func TestAServerThatAnswersWithASecret(t *testing.T) {
	w := newWorld(t)
	s := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		conn, _, err := out.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		fmt.Fprintf(conn, "HTTP/1.1 403 no: %s %s\r\nContent-Length: 0\r\n\r\n", r.URL.RawQuery,
			r.Header.Get("Authorization"))
	}))
	defer s.Close()
	for name, spec := range map[string]api.SyncSpec{
		"query": {HTTP: s.URL + "/x.hcl?token=s3cret%2Ft0ken"},
		"login": {HTTP: s.URL + "/x.hcl", Username: "me", Password: "s3cret/t0ken"},
		"token": {HTTP: s.URL + "/x.hcl", Password: "s3cret/t0ken"},
	} {
		w.wantFault(name, spec, api.ReasonFetchFailed, "the server answered 403 no: ", "xxxxx")
		_, fault := w.poll(spec)
		for _, secret := range []string{"t0ken", "czNjcmV0", "bWU6czNjcmV0"} {
			if strings.Contains(fault, secret) {
				t.Errorf("%s: %q shows %q", name, fault, secret)
			}
		}
	}
}

// TestAManifestByHTTP: 200, 304, another 200, 500, gone, and a login.
func TestAManifestByHTTP(t *testing.T) {
	w, s := newWorld(t), newWeb(t)
	spec := api.SyncSpec{HTTP: s.URL + "/shop.hcl?token=s3cret"}
	s.answer(200, manifestOf("web", "web:1"))
	first := w.want("200", spec, "web=web:1")
	if again := w.want("304", spec, "web=web:1"); again != first || s.last().Header.Get("If-None-Match") == "" {
		t.Errorf("revision %s, then %s; asked with %v", first, again, s.last().Header)
	}
	w.syncer = New(w.syncer.Options) // another process: the body is on the disk
	if again := w.want("304 in another process", spec, "web=web:1"); again != first ||
		s.last().Header.Get("If-None-Match") == "" {
		t.Errorf("revision %s, then %s; asked with %v", first, again, s.last().Header)
	}
	s.answer(500, "oops")
	w.wantFault("500", spec, api.ReasonFetchFailed, "the server answered 500 Internal Server Error", "/shop.hcl")
	s.answer(404, "")
	w.wantFault("404", spec, api.ReasonFetchFailed, "404")
	s.answer(200, manifestOf("web", "web:2"))
	if got := w.want("200 again", spec, "web=web:2"); got == first || !strings.HasPrefix(got, "sha256:") {
		t.Errorf("revision %s", got)
	}
	s.answer(200, "")
	w.wantFault("empty", spec, api.ReasonInvalidManifests, "no manifest")
	s.answer(200, manifestOf("web", "web:3"))
	w.want("with a login", api.SyncSpec{HTTP: s.URL + "/shop.hcl", Username: "ci", Password: "s3cret"}, "web=web:3")
	if user, password, _ := s.last().BasicAuth(); user != "ci" || password != "s3cret" {
		t.Errorf("login %s:%s", user, password)
	}
	w.want("with a token", api.SyncSpec{HTTP: s.URL + "/shop.hcl", Password: "s3cret"}, "web=web:3")
	if got := s.last().Header.Get("Authorization"); got != "Bearer s3cret" {
		t.Errorf("Authorization: %s", got)
	}
	w.wantFault("unreachable", api.SyncSpec{HTTP: "http://127.0.0.1:1/shop.hcl"}, api.ReasonFetchFailed,
		"connection refused")
}

// TestTheLanguageOfAnAnswer: the URL's ending says it, else the Content-Type.
func TestTheLanguageOfAnAnswer(t *testing.T) {
	w, s := newWorld(t), newWeb(t)
	json := `{"kind":"deployment","scope":"shop","name":"web","spec":{"image":"web:1"}}`
	for name, tc := range map[string]struct{ path, contentType, body, fault string }{
		"by its ending":    {"/a.json", "text/plain", json, ""},
		"by its type":      {"/a", "application/json; charset=utf-8", json, ""},
		"yaml by its type": {"/", "application/yaml", json, ""},
		"neither": {"/a", "text/plain", json,
			"neither the URL nor the Content-Type says in which language"},
		"a page of an answer": {"/a.yaml", "text/html", "<html>", "a.yaml"},
	} {
		s.answer(200, tc.body)
		s.header = map[string]string{"Content-Type": tc.contentType}
		w.applied = ""
		_, fault := w.poll(api.SyncSpec{HTTP: s.URL + tc.path})
		if tc.fault == "" && (fault != "" || w.applied != "web=web:1") || !strings.Contains(fault, tc.fault) {
			t.Errorf("%s: applied %q; %s", name, w.applied, fault)
		}
	}
}

func TestArchives(t *testing.T) {
	w, s := newWorld(t), newWeb(t)
	spec := api.SyncSpec{HTTP: s.URL + "/shop.tar.gz"}
	file := func(name string) tar.Header { return tar.Header{Name: name, Typeflag: tar.TypeReg} }
	s.answer(200, archived(t, []tar.Header{file("shop-1/deploy/web.hcl"),
		{Name: "pax", Typeflag: tar.TypeXGlobalHeader, PAXRecords: map[string]string{"comment": "x"}}},
		manifestOf("web", "web:1")))
	w.want("an archive", spec, "web=web:1")
	spec.Path = "shop-1/deploy"
	w.want("a folder of it", spec, "web=web:1")
	spec.Path = ""
	for name, headers := range map[string][]tar.Header{
		"leads out": {file("../web.hcl")},
		"absolute":  {file("/etc/web.hcl")},
		"link":      {{Name: "a", Typeflag: tar.TypeSymlink, Linkname: "../../x"}},
		"hard link": {{Name: "a", Typeflag: tar.TypeLink, Linkname: "/etc/passwd"}},
		"device":    {{Name: "a", Typeflag: tar.TypeChar}},
		"twice":     {file("web.hcl"), file("web.hcl")},
		"through a link": {{Name: "a", Typeflag: tar.TypeSymlink, Linkname: "b"}, file("a/web.hcl"),
			file("b/web.hcl")},
		"a device, in pipe": {{Name: "p", Typeflag: tar.TypeFifo}},
	} {
		s.answer(200, archived(t, headers, manifestOf("web", "web:1")))
		w.applied = ""
		if _, fault := w.poll(spec); !strings.HasPrefix(fault, api.ReasonNotAllowed+": the tree is refused") ||
			w.applied != "" {
			t.Errorf("%s: %q; applied %q", name, fault, w.applied)
		}
	}
	w.syncer.MaxBytes = 1 << 20
	bomb := archived(t, []tar.Header{file("web.hcl")}, strings.Repeat(" ", 2<<20))
	if len(bomb) > 1<<16 {
		t.Fatalf("the bomb has %d bytes", len(bomb))
	}
	s.answer(200, bomb)
	w.wantFault("a bomb", spec, api.ReasonNotAllowed, "larger than 1 MiB")
	s.answer(200, archived(t, []tar.Header{file("web.hcl")}, manifestOf("web", "web:1"))[:60])
	w.wantFault("cut off", spec, api.ReasonFetchFailed, "unexpected EOF")
	s.answer(200, strings.Repeat(" ", 1<<20+1))
	w.wantFault("too large", spec, api.ReasonNotAllowed, "larger than 1 MiB")
}

func TestChecksum(t *testing.T) {
	w, s := newWorld(t), newWeb(t)
	text := manifestOf("web", "web:1")
	s.answer(200, text)
	spec := api.SyncSpec{HTTP: s.URL + "/shop.hcl", Checksum: "sha256:" + digestText(text)}
	w.want("as it should be", spec, "web=web:1")
	s.answer(200, manifestOf("web", "web:2"))
	w.wantFault("changed", spec, api.ReasonNotVerified, "not "+spec.Checksum)
	w.wantFault("still changed, and 304", spec, api.ReasonNotVerified)
}

// TestRedirects: they are followed, without the login on another host, and never endlessly.
func TestRedirects(t *testing.T) {
	w, s, other := newWorld(t), newWeb(t), newWeb(t)
	other.answer(200, manifestOf("web", "web:1"))
	target := strings.Replace(other.URL, "127.0.0.1", "localhost", 1)
	s.answer(302, "")
	s.header = map[string]string{"Location": target + "/x.hcl"}
	w.wantFault("to this machine, untrusted", api.SyncSpec{HTTP: s.URL + "/shop.hcl"}, api.ReasonFetchFailed,
		"only what is trusted may reach\nNext: write that address in the URL")
	w.want("to another host", api.SyncSpec{HTTP: s.URL + "/shop.hcl", Username: "ci", Password: "s3cret",
		Trusted: true}, "web=web:1")
	if got := other.last().Header.Get("Authorization"); got != "" {
		t.Errorf("another host got the login: %s", got)
	}
	w.want("with a token", api.SyncSpec{HTTP: s.URL + "/shop.hcl?private_token=t0ken", Trusted: true}, "web=web:1")
	if got := fmt.Sprint(other.last().URL, other.last().Header); strings.Contains(got, "t0ken") {
		t.Errorf("another host got the token: %s", got)
	}
	s.header = map[string]string{"Location": s.URL + "/shop.hcl"}
	w.wantFault("in a circle", api.SyncSpec{HTTP: s.URL + "/shop.hcl"}, api.ReasonFetchFailed,
		"redirects more than 5 times")
}

// TestANameOfThisMachine: what the name of a source that is not trusted leads to is looked at with each connection; its
// owner could have it lead here.
func TestANameOfThisMachine(t *testing.T) {
	w, s := newWorld(t), newWeb(t)
	s.answer(200, manifestOf("web", "web:1"))
	w.syncer.HTTP.Transport = &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn,
		error) {
		// every name leads here
		return (&net.Dialer{}).DialContext(ctx, network, s.Listener.Addr().String())
	}}
	named := "http://shop.invalid"
	w.wantFault("untrusted", api.SyncSpec{HTTP: named + "/shop.hcl"}, api.ReasonFetchFailed)
	if len(s.seen) > 0 {
		t.Errorf("%d requests came", len(s.seen))
	}
	w.want("trusted", api.SyncSpec{HTTP: named + "/shop.hcl", Trusted: true}, "web=web:1")
	w.want("by its address", api.SyncSpec{HTTP: s.URL + "/shop.hcl"}, "web=web:1")
	w.want("by the name of this machine",
		api.SyncSpec{HTTP: strings.Replace(s.URL, "127.0.0.1", "LOCALHOST", 1) + "/shop.hcl"}, "web=web:1")
}

// TestARepositoryByANameOfThisMachine: git looks no name up for a source that is not trusted. It is looked up once
// for a poll, and refused where it leads here.
func TestARepositoryByANameOfThisMachine(t *testing.T) {
	w, s := newWorld(t), newWeb(t)
	s.answer(404, "")
	named := strings.Replace(s.URL, "127.0.0.1", "shop.invalid", 1) + "/shop.git"
	leads, looked := "127.0.0.1", 0
	w.syncer.Find = func(_ context.Context, _, host string) ([]netip.Addr, error) {
		if looked++; leads == "" {
			return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
		}
		return []netip.Addr{netip.MustParseAddr(leads)}, nil
	}
	w.wantFault("it leads here", api.SyncSpec{Git: named}, api.ReasonFetchFailed,
		"git: shop.invalid: 127.0.0.1 is on the caller's own machine", nextHere)
	if looked != 1 || len(s.seen) > 0 {
		t.Errorf("it was looked up %d times, and %d requests came", looked, len(s.seen))
	}
	leads = ""
	w.wantFault("it leads nowhere", api.SyncSpec{Git: named}, api.ReasonFetchFailed, "git: shop.invalid: lookup",
		"no such host", "Next: correct the URL")
	looked = 0
	if _, fault := w.poll(api.SyncSpec{Git: named, Trusted: true}); looked > 0 {
		t.Errorf("that of a trusted source was looked up: %s", fault)
	}
	if _, fault := w.poll(api.SyncSpec{Git: s.URL + "/shop.git"}); len(s.seen) == 0 || looked > 0 {
		t.Errorf("an address in the URL is not asked: %s", fault)
	}
	proxy := newWeb(t)
	proxy.answer(404, "")
	w.syncer.Environ = func() []string { return []string{"PATH=" + os.Getenv("PATH"), "http_proxy=" + proxy.URL} }
	if _, fault := w.poll(api.SyncSpec{Git: named}); len(proxy.seen) == 0 {
		t.Errorf("the proxy, which looks names up, is not asked: %s", fault)
	}
}

// TestANameThatIsNotFoundIsThatOfAProxyAlone: git would look it up itself where it uses no proxy. Another error says
// nothing of the name.
func TestANameThatIsNotFoundIsThatOfAProxyAlone(t *testing.T) {
	missing := &net.DNSError{Err: "no such host", IsNotFound: true}
	for name, tc := range map[string]struct {
		url  string
		env  []string
		err  error
		want bool
	}{
		"http":                   {"http://shop.invalid/x", []string{"http_proxy=http://p:1"}, missing, true},
		"https":                  {"https://shop.invalid/x", []string{"HTTPS_PROXY=http://p:1"}, missing, true},
		"https, only http_proxy": {"https://shop.invalid/x", []string{"http_proxy=http://p:1"}, missing, false},
		"http, in capitals":      {"http://shop.invalid/x", []string{"HTTP_PROXY=http://p:1"}, missing, false},
		"git": {"git://shop.invalid/x", []string{"http_proxy=http://p:1", "https_proxy=http://p:1"},
			missing, false},
		"not through the proxy": {"https://shop.invalid/x", []string{"https_proxy=http://p:1", "no_proxy=.invalid"},
			missing, false},
		"not through it either": {"https://shop.invalid/x",
			[]string{"https_proxy=http://p:1", "NO_PROXY=shop.invalid"}, missing, false},
		"a fault of this machine": {"https://shop.invalid/x", []string{"https_proxy=http://p:1"}, os.ErrPermission,
			false},
	} {
		w := newWorld(t)
		w.syncer.Find = func(context.Context, string, string) ([]netip.Addr, error) { return nil, tc.err }
		w.syncer.Environ = func() []string { return tc.env }
		r := repository{s: w.syncer, spec: api.SyncSpec{Git: tc.url}}
		if err := r.pin(t.Context()); (err == nil) != tc.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAnAddressIsNotPinned: it leads nowhere else, and the option of git takes none of IPv6.
func TestAnAddressIsNotPinned(t *testing.T) {
	for address, want := range map[string]int{"https://[2001:db8::1]/x": 0, "http://192.0.2.3:80/x": 0,
		"https://shop.invalid/x": 1} {
		w := newWorld(t)
		r := repository{s: w.syncer, spec: api.SyncSpec{Git: address}}
		if err := r.pin(t.Context()); err != nil || len(r.access.At) != want {
			t.Errorf("%s: pinned to %v, %v", address, r.access.At, err)
		}
	}
}

// TestARepositoryThatRedirects: git follows it for a source that is trusted alone.
func TestARepositoryThatRedirects(t *testing.T) {
	w, s, inside := newWorld(t), newWeb(t), newWeb(t)
	inside.answer(404, "")
	s.answer(302, "")
	s.header = map[string]string{"Location": inside.URL + "/x/info/refs?service=git-upload-pack"}
	w.wantFault("untrusted", api.SyncSpec{Git: s.URL + "/shop.git"}, api.ReasonFetchFailed,
		"the server of the repository redirects")
	if len(s.seen) == 0 || len(inside.seen) > 0 {
		t.Errorf("%d requests came, and %d where it redirects", len(s.seen), len(inside.seen))
	}
	if _, fault := w.poll(api.SyncSpec{Git: s.URL + "/shop.git", Trusted: true}); len(inside.seen) == 0 {
		t.Errorf("trusted, it isn't followed: %s", fault)
	}
}
