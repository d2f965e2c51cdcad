package etcd

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"

	"tend.dev/tend/internal/platform/recovery"
	"tend.dev/tend/internal/store"
)

// refusalTime is the time that etcd may take to refuse a certificate.
const refusalTime = 300 * time.Millisecond

// answer is the answer of one endpoint.
type answer struct {
	cluster uint64
	err     error
}

// checkEndpoints asks each endpoint for the id of its cluster, and returns the endpoints that answer: a silent one may
// turn out to belong to another cluster. It returns an error if none answers, or if they belong to several clusters.
func (e *External) checkEndpoints(ctx context.Context) (usable []string, err error) {
	answers := make([]answer, len(e.opts.Endpoints))
	var asking recovery.Group
	for i, endpoint := range e.opts.Endpoints {
		asking.Go(func() { answers[i].cluster, answers[i].err = e.opts.askEndpoint(ctx, endpoint) })
	}
	asking.Wait()
	var faults []error
	for i, a := range answers {
		endpoint := e.opts.Endpoints[i]
		switch {
		case a.err != nil:
			faults = append(faults, fmt.Errorf("%s: %w", endpoint, a.err))
			continue
		case e.cluster != 0 && a.cluster != e.cluster:
			return nil, fmt.Errorf("%s is of the cluster %x and the others of %x: name endpoints of one cluster with --etcd-endpoints", endpoint, a.cluster, e.cluster)
		}
		e.cluster = a.cluster
		usable = append(usable, endpoint)
	}
	if len(usable) == 0 {
		return nil, errors.Join(faults...)
	}
	for _, fault := range faults {
		e.opts.Logger.Warn("an endpoint of etcd can't be used; others can", "error", fault)
	}
	return usable, nil
}

// recheckEvery is the interval at which endpoints that didn't answer are asked again.
const recheckEvery = 5 * time.Second

// completeEndpoints adds the endpoints that could not be used at the start once they can.
func (e *External) completeEndpoints(usable []string) {
	ticker := time.NewTicker(recheckEvery)
	defer ticker.Stop()
	for len(usable) < len(e.opts.Endpoints) {
		select {
		case <-e.lifetime.Done():
			return
		case <-ticker.C:
		}
		for _, endpoint := range e.opts.Endpoints {
			if slices.Contains(usable, endpoint) {
				continue
			}
			cluster, err := e.opts.askEndpoint(e.lifetime, endpoint)
			if err != nil || cluster != e.cluster {
				e.opts.Logger.Debug("an endpoint of etcd still can't be used", "endpoint", endpoint, "cluster",
					cluster, "error", err)
				continue
			}
			usable = append(usable, endpoint)
			e.client.SetEndpoints(usable...)
			e.opts.Logger.Info("an endpoint of etcd is used now", "endpoint", endpoint)
		}
	}
}

func (o *ExternalOptions) askEndpoint(ctx context.Context, endpoint string) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*answerTime)
	defer cancel()
	if err := o.handshake(ctx, endpoint); err != nil {
		return 0, o.explain(err)
	}
	client, err := o.client([]string{endpoint})
	if err != nil {
		return 0, o.explain(err)
	}
	defer client.Close()
	got, err := etcdserverpb.NewMaintenanceClient(client.ActiveConnection()).Status(ctx, &etcdserverpb.StatusRequest{})
	if err != nil {
		return 0, o.explain(rpctypes.Error(err))
	}
	if !progresses(got.Version) {
		return 0, fmt.Errorf("it is etcd %s: Tend needs 3.5.8 or newer", got.Version)
	}
	return got.Header.ClusterId, nil
}

// handshake returns the reason why a TLS connection to an endpoint fails. etcd refuses a certificate only after the
// handshake, and gRPC may have seen no more than a closed connection.
func (o *ExternalOptions) handshake(ctx context.Context, endpoint string) error {
	if o.tls == nil {
		return nil
	}
	conn, err := (&tls.Dialer{Config: o.tls}).DialContext(ctx, "tcp",
		strings.Trim(strings.TrimPrefix(endpoint, "https://"), "/"))
	if err != nil {
		return err
	}
	defer conn.Close()
	_ = conn.SetReadDeadline(time.Now().Add(refusalTime))
	if _, err = conn.Read(make([]byte, 1)); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	return nil
}

// progresses reports whether a version of etcd answers RequestProgress correctly: before 3.5.8 the answer could be
// ahead of events that were still to come.
func progresses(version string) bool {
	var v [3]int
	if n, _ := fmt.Sscanf(version, "%d.%d.%d", &v[0], &v[1], &v[2]); n < 3 {
		return false
	}
	return slices.Compare(v[:], []int{3, 5, 8}) >= 0
}

// checkLimits returns an error if etcd refuses the largest commit that Tend may make, or any commit. It writes nothing.
func (e *External) checkLimits(ctx context.Context) error {
	if err := e.tryWrite(ctx); err != nil {
		return e.opts.explain(err)
	}
	reads := make([]clientv3.Op, store.MaxOps)
	key := nothing + strings.Repeat("-", (store.MaxBytes+overhead)/store.MaxOps-2*maxPrefix)
	for i := range reads {
		reads[i] = clientv3.OpGet(key, clientv3.WithCountOnly(), clientv3.WithSerializable())
	}
	_, err := e.client.Txn(ctx).Then(reads...).Commit()
	if errors.Is(err, rpctypes.ErrTooManyOps) || errors.Is(err, rpctypes.ErrRequestTooLarge) ||
		codeOf(err) == codes.ResourceExhausted {
		return fmt.Errorf("it takes smaller transactions than Tend makes (%w): start its members with --max-txn-ops=%d --max-request-bytes=%d",
			reason(err), store.MaxOps, store.MaxBytes+overhead)
	}
	if err != nil {
		return e.opts.explain(err)
	}
	return nil
}

// tryWrite sends a write under a condition that never holds.
func (e *External) tryWrite(ctx context.Context) error {
	_, err := e.client.Txn(ctx).If(clientv3.Compare(clientv3.ModRevision(nothing), "<",
		0)).Then(clientv3.OpPut(nothing, "")).Commit()
	return err
}

func codeOf(err error) codes.Code {
	if answer, ok := errors.AsType[rpctypes.EtcdError](err); ok {
		return answer.Code()
	}
	return codes.Unknown
}

// reason returns the cause in an error, without the text that gRPC adds.
func reason(err error) error {
	text := err.Error()
	if _, inner, nested := strings.Cut(text, `desc = "`); nested {
		text = strings.TrimSuffix(inner, `"`)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		text = "no answer in time"
	}
	return &reasonError{text, err}
}

// reasonError is an error in fewer words.
type reasonError struct {
	text  string
	cause error
}

func (e *reasonError) Error() string { return e.text }
func (e *reasonError) Unwrap() error { return e.cause }

// explain adds the next step to an error of etcd.
func (o *ExternalOptions) explain(err error) error {
	next := "check --etcd-endpoints, and that etcd runs: etcdctl endpoint health --cluster"
	text := err.Error()
	switch {
	case errors.Is(err, rpctypes.ErrPermissionDenied):
		next = fmt.Sprintf("etcd's user needs its keys: etcdctl role grant-permission ROLE --prefix=true readwrite %s",
			o.Prefix)
	case errors.Is(err, rpctypes.ErrUserEmpty):
		next = "etcd wants a user: give --etcd-user and --etcd-password-file, or the certificate of one with --etcd-cert and --etcd-key"
	case errors.Is(err, rpctypes.ErrAuthFailed):
		next = "check --etcd-user and --etcd-password-file"
	case errors.Is(err, rpctypes.ErrNoLeader):
		next = "more than half of its members must be up: etcdctl endpoint status --cluster"
	case strings.Contains(text, "certificate signed by unknown authority"),
		strings.Contains(text, "cannot validate certificate"), strings.Contains(text, "certificate is valid for"):
		next = "check that --etcd-ca is the authority of etcd's certificate, and that the certificate names this host"
	case strings.Contains(text, "tls:"), strings.Contains(text, "x509:"):
		next = "check --etcd-cert and --etcd-key: etcd wants a certificate of an authority that it trusts"
	}
	return fmt.Errorf("%w: %s", reason(err), next)
}
