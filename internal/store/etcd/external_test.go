package etcd_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/etcd"
	"tend.dev/tend/internal/store/etcd/etcdtest"
	"tend.dev/tend/internal/store/storetest"
	"tend.dev/tend/internal/test/race"
)

// reach returns the options with which a cluster is reached.
func reach(c *etcdtest.Cluster, prefix string) etcd.ExternalOptions {
	return etcd.ExternalOptions{Endpoints: c.Endpoints, CA: c.CA, Certificate: c.Certificate, Key: c.Key, Prefix: prefix}
}

// connect connects to an etcd that runs. Beside many others, on a disk that they share, it may not answer in the time
// that Connect gives it.
func connect(t *testing.T, opts etcd.ExternalOptions) (s *etcd.External) {
	t.Helper()
	eventually(t, "connect", func() (err error) {
		s, err = etcd.Connect(t.Context(), opts)
		return err
	})
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// TestExternalContract: each case has a prefix of its own, in one etcd for all cases of a part, over TLS. Under the
// race detector a case takes seconds: there only those run in which something goes on beside the test.
func TestExternalContract(t *testing.T) {
	t.Parallel()
	var only []string
	if race.Few > 1 {
		only = []string{"watch", "lease", "close"}
	}
	parts, cases := map[string]*etcdtest.Cluster{}, 0
	storetest.Run(t, func(inner *testing.T) store.Store {
		part := strings.Split(inner.Name(), "/")[1]
		if parts[part] == nil {
			parts[part] = etcdtest.Start(t, etcdtest.Options{})
		}
		cases++
		return connect(inner, reach(parts[part], fmt.Sprintf("/case%d/", cases)))
	}, only...)
}

// TestExternalContractWithoutPrefix: each case has all keys of an etcd of its own, over a plain connection.
func TestExternalContractWithoutPrefix(t *testing.T) {
	if race.Few > 1 {
		return // starting fifty of them takes minutes, and runs no code that the test above doesn't
	}
	t.Parallel()
	storetest.Run(t, func(t *testing.T) store.Store {
		return connect(t, reach(etcdtest.Start(t, etcdtest.Options{Plain: true}), "/"))
	})
}

// TestPrefixesAreApart: two clusters in one etcd see nothing of each other, also if one's prefix begins the other's.
// Writes of another program advance a watch without an event.
func TestPrefixesAreApart(t *testing.T) {
	t.Parallel()
	shared := etcdtest.Start(t, etcdtest.Options{})
	one, other := connect(t, reach(shared, "/a/")), connect(t, reach(shared, "/a/b/"))
	if err := write(t.Context(), one, "/k"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	watched := one.Watch(ctx, "", 0)
	if err := write(t.Context(), other, "/k"); err != nil {
		t.Fatal(err)
	}
	var page store.Page
	for _, s := range []store.Store{one, other} {
		var err error
		page, err = s.List(t.Context(), "", store.ListOptions{})
		if err != nil || len(page.Entries) != 1 || page.Entries[0].Key != "/k" {
			t.Errorf("%+v, %v; want its own key alone", page, err)
		}
	}
	for batch := range watched.Batches() {
		if len(batch.Events) > 0 {
			t.Fatalf("%+v; want nothing of another cluster", batch)
		}
		if batch.Revision >= page.Revision {
			return
		}
	}
	t.Errorf("the watch did not learn revision %d: %v", page.Revision, watched.Err())
}

// TestExternalLosesItsQuorum: writes are refused, with the reason, and go on by themselves.
func TestExternalLosesItsQuorum(t *testing.T) {
	t.Parallel()
	three := etcdtest.Start(t, etcdtest.Options{Members: 3})
	s := connect(t, reach(three, ""))
	if err := write(t.Context(), s, "/before"); err != nil {
		t.Fatal(err)
	}
	three.Stop(0)
	eventually(t, "write with two of three", func() error { return write(t.Context(), s, "/two") })
	three.Stop(1)
	eventually(t, "writes are refused", func() error {
		if err := write(t.Context(), s, "/one"); !errors.Is(err, store.ErrNoAnswer) ||
			errors.Is(err, store.ErrUnknownOutcome) {
			return fmt.Errorf("a write with one of three: %w", err)
		}
		return nil
	})
	eventually(t, "the loss is known", func() error { // it is asked for at an interval
		if err := s.Quorum(); !errors.Is(err, store.ErrNoAnswer) {
			return fmt.Errorf("the quorum: %w", err)
		}
		return nil
	})
	_, err := etcd.Connect(t.Context(), reach(three, ""))
	if err == nil || !strings.Contains(err.Error(), "etcdctl endpoint") {
		t.Errorf("a start without a quorum: %v", err)
	}
	three.Resume(0)
	eventually(t, "write again", func() error { return write(t.Context(), s, "/again") })
}

// TestAFullExternalEtcd: it is left unchanged, and the error names the quota's owner.
func TestAFullExternalEtcd(t *testing.T) {
	t.Parallel()
	s := connect(t, reach(etcdtest.Start(t, etcdtest.Options{Quota: 8 * mib}), ""))
	var err error
	for i := 0; i < 100 && err == nil; i++ {
		_, err = s.Commit(t.Context(), store.Txn{Site: "test", Do: []store.Op{put("/a", make([]byte, mib))}})
	}
	if !errors.Is(err, store.ErrNoSpace) || !errors.Is(err, store.ErrQuota) || errors.Is(err, store.ErrUnknownOutcome) {
		t.Errorf("%v; want ErrQuota", err)
	}
	if _, err := s.Get(t.Context(), "/a"); err != nil {
		t.Errorf("reading: %v", err)
	}
}

// TestAnEndpointThatComesLater is used once it answers: then the ones from before may go.
func TestAnEndpointThatComesLater(t *testing.T) {
	t.Parallel()
	three := etcdtest.Start(t, etcdtest.Options{Members: 3})
	three.Stop(2)
	opts := reach(three, "")
	opts.Endpoints = []string{three.Endpoints[0], three.Endpoints[2]}
	used := &used{Handler: slog.DiscardHandler, endpoints: make(chan struct{}, 1)}
	opts.Logger = slog.New(used)
	s := connect(t, opts)
	three.Resume(2)
	select {
	case <-used.endpoints:
	case <-time.After(time.Minute):
		t.Fatal("it is not used")
	}
	three.Stop(0)
	eventually(t, "write through it", func() error { return write(t.Context(), s, "/a") })
}

// used is a log that notes when an endpoint is used.
type used struct {
	slog.Handler
	endpoints chan struct{}
}

func (u *used) Enabled(context.Context, slog.Level) bool { return true }

func (u *used) Handle(_ context.Context, r slog.Record) error {
	if r.Message == "an endpoint of etcd is used now" {
		u.endpoints <- struct{}{}
	}
	return nil
}

// TestWhatIsWrongWithAnExternalEtcd: each fault ends Connect within 10 s, with the cause, the place and the next step.
func TestWhatIsWrongWithAnExternalEtcd(t *testing.T) {
	t.Parallel()
	one, small := etcdtest.Start(t, etcdtest.Options{}), etcdtest.Start(t, etcdtest.Options{TxnOps: 128})
	plain, other := etcdtest.Start(t, etcdtest.Options{Plain: true}), etcdtest.Start(t, etcdtest.Options{Plain: true})
	foreign := etcdtest.Certificate(t, "127.0.0.1")
	for name, c := range map[string]struct {
		reason string
		change func(*etcd.ExternalOptions)
		want   []string
	}{
		"nobody listens": {"a wrong port", func(o *etcd.ExternalOptions) { o.Endpoints = []string{"https://127.0.0.1:1"} },
			[]string{"https://127.0.0.1:1: ", "refused", "check --etcd-endpoints"}},
		"no answer": {"packets go nowhere",
			func(o *etcd.ExternalOptions) { o.Endpoints = []string{"https://192.0.2.1:2379"} },
			[]string{"https://192.0.2.1:2379: ", "check --etcd-endpoints"}},
		"another CA": {"etcd may not be the one that is meant", func(o *etcd.ExternalOptions) { o.CA = foreign.CertFile },
			[]string{one.Endpoints[0] + ": ", "certificate", "check that --etcd-ca"}},
		"a foreign one": {"etcd refuses the client's certificate",
			func(o *etcd.ExternalOptions) { o.Certificate, o.Key = foreign.CertFile, foreign.KeyFile },
			[]string{one.Endpoints[0] + ": ", "check --etcd-cert and --etcd-key"}},
		"no certificate": {"etcd wants one", func(o *etcd.ExternalOptions) { o.Certificate, o.Key = "", "" },
			[]string{one.Endpoints[0] + ": ", "check --etcd-cert and --etcd-key"}},
		"no such file": {"a path is wrong", func(o *etcd.ExternalOptions) { o.CA = "/nowhere/ca.pem" },
			[]string{"/nowhere/ca.pem", "--etcd-ca"}},
		"two clusters": {"writes would go to one or the other", func(o *etcd.ExternalOptions) {
			*o = etcd.ExternalOptions{Endpoints: []string{plain.Endpoints[0], other.Endpoints[0]}}
		}, []string{plain.Endpoints[0], other.Endpoints[0], "endpoints of one cluster"}},
		"small transactions": {"a large apply would never pass", func(o *etcd.ExternalOptions) { *o = reach(small, "") },
			[]string{"--max-txn-ops=10000 --max-request-bytes="}},
		"not encrypted": {"secrets would be read on the way",
			func(o *etcd.ExternalOptions) { *o = etcd.ExternalOptions{Endpoints: []string{"http://10.0.0.1:2379"}} },
			[]string{"--etcd-endpoints http://10.0.0.1:2379", "want https"}},
		"no slash": {"/tend would begin the keys of /tend2 too", func(o *etcd.ExternalOptions) { o.Prefix = "/tend" },
			[]string{"--etcd-prefix", "slash"}},
	} {
		t.Run(name, func(t *testing.T) {
			opts := reach(one, "")
			c.change(&opts)
			s, err := etcd.Connect(t.Context(), opts)
			if err == nil {
				_ = s.Close()
				t.Fatalf("no error: %s", c.reason)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%s: %v; want %q", c.reason, err, want)
				}
			}
			t.Log(err)
		})
	}
}

// TestExternalUsers: an etcd with authentication is used as one of its users, and the error names missing permissions.
func TestExternalUsers(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, etcdtest.Options{Plain: true})
	admin, err := clientv3.New(clientv3.Config{Endpoints: c.Endpoints})
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(admin.UserAdd(t.Context(), "root", "r"))
	must(admin.UserGrantRole(t.Context(), "root", "root"))
	must(admin.UserAdd(t.Context(), "tend", "secret"))
	must(admin.RoleAdd(t.Context(), "tend"))
	must(admin.RoleGrantPermission(t.Context(), "tend", "/tend/", clientv3.GetPrefixRangeEnd("/tend/"),
		clientv3.PermissionType(clientv3.PermReadWrite)))
	must(admin.UserGrantRole(t.Context(), "tend", "tend"))
	must(admin.AuthEnable(t.Context()))
	file := filepath.Join(t.TempDir(), "password")
	with := func(user, password, prefix string) etcd.ExternalOptions {
		if err := os.WriteFile(file, []byte(password+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return etcd.ExternalOptions{Endpoints: c.Endpoints, User: user, PasswordFile: file, Prefix: prefix}
	}
	s := connect(t, with("tend", "secret", ""))
	if err := write(t.Context(), s, "/k"); err != nil {
		t.Error(err)
	}
	for _, c := range []struct{ password, prefix, want string }{
		{"wrong", "", "check --etcd-user and --etcd-password-file"},
		{"", "", "--etcd-password-file " + file + ": it is empty"},
		{"secret", "/other/", "role grant-permission ROLE --prefix=true readwrite /other/"},
	} {
		if _, err := etcd.Connect(t.Context(), with("tend", c.password, c.prefix)); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%v; want %q", err, c.want)
		}
	}
	if _, err := etcd.Connect(t.Context(), etcd.ExternalOptions{Endpoints: c.Endpoints}); err == nil ||
		!strings.Contains(err.Error(), "give --etcd-user") {
		t.Errorf("without a user: %v", err)
	}
}
