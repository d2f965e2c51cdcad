package client

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"tend.dev/tend/api"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestDiscover(t *testing.T) {
	root, home := t.TempDir(), t.TempDir()
	user := filepath.Join(home, ".local", "share", "tend")
	for _, folder := range []string{root, user} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		for name, content := range map[string]string{SocketName: "", TokenName: filepath.Base(folder) + "-token\n"} {
			if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	cases := map[string]struct {
		reason string
		env    map[string]string
		want   Options
	}{
		"server": {"TEND_SERVER wins", map[string]string{"TEND_SERVER": "unix:///x", "TEND_ROOT": root},
			Options{Server: "unix:///x", ServerFrom: "TEND_SERVER"}},
		"root": {"TEND_ROOT names the folder, there or not",
			map[string]string{"TEND_ROOT": root + "/none", "HOME": home},
			Options{Server: "unix://" + root + "/none/tend.sock", ServerFrom: "TEND_ROOT"}},
		"user": {"a user's own server is found", map[string]string{"HOME": home},
			Options{Server: "unix://" + user + "/tend.sock"}},
		"xdg": {"XDG_DATA_HOME moves it", map[string]string{"HOME": "/none", "XDG_DATA_HOME": filepath.Dir(user)},
			Options{Server: "unix://" + user + "/tend.sock"}},
		"token file": {"another program may listen there: it doesn't get the root's token",
			map[string]string{"TEND_SERVER": "http://127.0.0.1:1", "TEND_ROOT": user},
			Options{Server: "http://127.0.0.1:1", ServerFrom: "TEND_SERVER", TokenFrom: "--token, TEND_TOKEN"}},
		"token given": {"TEND_TOKEN wins",
			map[string]string{"TEND_SERVER": "http://127.0.0.1:1", "TEND_ROOT": user, "TEND_TOKEN": "t"},
			Options{Server: "http://127.0.0.1:1", ServerFrom: "TEND_SERVER", Token: "t", TokenFrom: "TEND_TOKEN"}},
		"socket alone": {"the socket needs no token", map[string]string{"TEND_ROOT": user},
			Options{Server: "unix://" + user + "/tend.sock", ServerFrom: "TEND_ROOT"}},
	}
	if _, err := os.Stat(filepath.Join(DefaultRoot, SocketName)); err == nil {
		t.Fatal("a system's server runs on this machine: it would be found first")
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := Discover(func(key string) string { return tc.env[key] })
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: %s", tc.reason, diff)
			}
		})
	}
}

// TestDiscoverDev: a `tend dev` of the working directory is found where no other server is.
func TestDiscoverDev(t *testing.T) {
	folder, err := os.MkdirTemp("", "tend") // short: a socket lies in it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	t.Chdir(folder)
	private, user := filepath.Join(folder, ".tend"), filepath.Join(folder, "home", ".local", "share", "tend")
	for _, root := range []string{private, user} {
		if err := os.MkdirAll(root, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	env := map[string]string{"HOME": filepath.Join(folder, "home")}
	want := func(root, reason string) {
		t.Helper()
		if got := Discover(func(key string) string { return env[key] }).Server; got != "unix://"+root+"/tend.sock" {
			t.Errorf("%s: got %s", reason, got)
		}
	}
	want(user, "nothing runs")
	socket := filepath.Join(private, SocketName)
	if err := os.WriteFile(socket, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	want(user, "a plain file is not a server")
	_ = os.Remove(socket)
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	want(private, "a private server runs here")
	if os.Geteuid() == 0 {
		if err := os.Chown(socket, 12345, -1); err != nil {
			t.Fatal(err)
		}
		want(user, "it belongs to another user")
		if err := os.Chown(socket, 0, -1); err != nil {
			t.Fatal(err)
		}
	}
	env["TEND_ROOT"] = user
	want(user, "TEND_ROOT names another")
	delete(env, "TEND_ROOT")
	if err := os.WriteFile(filepath.Join(user, SocketName), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	want(user, "the user's own server is there")
}

func TestNewRefusesOtherAddresses(t *testing.T) {
	for _, address := range []string{"", "tend.sock", "unix://", "unix://host/path", "https://", "ftp://x", "ssh://",
		"http://", ":\x00"} {
		if _, err := New(Options{Server: address}); err == nil {
			t.Errorf("%q was taken for a server", address)
		}
	}
}

func TestUnreachable(t *testing.T) {
	c, err := New(Options{Server: "unix://" + filepath.Join(t.TempDir(), "tend.sock")})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Nodes(t.Context())
	var unreachable *UnreachableError
	if !errors.As(err, &unreachable) || !strings.Contains(err.Error(), "tend server") {
		t.Errorf("got %v, want the address and the next step", err)
	}
}

// TestUnreachableNamesItsOrigin: who named the server corrects that; who named none starts one.
func TestUnreachableNamesItsOrigin(t *testing.T) {
	const start = "start one (`tend dev` here, `tend server` on a host), or name it by --server"
	for name, c := range map[string]struct {
		err  UnreachableError
		want string
	}{
		"no socket": {UnreachableError{Server: "unix:///x", From: "TEND_SERVER", Err: syscall.ENOENT},
			"no server answers at unix:///x (from TEND_SERVER): there is no such socket\n" +
				"  correct TEND_SERVER, or start that server (tend server)"},
		"refused": {UnreachableError{Server: "http://h", From: "--server", Err: syscall.ECONNREFUSED},
			"no server answers at http://h (from --server): connection refused\n" +
				"  correct --server, or start that server (tend server)"},
		"the default": {UnreachableError{Server: "unix:///x", Err: syscall.ENOENT},
			"no server answers at unix:///x: there is no such socket\n  " + start},
	} {
		if got := c.err.Error(); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestRefusedToken: the step names what gave the token.
func TestRefusedToken(t *testing.T) {
	for from, want := range map[string]string{
		"--token": "correct --token: the token is in ", "TEND_TOKEN": "set TEND_TOKEN to the content of ",
	} {
		c := &Client{server: "http://h", token: "nonsense", from: from}
		var problem *api.Problem
		if !errors.As(c.refused(&http.Response{}), &problem) || !strings.HasPrefix(problem.Next, want) {
			t.Errorf("%s: %+v", from, problem)
		}
	}
}

func serve(t *testing.T, handle http.HandlerFunc) *Client {
	t.Helper()
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	c, err := New(Options{Server: server.URL, Token: "t"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestUnexpectedAnswers(t *testing.T) {
	cases := map[string]struct {
		reason      string
		contentType string
		body        string
		status      int
	}{
		"a proxy's page": {"the error names the proxy", "text/html", "<h1>Bad Gateway</h1>", 502},
		"a redirect":     {"redirects are not followed: the token stays here", "", "", 302},
		"half a problem": {"a broken problem is an error all the same", "application/problem+json", `{"tit`, 500},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := serve(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", tc.contentType)
				w.Header().Set("Location", "http://evil.example")
				w.WriteHeader(tc.status)
				fmt.Fprint(w, tc.body)
			})
			if _, err := c.Nodes(t.Context()); StatusOf(err) != tc.status {
				t.Errorf("%s: %v", tc.reason, err)
			}
		})
	}
}

func TestTooLargeIsNotSent(t *testing.T) {
	c := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("it was sent") })
	_, err := c.ApplyBody(t.Context(), make([]byte, api.MaxApplyBytes+1), "application/json", api.ApplyRequest{})
	if StatusOf(err) != http.StatusRequestEntityTooLarge {
		t.Errorf("got %v", err)
	}
}

// TestWatchListsAgain: a watch that is cut in its first listing begins again. What only the cut listings had is
// deleted, and the watch goes on only behind that.
func TestWatchListsAgain(t *testing.T) {
	var calls int
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		if calls++; calls > 3 { // a watch that waits for more ends here
			w.WriteHeader(http.StatusForbidden)
			return
		}
		for _, name := range [][]string{{"a", "b"}, {"c"}, {"b", "d"}}[calls-1] {
			fmt.Fprintf(w, `{"type":"put","revision":0,"object":{"kind":"deployment","scope":"s","name":"%s"}}`+"\n", name)
		}
		if calls == 3 {
			fmt.Fprintln(w, `{"type":"bookmark","revision":7}`)
			fmt.Fprintln(w, `{"type":"put","revision":8,"object":{"kind":"deployment","scope":"s","name":"e"}}`)
		}
	})
	watch := c.Watch(t.Context(), api.KindDeployment, WatchOptions{})
	defer watch.Close()
	var got []string
	for range 8 {
		event, err := watch.Next()
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprint(event.Type, " ", event.Object.Name, " ", watch.Revision()))
	}
	slices.Sort(got[5:7])
	want := []string{"put a 0", "put b 0", "put c 0", "put b 0", "put d 0", "delete a 0", "delete c 0", "put e 8"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestWatchGoesOn cuts a watch in every way that loses nothing: each event is delivered once, in order.
func TestWatchGoesOn(t *testing.T) {
	var calls atomic.Int64
	var since []string
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		since = append(since, r.URL.Query().Get("since"))
		event := func(revision int) {
			fmt.Fprintf(w, `{"type":"put","revision":%d,"object":{"kind":"deployment","scope":"s","name":"n%d"}}`+
				"\n", revision, revision)
			w.(http.Flusher).Flush()
		}
		switch calls.Add(1) {
		case 1: // cut within a line
			event(5)
			fmt.Fprint(w, `{"type":"pu`)
		case 2: // a server that is about to go
			fmt.Fprintln(w, `{"type":"error","revision":5,"problem":{"title":"t","status":503}}`)
		case 3: // a clean end
			event(6)
		case 4: // silence
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		case 5:
			event(7)
			fmt.Fprintln(w, `{"type":"error","revision":7,"problem":{"title":"Gone","status":410}}`)
		}
	})
	watch := c.Watch(t.Context(), api.KindDeployment, WatchOptions{Silence: 200 * time.Millisecond})
	defer watch.Close()
	for _, want := range []int64{5, 6, 7} {
		event, err := watch.Next()
		if err != nil || event.Revision != want {
			t.Fatalf("got %+v, %v; want revision %d", event, err, want)
		}
	}
	if _, err := watch.Next(); !IsGone(err) {
		t.Errorf("got %v, want gone", err)
	}
	if diff := cmp.Diff([]string{"", "5", "5", "6", "6"}, since); diff != "" {
		t.Errorf("resumed from %s", diff)
	}
}
