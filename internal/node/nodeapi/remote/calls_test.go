package remote

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/boundary"
	"tend.dev/tend/internal/node/nodeapi/nodeapitest"
	"tend.dev/tend/internal/node/nodeapi/wire"
)

// answeredBy returns callbacks to which NAME in /t/NAME/… is the token of the object of World.Deploy, unless it is
// "wrong". The server's own are tested in internal/server.
func answeredBy(answer http.Handler) func(Admit) http.Handler {
	return func(admit Admit) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			token, _, found := strings.Cut(strings.TrimPrefix(r.URL.Path, "/t/"), "/")
			if !found || token == "wrong" {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			leave, err := admit(w, r, api.Ref{Kind: api.KindDeployment, Scope: "prod", Name: "app-" + token})
			if err != nil {
				wire.Fail(w, wire.ProblemOf(err))
				return
			}
			defer leave()
			answer.ServeHTTP(w, r)
		})
	}
}

// called is a server that the containers of one node call.
type called struct {
	t *testing.T
	w *nodeapitest.World
	*Handler
}

func newCalled(t *testing.T, answer http.HandlerFunc, tokens ...string) called {
	t.Helper()
	w := nodeapitest.NewWorld(t)
	<-w.View.Synced()
	for _, token := range tokens {
		w.Deploy(token, nodeapitest.Here)
	}
	return called{t, w, NewHandler(HandlerOptions{Service: w.Service, Callbacks: answeredBy(answer),
		Node: func(r *http.Request) (string, error) { return r.Header.Get("Node"), nil }})}
}

// ask makes a request of a node, by default of nodeapitest.Here, and returns its status and how long it took.
func (c called) ask(method, path string, node ...string) (int, time.Duration) {
	r := httptest.NewRequestWithContext(c.t.Context(), method, Prefix+path, strings.NewReader("{}"))
	r.Header.Set("Node", nodeapitest.Here)
	if len(node) > 0 {
		r.Header.Set("Node", node[0])
	}
	answer, began := httptest.NewRecorder(), time.Now()
	c.ServeHTTP(answer, r)
	return answer.Code, time.Since(began)
}

func (c called) atOnce(status int, method, path string) {
	c.t.Helper()
	if got, took := c.ask(method, path); got != status || took != 0 {
		c.t.Errorf("%s %s: %d after %v, want %d at once", method, path, got, took, status)
	}
}

// TestAWrongTokenCostsNothing: however often a container calls with a wrong token, other containers of its node write
// as before.
func TestAWrongTokenCostsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCalled(t, func(http.ResponseWriter, *http.Request) {}, "web")
		for range int(3 * boundary.WriteBurst) {
			c.atOnce(http.StatusUnauthorized, http.MethodPost, "callbacks/t/wrong/config")
		}
		for range int(boundary.WriteBurst / boundary.TokensOfNode) {
			c.atOnce(http.StatusOK, http.MethodPost, "callbacks/t/web/config")
		}
	})
}

// TestOneContainerLeavesOthersTheirTurn: while a container writes without end, and waits for its rate, others of its
// node write, and all of them read, at once.
func TestOneContainerLeavesOthersTheirTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCalled(t, func(http.ResponseWriter, *http.Request) {}, "web", "evil")
		for range int(boundary.WriteBurst / boundary.TokensOfNode) {
			c.atOnce(http.StatusOK, http.MethodPost, "callbacks/t/evil/config")
		}
		for range 200 {
			go c.ask(http.MethodPost, "callbacks/t/evil/config")
		}
		synctest.Wait()
		c.atOnce(http.StatusOK, http.MethodGet, "callbacks/t/evil/config")
		c.atOnce(http.StatusOK, http.MethodGet, "callbacks/t/web/config")
		c.atOnce(http.StatusOK, http.MethodPost, "callbacks/t/web/config")
		c.atOnce(http.StatusNoContent, http.MethodPost, "alive?ttl=1m")
		time.Sleep(time.Minute)
	})
}

// TestAllContainersOfANodeWriteWithoutEnd: the tokens of a node together write no more than the node may.
func TestAllContainersOfANodeWriteWithoutEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tokens := make([]string, 2*boundary.TokensOfNode)
		for i := range tokens {
			tokens[i] = fmt.Sprint("a", i)
		}
		c, written := newCalled(t, func(http.ResponseWriter, *http.Request) {}, tokens...), 0
		for i := range int(2 * boundary.WriteBurst) {
			status, took := c.ask(http.MethodPost, "callbacks/t/"+tokens[i%len(tokens)]+"/config")
			if status != http.StatusOK || took != 0 {
				break
			}
			written++
		}
		if written != boundary.WriteBurst {
			t.Errorf("%d writes at once, want %d", written, int(boundary.WriteBurst))
		}
	})
}

// TestATokenTakesAPartOfThePlaces: of the calls that are answered at once, those with one token are a part, and those
// of a node as many as it may have. Reads and writes have places apart.
func TestATokenTakesAPartOfThePlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		answering, end := map[string]int{}, make(chan struct{})
		c := newCalled(t, func(_ http.ResponseWriter, r *http.Request) {
			mu.Lock()
			answering[r.Method+" "+r.URL.Path]++
			mu.Unlock()
			<-end
		}, "a", "b", "c", "d", "e")
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			all := 0
			for _, token := range []string{"a", "b", "c", "d", "e"} {
				for range boundary.Callbacks {
					go c.ask(method, "callbacks/t/"+token+"/config")
				}
				synctest.Wait()
				mu.Lock()
				got := answering[method+" /t/"+token+"/config"]
				mu.Unlock()
				if want := min(boundary.Callbacks/boundary.TokensOfNode, boundary.Callbacks-all); got != want {
					t.Errorf("%s of %s: %d at once, want %d", method, token, got, want)
				}
				all += got
			}
		}
		close(end)
		time.Sleep(time.Minute)
	})
}

// TestATokenCountsWhereItsObjectRuns: another node that has it is refused.
func TestATokenCountsWhereItsObjectRuns(t *testing.T) {
	c := newCalled(t, func(http.ResponseWriter, *http.Request) {}, "web")
	c.w.Deploy("other", nodeapitest.There)
	for call, want := range map[string]int{
		nodeapitest.Here + " web": http.StatusOK, nodeapitest.There + " web": http.StatusForbidden,
		nodeapitest.Here + " other": http.StatusForbidden, nodeapitest.There + " other": http.StatusOK,
		nodeapitest.Here + " none": http.StatusForbidden,
	} {
		node, token, _ := strings.Cut(call, " ")
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			if got, _ := c.ask(method, "callbacks/t/"+token+"/config", node); got != want {
				t.Errorf("%s of %s: %d, want %d", method, call, got, want)
			}
		}
	}
}
