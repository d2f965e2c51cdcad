package clusterapi

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pull"
	"tend.dev/tend/internal/core/clusterjob"
	"tend.dev/tend/internal/platform/limit"
	"tend.dev/tend/internal/store/records"
)

// ErrNoCluster means that no cluster of a name is declared.
var ErrNoCluster = errors.New("no such cluster is declared")

// Invite makes a registration token for a cluster. Only its hash is stored.
func (h *Handler) Invite(
	ctx context.Context, name string, life time.Duration,
) (token string, ends time.Time, err error) {
	return h.invite(ctx, name, life, func(stored *api.ClusterAccess, _ string) *api.ClusterAccess { return stored })
}

// InviteWithNewKeys replaces the keys with which a cluster checks jobs and approvals, and makes a registration token
// for the new keys. The operator's present keys stay valid until it has registered with that token.
func (h *Handler) InviteWithNewKeys(
	ctx context.Context, name string, life time.Duration,
) (token string, ends time.Time, err error) {
	return h.invite(ctx, name, life, func(stored *api.ClusterAccess, uid string) *api.ClusterAccess {
		renewed := clusterjob.RenewKeys(stored, uid)
		return &renewed
	})
}

// invite changes a cluster's access and makes a registration token for it, in one transaction.
func (h *Handler) invite(ctx context.Context, name string, life time.Duration,
	change func(*api.ClusterAccess, string) *api.ClusterAccess,
) (token string, ends time.Time, err error) {
	token = clusterjob.RegistrationPrefix + rand.Text()
	s, err := h.Fresh(ctx)
	if err != nil {
		return "", ends, err
	}
	_, err = h.change(ctx, s, func(s records.Snapshot) (*records.Txn, error) {
		object := s.Cluster(name)
		if !object.Exists() || object.Value.Metadata.Deleting() {
			return nil, ErrNoCluster
		}
		access, key, uid := s.ClusterAccess(name), records.ClusterAccessKey(name), object.Value.Metadata.UID
		next := clusterjob.Invite(change(access.Value, uid), uid, clusterjob.TokenHash(token), life, h.Now())
		ends = next.Registration.ExpiresAt
		txn := records.NewTxn("cluster.invite").If(records.ObjectKey(object.Value.Ref()), object.Modified)
		return txn.If(key, access.Modified).Put(key, next), nil
	})
	if err != nil {
		return "", time.Time{}, err
	}
	return token, ends, nil
}

// Keys returns the newest keys, with which a newly registering operator checks jobs and approvals. Until then jobs are
// signed with the key that the operator has.
func (h *Handler) Keys(ctx context.Context, name string) (jobs, approvals string, err error) {
	s, err := h.Fresh(ctx)
	if err != nil {
		return "", "", err
	}
	access := accessOf(s, s.Cluster(name))
	if access == nil {
		return "", "", ErrNoCluster
	}
	return pull.PublicKeys(clusterjob.JobKeys(h.MAC, *access)[0]), clusterjob.NewestApprovalSecret(h.MAC, *access), nil
}

// register gives an operator its credential. Until the credential was used once, a repeated request gets the same one,
// so a lost answer does no harm.
func (h *Handler) register(r *http.Request) (any, error) {
	if wait := h.limits.refused(addressOf(r)); wait > 0 {
		return nil, &failure{http.StatusTooManyRequests, "TooManyRequests", "too many requests with wrong tokens", wait}
	}
	leave, ok := h.registering.Enter(r.Context(), limit.Client(r.RemoteAddr))
	if !ok {
		return nil, &failure{http.StatusTooManyRequests, "TooManyRequests",
			"too many requests to register come from this address at this moment", time.Second}
	}
	defer leave()
	var asked pull.Registration
	if err := read(r, &asked); err != nil {
		return nil, err
	}
	token := bearer(r)
	if token == "" || token != asked.RegistrationToken {
		h.limits.refuse(addressOf(r))
		return nil, &failure{http.StatusUnauthorized, "Unauthorized",
			"the registration token is to be the bearer token and the body's registrationToken", 0}
	}
	s, err := h.Fresh(r.Context())
	if err != nil {
		return nil, err
	}
	var given pull.Credential
	_, err = h.change(r.Context(), s, func(s records.Snapshot) (*records.Txn, error) {
		object, access := h.invited(s, clusterjob.TokenHash(token))
		switch {
		case access == nil:
			h.limits.refuse(addressOf(r))
			return nil, &failure{http.StatusUnauthorized, "Unauthorized",
				"the registration token is wrong, used or expired; tend clusters add NAME makes another", 0}
		case asked.ClusterID != "" && asked.ClusterID != object.Value.Name:
			return nil, &failure{http.StatusForbidden, "Forbidden",
				"the registration token is not one of cluster " + asked.ClusterID, 0}
		}
		name := object.Value.Name
		note(r, caller{cluster: name})
		given = pull.Credential{ClusterID: name,
			Token: clusterjob.CredentialPrefix + h.MAC([]byte("cluster credential\n"+object.Value.Metadata.UID+"\n"+token))}
		txn, key, hash := records.NewTxn("cluster.register"), records.ClusterAccessKey(name), clusterjob.TokenHash(given.Token)
		if access.Token != nil && access.Token.Hash == hash {
			return txn, nil
		}
		return txn.If(records.ObjectKey(object.Value.Ref()), object.Modified).If(key, s.ClusterAccess(name).Modified).Put(key,
			clusterjob.Register(*access, hash, h.Now())), nil
	})
	if err == nil {
		h.Logger.InfoContext(r.Context(), "a cluster's operator has registered", "kubernetes", given.ClusterID, "from",
			addressOf(r), "client", r.UserAgent())
	}
	return given, err
}

// invited returns the cluster for which a registration token is valid.
func (h *Handler) invited(s records.Snapshot, hash string) (records.Read[api.Object], *api.ClusterAccess) {
	for object := range s.Objects(api.KindCluster) {
		if access := accessOf(s, object); clusterjob.Invited(access, hash, h.Now()) {
			return object, access
		}
	}
	return records.Read[api.Object]{}, nil
}

// rotate gives an operator another token. The token of the request stays valid for a day.
func (h *Handler) rotate(r *http.Request, by *caller, s records.Snapshot) (any, error) {
	token := clusterjob.CredentialPrefix + rand.Text()
	_, err := h.change(r.Context(), s, func(s records.Snapshot) (*records.Txn, error) {
		access, key := s.ClusterAccess(by.cluster), records.ClusterAccessKey(by.cluster)
		if !access.Exists() || clusterjob.Check(access.Value, by.hash, h.Now()) == clusterjob.Refused {
			return nil, unauthorized()
		}
		next := clusterjob.Rotate(*access.Value, by.hash, clusterjob.TokenHash(token), h.Now())
		return records.NewTxn("cluster.rotate").If(key, access.Modified).Put(key, next), nil
	})
	if err != nil {
		return nil, err
	}
	h.Logger.InfoContext(r.Context(), "a cluster's token was rotated", "kubernetes", by.cluster)
	return pull.Credential{ClusterID: by.cluster, Token: token}, nil
}
