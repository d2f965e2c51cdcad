//go:build integration

package docker_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	randomimage "github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/node/runtime/docker"
)

// builders are the engine's two, as DOCKER_BUILDKIT chooses them.
var builders = map[string]string{"BuildKit": "1", "the classic builder": "0"}

// TestAConfinedBuildFollowsNoChallenge: the registry of a base image sends those who pull to a program of the machine,
// and wants to see what that answers. An ordinary build goes there, as the engine does it.
func TestAConfinedBuildFollowsNoChallenge(t *testing.T) {
	for builder, chosen := range builders {
		for name, confined := range map[string]bool{"ordinary": false, "confined": true} {
			t.Run(builder+", "+name, func(t *testing.T) {
				s := newQuietShop(t)
				t.Setenv("DOCKER_BUILDKIT", chosen)
				var visitors atomic.Int32
				var leaked atomic.Bool
				inside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					visitors.Add(1)
					_, _ = w.Write([]byte(`{"token":"SESSION"}`))
				}))
				t.Cleanup(inside.Close)
				s.put(func(w http.ResponseWriter, r *http.Request) {
					if strings.Contains(r.Header.Get("Authorization"), "SESSION") {
						leaked.Store(true)
					}
					w.Header().Set("WWW-Authenticate", `Bearer realm="`+inside.URL+`/admin",service="x"`)
					http.Error(w, "{}", http.StatusUnauthorized)
				})
				b := newBuilding(t, s.from(anywhere).(runtime.Builder))
				spec := b.spec("FROM " + s.reference + "\nCOPY page /page\n")
				spec.Confined, spec.Bases = confined, []string{s.reference}
				if _, err := b.build(t.Context(), spec); err == nil {
					t.Error("the base image came from nowhere")
				}
				if asked := visitors.Load() > 0; asked == confined || leaked.Load() == confined {
					t.Errorf("the program inside was asked: %t; its answer went out: %t\n%s", asked, leaked.Load(), strings.Join(b.said, "\n"))
				}
			})
		}
	}
}

// TestAConfinedBuildHasItsTokens: the usual registry demands a token for each image, and gives one without a login.
func TestAConfinedBuildHasItsTokens(t *testing.T) {
	for builder, chosen := range builders {
		t.Run(builder, func(t *testing.T) {
			s := newQuietShop(t)
			t.Setenv("DOCKER_BUILDKIT", chosen)
			s.put(func(w http.ResponseWriter, r *http.Request) {
				switch {
				case r.URL.Path == "/token":
					if scope := r.URL.Query()["scope"]; len(scope) != 1 || scope[0] != "repository:tendtest/goods:pull" {
						t.Errorf("a token for %q was asked", scope)
					}
					if strings.Contains(r.UserAgent(), "buildkit") || strings.Contains(r.UserAgent(), "docker") {
						t.Errorf("%s asked for the token", r.UserAgent())
					}
					_, _ = w.Write([]byte(`{"access_token":"ticket"}`))
				case r.Header.Get("Authorization") != "Bearer ticket":
					w.Header().Set("WWW-Authenticate",
						`Bearer realm="http://`+r.Host+`/token",service="x",scope="repository:tendtest/goods:pull"`)
					http.Error(w, "{}", http.StatusUnauthorized)
				default:
					s.shelves.ServeHTTP(w, r)
				}
			})
			b := newBuilding(t, s.from(anywhere).(runtime.Builder))
			spec := b.spec("FROM " + s.reference + "\nCOPY page /page\n")
			spec.Confined, spec.Bases = true, []string{s.reference}
			b.made(spec)
		})
	}
}

// answersSSH returns the address of a server that speaks no HTTP: the engine quotes it, and where it was asked.
func answersSSH(t *testing.T) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Write([]byte("SSH-2.0-SECRET\r\n"))
			_, _ = conn.Read(make([]byte, 1<<10))
			_ = conn.Close()
		}
	}()
	return listener.Addr().String()
}

// TestAConfinedBuildQuotesNoAnswer: what a registry redirects the engine to may be a page of the machine. What a
// command of the Dockerfile ends with is the user's own.
func TestAConfinedBuildQuotesNoAnswer(t *testing.T) {
	for builder, chosen := range builders {
		t.Run(builder, func(t *testing.T) {
			s := newQuietShop(t)
			t.Setenv("DOCKER_BUILDKIT", chosen)
			inside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				http.Error(w, "admin panel SECRET", http.StatusTeapot)
			}))
			t.Cleanup(inside.Close)
			wordless := answersSSH(t)
			var to string
			s.put(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/v2/" {
					http.Redirect(w, r, to, http.StatusTemporaryRedirect)
				}
			})
			b := newBuilding(t, s.from(anywhere).(runtime.Builder))
			for _, text := range []string{"FROM " + s.reference + "\nCOPY page /page\n",
				"FROM scratch\nCOPY --from=" + s.reference + " /page /page\n",
				"FROM " + s.reference + "\n#unknown instruction", "FROM " + s.reference + "\n#dockerfile parse error"} {
				to = inside.URL + "/admin"
				if _, words, found := strings.Cut(text, "#"); found {
					to = "http://" + wordless + "/admin?" + words
				}
				spec := b.spec(text)
				spec.Confined, spec.Bases = true, []string{s.reference}
				_, err := b.build(t.Context(), spec)
				said := strings.Join(b.said, "\n")
				for _, word := range []string{"SECRET", " 418", "teapot", "/admin"} {
					if err == nil || strings.Contains(err.Error()+said, word) {
						t.Errorf("%q: %s is quoted: %v\n%s", text, word, err, said)
					}
				}
			}
			for text, want := range map[string]string{
				"FROM scratch\nCOPY server /server\nRUN [\"/server\", \"http://nowhere\"]\n": "http://nowhere",
				"FROM scratch\nCOPY nothing /\n":                                             "nothing",
				"FROM scratch\nBREW tea\n":                                                   "BREW",
			} {
				spec := b.spec(text)
				spec.Confined, spec.Bases = true, []string{s.reference}
				if _, err := b.build(t.Context(), spec); err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%q: the user's own fault isn't shown: %v", text, err)
				}
			}
		})
	}
}

// onBuild replaces the shop's image with one that adds an instruction to each Dockerfile that builds on it.
func (s *shop) onBuild(instruction string) {
	s.Helper()
	image, err := randomimage.Image(1<<10, 1)
	if err == nil {
		image, err = mutate.Config(image, v1.Config{OnBuild: []string{instruction}})
	}
	tag, err2 := name.NewTag(s.reference)
	if err != nil || err2 != nil {
		s.Fatal(err, err2)
	}
	if err := remote.Write(tag, image); err != nil {
		s.Fatal(err)
	}
}

// TestABaseImageLeadsToNoQuote: a base image of a registry that an admin declared has the engine fetch what the
// Dockerfile doesn't name: a page of the machine, or a base image of another registry.
func TestABaseImageLeadsToNoQuote(t *testing.T) {
	for builder, chosen := range builders {
		t.Run(builder, func(t *testing.T) {
			s := newQuietShop(t)
			s.auth = docker.Auth{Username: "u", Password: "p"}
			t.Setenv("DOCKER_BUILDKIT", chosen)
			inside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				http.Error(w, "admin panel SECRET", http.StatusTeapot)
			}))
			t.Cleanup(inside.Close)
			b := newBuilding(t, s.from(anywhere).(runtime.Builder))
			for _, instruction := range []string{"ADD " + inside.URL + "/admin /page", "ADD http://" + answersSSH(t) + "/admin /page",
				"COPY --from=" + strings.TrimPrefix(inside.URL, "http://") + "/admin /page /page"} {
				s.onBuild(instruction)
				spec := b.spec("FROM " + s.reference + "\nCOPY page /other\n")
				spec.Confined, spec.Bases = true, []string{s.reference}
				_, err := b.build(t.Context(), spec)
				t.Logf("%s: %v", instruction, err)
				for _, word := range []string{"SECRET", " 418", "teapot"} {
					if err == nil || strings.Contains(err.Error()+strings.Join(b.said, "\n"), word) {
						t.Errorf("%s: %s is quoted: %v\n%s", instruction, word, err, strings.Join(b.said, "\n"))
					}
				}
			}
		})
	}
}
