package server

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/compat/plugin"
	"tend.dev/tend/internal/compat/plugin/broker"
	"tend.dev/tend/internal/control/verbs"
	coresource "tend.dev/tend/internal/core/source"
	"tend.dev/tend/internal/platform/connlimit"
	"tend.dev/tend/internal/platform/recovery"
)

// loopbackEndpoint opens callback listeners for running plugins: each has its own port on loopback and its own token,
// and closes when the plugin has ended. In a dry run they refuse changes. A plugin has the rights of its caller.
func (s *Server) loopbackEndpoint(actor string, dry bool) broker.Endpoint {
	return func(ctx context.Context, scopes []string) (string, func(), error) {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return "", nil, fmt.Errorf("open an endpoint for the plugin: %w", err)
		}
		random := make([]byte, 24)
		_, _ = rand.Read(random) // never fails
		token, rights := hex.EncodeToString(random), verbs.RightsOf(ctx)
		served := s.callbackServer(func(given string) (grant, bool) {
			return grant{scopes: scopes, dry: dry, actor: actor + " through a plugin", rights: rights}, same(given, token)
		})
		within := plugin.From(context.Background(), plugin.OriginOf(ctx))
		served.BaseContext = func(net.Listener) context.Context { return within }
		done := make(chan struct{})
		limited := s.limited(listener, served, min(s.MaxConnections, maxPluginConnections), "plugin callbacks")
		recovery.Go(func() { defer close(done); _ = served.Serve(limited) })
		return "http://" + listener.Addr().String() + "/t/" + token, func() { _ = served.Close(); <-done }, nil
	}
}

// maxPluginConnections is the maximum number of connections of one plugin call's listener.
const maxPluginConnections = 256

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

func (s *Server) callbackServer(resolve func(token string) (grant, bool)) *http.Server {
	return &http.Server{
		Handler: s.callbacks(resolve), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: s.callTime(),
		WriteTimeout: s.callTime(), IdleTimeout: time.Minute, MaxHeaderBytes: 64 << 10, ConnState: connlimit.Note,
		ErrorLog: slog.NewLogLogger(s.Logger.Handler(), slog.LevelDebug),
	}
}

// Admit is asked about a call of a container once its token is known, which is that of an object. An error refuses the
// call; leave is called at the end of the answer.
type Admit = func(w http.ResponseWriter, r *http.Request, object api.Ref) (leave func(), err error)

// Callbacks returns the handler for the containers of nodes. Each container may access only its own object, which its
// token names. A token that is not known is refused without asking admit: it costs nothing that others wait for. A nil
// admit lets all calls in.
func (s *Server) Callbacks(admit Admit) http.Handler {
	return s.callbacks(func(token string) (grant, bool) {
		object, known := s.calling(token)
		if !known {
			return grant{}, false
		}
		g := containerGrant(object)
		if admit != nil {
			g.admit = func(w http.ResponseWriter, r *http.Request) (func(), error) { return admit(w, r, object.Ref()) }
		}
		return g, true
	})
}

// ContainerToken returns the token of an object's containers: the object's identity, and a proof that only this server
// can make. An object that is deleted and created again under the same name gets another token.
func ContainerToken(mac func(plain []byte) string, object api.Object) string {
	identity := strings.Join([]string{"callback", object.Ref().String(), object.Metadata.UID}, "\x00")
	return object.Scope + "." + object.Name + "." + mac([]byte(identity))
}

// calling returns the object whose containers have a token.
func (s *Server) calling(token string) (object api.Object, known bool) {
	scope, rest, _ := strings.Cut(token, ".")
	name, _, _ := strings.Cut(rest, ".")
	snap, err := s.snapshot()
	if err != nil || s.MAC == nil {
		return api.Object{}, false
	}
	for _, kind := range api.Kinds {
		object := snap.Object(api.Ref{Kind: kind, Scope: scope, Name: name})
		if !kind.HasSlots() || !object.Exists() || object.Value.Metadata.Deleting() {
			continue
		}
		if object.Value.CallsBack() && same(token, ContainerToken(s.MAC, *object.Value)) {
			return *object.Value, true
		}
	}
	return api.Object{}, false
}

// containerGrant returns the grant of an object's containers: the object, and the commands of the plugin that wrote its
// manifest, if any, on objects of its scope.
func containerGrant(object api.Object) grant {
	ref := object.Ref()
	return grant{scopes: []string{ref.Scope}, name: ref.Name, reader: ref, plugin: object.MacroKind(),
		actor: "containers of " + ref.String(), rights: coresource.RightsOfContainers(ref)}
}
