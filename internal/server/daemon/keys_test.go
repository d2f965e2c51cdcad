package daemon

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/rekey"
	"tend.dev/tend/internal/node/host"
	"tend.dev/tend/internal/node/member"
	"tend.dev/tend/internal/node/nodeapi/authority"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/node/runtime/hollow"
	"tend.dev/tend/internal/server/backup"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/etcd"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/secret"
)

// thief has the content of a stolen root: the cluster's keys, and the authority of servers.
type thief struct {
	t     *testing.T
	text  string
	keys  secret.Identities
	peers []byte
}

func stolen(t *testing.T, root string) thief {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "secret.key"))
	if err != nil {
		t.Fatal(err)
	}
	had := thief{t: t}
	had.text = regexp.MustCompile(`AGE-SECRET-KEY-\S+`).FindString(string(text))
	if had.keys, err = secret.ParseIdentities(had.text); err != nil {
		t.Fatal(err)
	}
	if had.peers, err = os.ReadFile(filepath.Join(root, "peers", "authority.pem")); err != nil {
		t.Fatal(err)
	}
	return had
}

var inRecords = regexp.MustCompile(`YWdlLWVuY3J5cHRpb24[A-Za-z0-9+/=]+`)

// contents returns the entries of a cluster's store, as a backup holds them.
func contents(r *running) map[string]store.Entry {
	r.t.Helper()
	var file bytes.Buffer
	if err := r.client.Backup(r.t.Context(), &file); err != nil {
		r.t.Fatal(err)
	}
	path := filepath.Join(r.t.TempDir(), "store")
	if _, err := backup.Read(&file, func(_ backup.Header, name string, _ int64, content io.Reader) error {
		if name != backup.Store {
			return nil
		}
		text, err := io.ReadAll(content)
		return errors.Join(err, os.WriteFile(path, text, 0o600))
	}); err != nil {
		r.t.Fatal(err)
	}
	entries, _, err := etcd.ReadSnapshot(path)
	if err != nil {
		r.t.Fatal(err)
	}
	return entries
}

// reads counts the sealed values in a store, and names the records of which the thief can decrypt one.
func (had thief) reads(entries map[string]store.Entry) (sealed int, open []string) {
	for key, entry := range entries {
		texts := [][]byte{}
		if bytes.HasPrefix(entry.Value, []byte("age-encryption.org/")) {
			texts = append(texts, entry.Value)
		}
		for _, found := range inRecords.FindAll(entry.Value, -1) {
			if text, err := base64.StdEncoding.DecodeString(string(found)); err == nil {
				texts = append(texts, text)
			}
		}
		for _, text := range texts {
			sealed++
			if _, err := secret.Unseal(bytes.NewReader(text), had.keys); err == nil {
				open = append(open, key)
			}
		}
	}
	return sealed, open
}

// authorityOfNodes returns the authority of nodes in a store, if the thief can decrypt it.
func (had thief) authorityOfNodes(entries map[string]store.Entry) *authority.Authority {
	had.t.Helper()
	opened, err := secret.Unseal(bytes.NewReader(entries[records.AuthorityKey].Value), had.keys)
	if err != nil {
		had.t.Fatal(err)
	}
	text, _ := io.ReadAll(opened)
	return had.open(text)
}

func (had thief) open(text []byte) *authority.Authority {
	had.t.Helper()
	out, err := authority.Open(text, time.Now)
	if err != nil {
		had.t.Fatal(err)
	}
	return out
}

// forges connects to a listener for nodes with a certificate that the thief made for a node; the error is the answer's.
func (had thief) forges(with *authority.Authority, address string) error {
	had.t.Helper()
	own, err := with.Client(authority.Machine{Node: "forged", UID: "u"}, time.Hour)
	if err != nil {
		had.t.Fatal(err)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true,
		Certificates: []tls.Certificate{own}, NextProtos: []string{"h2"}}, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	answer, err := (&http.Client{Transport: transport}).Get("https://" + address + "/node/v1/state")
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return errors.New(answer.Status)
	}
	return nil
}

// waits keeps a connection with a certificate that the thief made. It returns a function that sends a request on it and
// returns the status, or 0 if the connection is closed.
func (had thief) waits(with *authority.Authority, address string) func(method, path string) int {
	had.t.Helper()
	own, err := with.Client(authority.Machine{Node: "forged", UID: "u"}, time.Hour)
	if err != nil {
		had.t.Fatal(err)
	}
	config := &tls.Config{InsecureSkipVerify: true, Certificates: []tls.Certificate{own}, NextProtos: []string{"h2"}}
	var dialled atomic.Bool
	transport := &http.Transport{ForceAttemptHTTP2: true,
		DialTLSContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			if dialled.Swap(true) {
				return nil, errors.New("the connection is closed")
			}
			return (&tls.Dialer{Config: config}).DialContext(ctx, network, address)
		}}
	had.t.Cleanup(transport.CloseIdleConnections)
	ask := func(method, path string) int {
		request, err := http.NewRequest(method, "https://"+address+path, strings.NewReader("{}"))
		if err != nil {
			had.t.Fatal(err)
		}
		answer, err := (&http.Client{Transport: transport}).Do(request)
		if err != nil {
			return 0
		}
		defer answer.Body.Close()
		_, _ = io.Copy(io.Discard, answer.Body)
		return answer.StatusCode
	}
	if status := ask("POST", "/node/v1/join"); status != http.StatusUnauthorized {
		had.t.Fatalf("a join without a token: answered %d", status)
	}
	return ask
}

// reachesStore connects to the listener of a server's store with a certificate that the thief made for a server.
func (had thief) reachesStore(address string) error {
	had.t.Helper()
	certificate, key, err := had.open(had.peers).Peer(time.Hour)
	if err != nil {
		had.t.Fatal(err)
	}
	own, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		had.t.Fatal(err)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true,
		Certificates: []tls.Certificate{own}}}
	defer transport.CloseIdleConnections()
	answer, err := (&http.Client{Transport: transport}).Get("https://" + address + "/version")
	if err != nil {
		return err
	}
	return answer.Body.Close()
}

// rotating is a cluster of two servers and a node whose clock a test moves on.
type rotating struct {
	*several
	ahead atomic.Int64
	// gates and stores are the addresses at which servers listen for nodes, and for other servers.
	gates, stores map[string]string
}

func (c *rotating) now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

func (c *rotating) boot(name string, more func(*Options)) {
	c.t.Helper()
	if c.gates[name] == "" {
		c.gates[name], c.stores[name] = loopback(), loopback()
	}
	c.startWith(name, func(o *Options) {
		o.PeerListen, o.NodeListen, o.Now = c.stores[name], c.gates[name], c.now
		if more != nil {
			more(o)
		}
	})
}

// rotate rotates a key and waits for the end; meanwhile is called with the rotation's state.
func (c *rotating) rotate(name string, meanwhile func(api.KeyRotation)) {
	c.t.Helper()
	a := c.running["a"]
	if _, err := a.client.RotateKey(c.t.Context(), name); err != nil {
		c.t.Fatal(err)
	}
	settled := false
	c.running["a"].untilWithin(3*time.Minute, "the key "+name+" is rotated", func() bool {
		keys, err := c.running["a"].client.Keys(c.t.Context())
		if err != nil {
			return false
		}
		at := slices.IndexFunc(keys.Items, func(k api.Key) bool { return k.Name == name })
		last := keys.Items[at].Rotation
		if last == nil {
			return true
		}
		if !settled && slices.ContainsFunc(last.Waits, func(w string) bool { return strings.Contains(w, "a last look") }) {
			settled = true
			c.ahead.Add(int64(rekey.SettleTime))
		}
		if meanwhile != nil {
			meanwhile(*last)
		}
		return false
	})
}

// TestKeysAreRotated: after the rotations, a copy of a server's disk from before neither decrypts anything in the store
// nor makes an accepted certificate of a node or a server. Meanwhile no pod is replaced, every secret is readable, and
// servers and nodes keep working.
func TestKeysAreRotated(t *testing.T) {
	t.Parallel()
	c := &rotating{several: newSeveral(t, "a", "b"), gates: map[string]string{}, stores: map[string]string{}}
	c.boot("a", nil)
	a := c.running["a"]
	token, err := a.client.JoinToken(t.Context(), api.JoinTokenRequest{Role: api.JoinAsServer})
	if err != nil {
		t.Fatal(err)
	}
	c.boot("b", func(o *Options) { o.Join, o.Token = token.Address, token.Token })
	c.joinWorker()
	if _, err := a.client.SetConfig(t.Context(), "prod", "web",
		api.ConfigRequest{Set: map[string]string{"PASSWORD": "hunter2"}}); err != nil {
		t.Fatal(err)
	}
	web := manifestOf(api.Ref{Kind: api.KindDeployment, Scope: "prod", Name: "web"}, replicas(3))
	ref := web.Ref()
	before := a.converged(ref, a.apply(web))
	pods := podsOf(a.live(ref))
	had, entries := stolen(t, a.root), contents(a)
	if sealed, open := had.reads(entries); sealed < 3 || len(open) != sealed {
		t.Fatalf("before, the thief opens %d of %d: %v", len(open), sealed, open)
	}
	nodes := had.authorityOfNodes(entries)

	c.rotate(api.KeySecrets, nil)
	if sealed, open := had.reads(contents(a)); sealed < 3 || len(open) > 0 {
		t.Errorf("the thief opens %d of %d: %v", len(open), sealed, open)
	}
	for _, name := range []string{"a", "b"} {
		text, _ := os.ReadFile(filepath.Join(c.machines[name].root, "secret.key"))
		if strings.Count(string(text), "AGE-SECRET-KEY-") != 1 || strings.Contains(string(text), had.text) {
			t.Errorf("%s still has the old keys", name)
		}
	}
	if value, err := a.client.ConfigValue(t.Context(), "prod", "web", "PASSWORD"); err != nil || value != "hunter2" {
		t.Errorf("the secret is %q, %v", value, err)
	}

	if err := had.forges(nodes, c.gates["a"]); err != nil {
		t.Errorf("before its authority is rotated, a forged certificate is refused: %v", err)
	}
	early := c.joinToken()
	waiting := had.waits(nodes, c.gates["a"]) // on a connection that no record ties to a node
	c.rotate(api.KeyNodes, nil)
	if status := waiting("GET", "/node/v1/state"); status != http.StatusUnauthorized && status != 0 {
		t.Errorf("a connection that is older than the authority: answered %d", status)
	}
	for _, name := range []string{"a", "b"} {
		if err := had.forges(nodes, c.gates[name]); err == nil {
			t.Errorf("%s takes a node's certificate of the old authority", name)
		}
	}
	a.until("the worker answers again", func() bool { return c.alive("worker") })
	for _, name := range []string{"a", "b"} {
		if status, text := joinsRaw(t, c.gates[name], early, "late"); status != http.StatusUnauthorized ||
			!strings.Contains(text, "rotated") {
			t.Errorf("%s answers a token of the old authority with %d %s", name, status, text)
		}
	}
	if status, text := joinsRaw(t, c.gates["b"], c.joinToken(), "late"); status != http.StatusOK {
		t.Errorf("a token of the new authority: answered %d %s", status, text)
	}

	restarted := map[string]bool{}
	for _, name := range []string{"a", "b"} {
		if err := had.reachesStore(c.stores[name]); err != nil {
			t.Errorf("before its authority is rotated, a forged certificate of a server is refused: %v", err)
		}
	}
	c.rotate(api.KeyServers, func(r api.KeyRotation) {
		for _, name := range []string{"b", "a"} {
			again := string(r.Phase) + name
			if !restarted[again] && slices.ContainsFunc(r.Waits, func(w string) bool {
				return strings.Contains(w, "server "+name+" ") && strings.Contains(w, "start it again")
			}) {
				restarted[again] = true
				c.running[name].stop()
				c.boot(name, nil)
				return
			}
		}
	})
	if len(restarted) != 4 {
		t.Errorf("restarts: %v", restarted)
	}
	for _, name := range []string{"a", "b"} {
		if err := had.reachesStore(c.stores[name]); err == nil {
			t.Errorf("the store of %s takes a server's certificate of the old authority", name)
		}
	}
	after := c.running["a"].converged(ref, 0)
	if got := podsOf(c.running["a"].live(ref)); !slices.Equal(got, pods) || after.Release != before.Release {
		t.Errorf("pods were replaced: %v, were %v; release %s, was %s", got, pods, after.Release, before.Release)
	}
	c.running["b"].converged(ref, c.running["b"].apply(manifestOf(ref, replicas(4))))
}

func podsOf(pods []api.Pod) (ids []string) {
	for _, pod := range pods {
		ids = append(ids, pod.Name)
	}
	slices.Sort(ids)
	return ids
}

// joinWorker joins a machine as the node "worker".
func (c *rotating) joinWorker() {
	c.t.Helper()
	token, err := c.running["a"].client.JoinToken(c.t.Context(), api.JoinTokenRequest{})
	if err != nil {
		c.t.Fatal(err)
	}
	engine := hollow.NewEngine()
	engine.AddImage("web:1")
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	c.t.Cleanup(func() { cancel(); running.Wait(); engine.Close() })
	o := member.Options{Server: token.Address, Token: token.Token, Options: host.Options{
		Root: c.t.TempDir(), Node: "worker", Runtime: "hollow", MinFree: -1,
		Logger: slog.New(slog.NewTextHandler(logWriter(c.t), nil)),
		Engine: func(cluster, node string) (runtime.Runtime, error) { return engine.Client(cluster, node), nil },
	}}
	running.Go(func() {
		if err := member.Run(ctx, o); err != nil && ctx.Err() == nil {
			c.t.Errorf("the worker: %v", err)
		}
	})
	c.running["a"].until("the worker is ready", func() bool { return c.alive("worker") })
}

func (c *rotating) alive(node string) bool {
	nodes, err := c.running["a"].client.Nodes(c.t.Context())
	return err == nil && slices.ContainsFunc(nodes.Items,
		func(n api.NodeInfo) bool { return n.ID == node && n.Alive && n.Ready })
}
