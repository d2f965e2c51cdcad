package daemon

import (
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pull"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/node/nodeapi/authority"
	"tend.dev/tend/internal/platform/pki"
	"tend.dev/tend/internal/server"
	"tend.dev/tend/internal/store/records"
)

// listened is a server with a listener for nodes, and what its callers have credentials for.
type listened struct {
	*running
	daemon  *daemon
	address string
	// signing is a certificate request for a host whose certificate the cluster's own authority signs, in base64.
	signing string
	// tree is the digest of the source tree that the builder builds.
	tree string
}

// built is the object whose image the builder builds.
var built = api.Ref{Kind: api.KindDeployment, Scope: "prod", Name: "built"}

const ofBuilt = `{"kind":"deployment","scope":"prod","name":"built"}`

// caller is someone who connects to the listener for nodes.
type caller struct {
	name string
	// certificate is the one that the caller shows; empty for none.
	certificate tls.Certificate
	// node is the name in it.
	node string
	// bearer, joinToken and callback are what it has besides. Empty: a forged one.
	bearer, joinToken, callback string
	// ofPeople is set if the API takes its credential.
	ofPeople bool
	// shut is set if not even the connection is taken.
	shut bool
}

func newListened(t *testing.T) *listened {
	t.Helper()
	l := &listened{tree: "sha256:" + strings.Repeat("7", 64)}
	m := newMachine(t)
	m.engine.AddImage("web:1")
	l.running = m.startWith(func(o *Options) {
		o.HTTP, o.Listen = "127.0.0.1:0", "127.0.0.1:0"
		o.NodeTimeout = time.Hour // the nodes that are played send no heartbeat
		o.NodeListen, o.Shared, o.opened = "127.0.0.1:0", true, func(d *daemon) { l.daemon = d }
	}).ready()
	l.address = l.daemon.nodeListener.listener.Addr().String()
	return l
}

// declare stores what the callers have credentials for, and waits until nothing of it changes any more.
func (l *listened) declare() {
	l.t.Helper()
	for _, cluster := range []string{"east", "west"} {
		l.apply(api.Object{Kind: api.KindCluster, Scope: api.Unscoped, Name: cluster, Spec: []byte("{}")})
	}
	l.apply(api.Object{Kind: api.KindIngress, Scope: "prod", Name: "own",
		Spec: []byte(`{"host":"own.example","service":"db","port":80,"tls":{"enabled":true,"provider":"internal"}}`)})
	db := api.Ref{Kind: api.KindStatefulSet, Scope: "prod", Name: "db"}
	l.converged(db, l.apply(api.Object{Kind: db.Kind, Scope: db.Scope, Name: db.Name, Spec: []byte(`{"image":"web:1"}`)}))
	key, err := pki.NewKey()
	if err != nil {
		l.t.Fatal(err)
	}
	request, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{DNSNames: []string{"own.example"}},
		key)
	if err != nil {
		l.t.Fatal(err)
	}
	l.signing = base64.StdEncoding.EncodeToString(request)
}

// builds has a node be the one that builds an image, and runs a pod of it.
func (l *listened) builds(node string) {
	l.t.Helper()
	request := api.ImageRequest{Owner: built, Image: "prod-built:777777777777",
		Build: &api.ImageBuild{ID: "777777777777", Tree: l.tree}}
	answer := api.ImageStatus{Owner: built, Node: node, Image: request.Image, State: api.ImagePresent}
	task := api.Task{ID: "t-built", Kind: built.Kind, Scope: built.Scope, Name: built.Name, Slot: "a", Release: "v1",
		Class: api.ClassKeep, Node: node, Desired: api.DesiredRunning}
	release := api.Release{ID: "v1", Kind: built.Kind, Scope: built.Scope, Name: built.Name, Image: request.Image,
		Spec: []byte(`{"image":"prod-built:777777777777"}`)}
	revision, err := records.NewTxn("test").Put(records.ImageKey(built), request).
		Put(records.ImageStatusKey(node, built), answer).Put(records.ReleaseKey(built, "v1"), release).CreateTask(task).
		Commit(l.t.Context(), l.store)
	if err == nil {
		err = l.daemon.view.WaitFor(l.t.Context(), revision)
	}
	if err != nil {
		l.t.Fatal(err)
	}
}

// runs has a node run a pod of prod/db, which it is to stop and doesn't.
func (l *listened) runs(node string) {
	l.t.Helper()
	db := api.Ref{Kind: api.KindStatefulSet, Scope: "prod", Name: "db"}
	task := api.Task{ID: "t-db", Kind: db.Kind, Scope: db.Scope, Name: db.Name, Slot: "1", Release: "v1",
		Class: api.ClassKeep, Node: node, Desired: api.DesiredRunning}
	status := api.TaskStatus{ID: task.ID, Node: node, State: api.TaskRunning}
	if _, err := records.NewTxn("test").CreateTask(task).Put(records.TaskStatusKey(task.ID), status).
		Commit(l.t.Context(), l.store); err != nil {
		l.t.Fatal(err)
	}
	l.until("the pod of another node is to stop", func() bool {
		task := l.daemon.snapshot().Task(task.ID)
		return task.Exists() && task.Value.Desired != api.DesiredRunning
	})
}

// joinToken returns an unused token for a role.
func (l *listened) joinToken(role string, uses int) api.JoinToken {
	l.t.Helper()
	token, err := l.client.JoinToken(l.t.Context(), api.JoinTokenRequest{Role: role, Uses: uses})
	if err != nil {
		l.t.Fatal(err)
	}
	return token
}

// joined returns the certificate of a machine that joins with a token.
func (l *listened) joined(token api.JoinToken, node string) tls.Certificate {
	l.t.Helper()
	m, err := joins(l.t, token, node)
	if err != nil {
		l.t.Fatal(err)
	}
	pair, err := m.Pair()
	if err != nil {
		l.t.Fatal(err)
	}
	return pair
}

// registration returns an unused registration token of a cluster.
func (l *listened) registration(cluster string) api.ClusterRegistration {
	l.t.Helper()
	registration, err := l.client.InviteCluster(l.t.Context(), cluster, time.Hour, false)
	if err != nil {
		l.t.Fatal(err)
	}
	return registration
}

// operator returns the token of an operator that has registered.
func (l *listened) operator(cluster string) string {
	l.t.Helper()
	registration := l.registration(cluster)
	o := operatorOf(l.t, registration, func() string { return l.address })
	var given pull.Credential
	o.must(200, "POST", pull.RegisterPath, pull.Registration{RegistrationToken: registration.Token}, &given)
	o.token = given.Token
	o.must(200, "GET", pull.DeliveredPath, nil, nil) // the first use of the token is recorded
	return given.Token
}

// callback returns the path at which containers of prod/db call the server.
func (l *listened) callback() string {
	l.t.Helper()
	object, err := l.client.Object(l.t.Context(), api.Ref{Kind: api.KindStatefulSet, Scope: "prod", Name: "db"})
	if err != nil {
		l.t.Fatal(err)
	}
	return "/t/" + server.ContainerToken(l.daemon.keys.CallbackMAC, object)
}

// callers returns everyone who has a credential, or forged one.
func (l *listened) callers() []caller {
	l.t.Helper()
	l.declare()
	nodes := l.joinToken(api.JoinAsNode, 4)
	member, builder, removed := l.joined(nodes, "worker"), l.joined(nodes, "builder"), l.joined(nodes, "gone")
	other := l.joined(nodes, "other")
	ingress := l.joined(l.joinToken(api.JoinAsIngress, 1), "edge")
	if _, err := l.client.RemoveNode(l.t.Context(), "gone", client.RemoveOptions{Force: true}); err != nil {
		l.t.Fatal(err)
	}
	l.builds("builder")
	l.runs("worker")
	person, err := l.client.AddToken(l.t.Context(), api.AccessTokenRequest{Name: "root", Role: api.Admin})
	if err != nil {
		l.t.Fatal(err)
	}
	ownToken, err := os.ReadFile(filepath.Join(l.root, "token"))
	if err != nil {
		l.t.Fatal(err)
	}
	container := l.callback()
	bare := strings.TrimPrefix(container, "/t/")
	spent, unused := l.joinToken(api.JoinAsNode, 1), l.joinToken(api.JoinAsNode, 1)
	l.joined(spent, "spender")
	return append(l.impostors(removed), []caller{
		{name: "nobody"},
		{name: aNode, certificate: member, node: "worker"},
		{name: anIngressNode, certificate: ingress, node: "edge"},
		{name: aBuilder, certificate: builder, node: "builder"},
		{name: aContainer, certificate: member, node: "worker", callback: container},
		{name: aThief, certificate: other, node: "other", callback: container},
		{name: "a container that connects itself", bearer: bare, callback: container},
		{name: joiningNode, joinToken: unused.Token, bearer: unused.Token},
		{name: "a machine with a spent join token", joinToken: spent.Token, bearer: spent.Token},
		{name: joiningServer, joinToken: l.joinToken(api.JoinAsServer, 1).Token},
		{name: aServer, certificate: l.issue(l.authority(), authority.Machine{})},
		{name: anOperator, bearer: l.operator("east")},
		{name: joiningOperator, bearer: l.registration("west").Token},
		{name: "a person, an admin", bearer: person.Token, joinToken: person.Token, ofPeople: true},
		{name: "who has the server's own token", bearer: strings.TrimSpace(string(ownToken)),
			joinToken: strings.TrimSpace(string(ownToken)), ofPeople: true},
	}...)
}

// impostors are the callers with certificates that are no longer, or never were, taken.
func (l *listened) impostors(removed tls.Certificate) []caller {
	l.t.Helper()
	own, foreign := l.authority(), foreignAuthority(l.t)
	serverOf, err := own.Server(time.Hour)
	if err != nil {
		l.t.Fatal(err)
	}
	return []caller{
		{name: "a node that was removed", certificate: removed},
		{name: "a machine with another one's name",
			certificate: l.issue(own, authority.Machine{Node: "worker", UID: "another"})},
		{name: "a machine that claims the server's own node",
			certificate: l.issue(own, authority.Machine{Node: "n1", UID: "another"})},
		{name: "a node without a name", certificate: l.issue(own, authority.Machine{UID: "u"})},
		{name: "a node of another cluster",
			certificate: l.issue(foreign, authority.Machine{Node: "worker", UID: "u"}), shut: true},
		{name: "a server of another cluster", certificate: l.issue(foreign, authority.Machine{}), shut: true},
		{name: "who shows the certificate that a server shows to nodes", certificate: serverOf, shut: true},
	}
}

// issue returns a certificate that an authority signs for a machine.
func (l *listened) issue(by *authority.Authority, m authority.Machine) tls.Certificate {
	l.t.Helper()
	pair, err := by.Client(m, time.Hour)
	if err != nil {
		l.t.Fatal(err)
	}
	return pair
}
