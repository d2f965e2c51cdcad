package daemon

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/membership"
	"tend.dev/tend/internal/node/nodeapi/join"
	"tend.dev/tend/internal/platform/version"
	"tend.dev/tend/internal/store/etcd"
	"tend.dev/tend/internal/store/records"
)

// refusedServer returns the answer to a server that may not join, or not be removed.
func refusedServer(why, next string) *api.Problem {
	return &api.Problem{Title: "ServerRefused", Status: http.StatusConflict, Detail: why, Next: next}
}

func ofRefusal(refused *membership.RefusalError) error {
	return refusedServer(refused.Why, refused.Next)
}

// admit adds another server to the store's members, without a vote yet, and returns what that server needs. It checks
// everything before it changes anything.
func (d *daemon) admit(ctx context.Context, a join.Applicant, who join.Server) (given join.Admission, err error) {
	if err := d.checkApplicant(ctx, a, who); err != nil {
		return given, err
	}
	if given.Keys, err = os.ReadFile(filepath.Join(d.Root, "secret.key")); err != nil {
		return given, fmt.Errorf("read the cluster's keys: %w", err)
	}
	if d.external != nil {
		given.Cluster = d.cluster.UID
	} else if given.Peers, err = d.peers.Authority(); err != nil {
		return given, err
	}
	used, err := d.useToken(ctx, a)
	if err != nil {
		return join.Admission{}, err
	}
	if d.external == nil {
		if err := d.addServer(ctx, who); err != nil {
			if used {
				d.returnToken(ctx, a)
			}
			return join.Admission{}, err
		}
		given.Members = map[string]string{who.Name: who.URL}
		for _, m := range d.etcd.Members() {
			if m.URL != who.URL {
				given.Members[nameOf(m)] = m.URL
			}
		}
	}
	d.Logger.InfoContext(ctx, "a server joins", "server", who.Name, "store", who.URL)
	return given, nil
}

// checkApplicant refuses a server for the reasons that can be known before it joins.
func (d *daemon) checkApplicant(ctx context.Context, a join.Applicant, who join.Server) error {
	if _, _, err := d.mayUse(ctx, a); err != nil {
		return err
	}
	rotated := d.rotation.Running()
	switch {
	case who.Schema != "" && who.Schema != schemaVersion:
		return refusedServer(fmt.Sprintf("the Tend of the server that joins knows the store's schema %.16s, the cluster's is %s",
			who.Schema, schemaVersion), "install the version that tend servers shows on the machine that joins")
	case rotated != "":
		return refusedServer("the key "+rotated+" is being rotated: no server joins meanwhile", "wait for its end: tend keys")
	case d.external != nil && who.URL != "":
		return refusedServer("the store of this cluster is an external etcd: its servers have no store of their own",
			"join without --peer-listen, and with --etcd-endpoints as the other servers have it")
	case d.external == nil && who.URL == "":
		return refusedServer("the store of this cluster is in its servers, not in an external etcd",
			"join without --etcd-endpoints, and with --peer-listen HOST:PORT")
	}
	if own := keysSum(d.Root); len(who.Keys) > 0 && subtle.ConstantTimeCompare(own, who.Keys) != 1 {
		return refusedServer("the root of the server that joins has the keys of another cluster", "join with an empty --root")
	}
	if err := mayJoin(d.serverList(), who); err != nil && !errors.Is(err, etcd.ErrMember) {
		return err
	}
	if who.Node != "" {
		node, err := d.nodeNamed(ctx, who.Node)
		if err != nil {
			return err
		}
		if refused := membership.CheckNode(who.Name, node, d.serverList(node)); refused != nil {
			return ofRefusal(refused)
		}
	}
	return d.reaches(ctx, who)
}

// versions returns the versions of the servers that run.
func (d *daemon) versions() []string {
	out := []string{version.Version}
	for _, presence := range d.presences() {
		out = append(out, presence.Version)
	}
	return out
}

// mayJoin returns an error if an existing server prevents another from joining; etcd.ErrMember if that will end soon.
func mayJoin(servers []membership.Server, who join.Server) error {
	as, state, holder := membership.Asked(servers, who.Name, who.URL)
	_, refused := membership.Decide(as, state, membership.Subject{Server: who.Name, Address: who.URL, Holder: holder})
	switch {
	case refused == nil:
		return nil
	case state == membership.Added:
		return fmt.Errorf("%w: %w", etcd.ErrMember, ofRefusal(refused))
	}
	return ofRefusal(refused)
}

// serverList returns the servers by the store's members. An external etcd has no members: the servers are then those
// that run, and those that one of the nodes belongs to, which may be off.
func (d *daemon) serverList(nodes ...membership.Node) (out []membership.Server) {
	if d.etcd == nil {
		out = append(out, membership.Server{Name: d.Name, External: true})
		for name, presence := range d.presences() {
			if name != d.Name {
				out = append(out, membership.Server{Name: name, Address: presence.Address, External: true})
			}
		}
		for _, node := range nodes {
			if node.Server != "" {
				out = append(out, membership.Server{Name: node.Server, External: true})
			}
		}
		return out
	}
	return serversOf(d.etcd.Members())
}

func serversOf(members []etcd.Member) (out []membership.Server) {
	for _, m := range members {
		out = append(out, membership.Server{Name: m.Name, Address: m.URL, Voting: m.Voting})
	}
	return out
}

// nodeNamed returns the machine that has a node's name.
func (d *daemon) nodeNamed(ctx context.Context, name string) (membership.Node, error) {
	member, err := readStored[records.Member](ctx, d.store, records.MemberKey(name))
	return nodeOf(name, member), err
}

func nodeOf(name string, member records.Read[records.Member]) membership.Node {
	node := membership.Node{Name: name}
	if member.Exists() && !member.Value.Removed {
		node.Server, node.Agent = member.Value.Server, member.Value.Server == ""
	}
	return node
}

// addServer adds a server's store to the members.
func (d *daemon) addServer(ctx context.Context, who join.Server) error {
	err := d.etcd.AddMember(ctx, who.URL, func(members []etcd.Member) (bool, error) {
		there := slices.ContainsFunc(members, func(m etcd.Member) bool { return m.URL == who.URL && m.Name == "" })
		return !there, mayJoin(serversOf(members), who)
	})
	var problem *api.Problem
	if errors.Is(err, etcd.ErrMember) && !errors.As(err, &problem) {
		return refusedServer(err.Error(), "tend servers")
	}
	return err
}

// reachTime bounds the wait for a joining server to answer at its address.
const reachTime = 5 * time.Second

// reaches returns an error if a joining server doesn't answer at the address of its store.
func (d *daemon) reaches(ctx context.Context, who join.Server) error {
	if who.Echo == "" || d.external != nil {
		return nil
	}
	const next = "check its --peer-listen and --peer-address, and that the servers reach each other there"
	parsed, err := url.Parse(who.URL)
	if err != nil {
		return refusedServer(err.Error(), next)
	}
	ctx, cancel := context.WithTimeout(ctx, reachTime)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", parsed.Host)
	if err != nil {
		return refusedServer(fmt.Sprintf("server %s does not reach the one that joins: %s", d.Name, err), next)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(reachTime))
	if said, err := io.ReadAll(io.LimitReader(conn, int64(len(who.Echo)))); err != nil || string(said) != who.Echo {
		return refusedServer(fmt.Sprintf("server %s reaches another program at %s, not the server that joins", d.Name, parsed.Host),
			next)
	}
	return nil
}

// nameOf returns the name of a member, or its address until it has started.
func nameOf(m etcd.Member) string {
	if m.Name == "" {
		return idOf(m)
	}
	return m.Name
}

func idOf(m etcd.Member) string { return strconv.FormatUint(m.ID, 16) }
