package clusterapi

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pull"
	"tend.dev/tend/internal/core/clusterjob"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/records"
)

// caller is the client of a request.
type caller struct {
	cluster string
	// uid is the uid of the cluster's object, hash the hash of the token.
	uid, hash string
}

type callerKey struct{}

// handler answers a request of a cluster, from a snapshot that is fresh.
type handler func(r *http.Request, by *caller, s records.Snapshot) (any, error)

// known passes on requests with a cluster's token, and refuses all others.
func (h *Handler) known(next handler) func(*http.Request) (any, error) {
	return func(r *http.Request) (any, error) {
		token := bearer(r)
		if wait := h.limits.refused(addressOf(r)); wait > 0 {
			return nil, &failure{http.StatusTooManyRequests, "TooManyRequests", "too many requests with wrong tokens", wait}
		}
		s, err := h.Fresh(r.Context())
		if err != nil {
			return nil, err
		}
		by, grant := h.find(s, clusterjob.TokenHash(token))
		if token == "" || by == nil {
			h.limits.refuse(addressOf(r))
			return nil, unauthorized()
		}
		if asked := r.URL.Query().Get("cluster"); asked != "" && asked != by.cluster {
			return nil, &failure{http.StatusForbidden, "Forbidden", "the token is not one of cluster " + asked, 0}
		}
		if wait := h.limits.busy(by.cluster, r.URL.Path); wait > 0 {
			return nil, &failure{http.StatusTooManyRequests, "TooManyRequests", "the cluster asks too often", wait}
		}
		if grant == clusterjob.FirstUse {
			if s, err = h.change(r.Context(), s,
				func(s records.Snapshot) (*records.Txn, error) { return h.firstUse(s, by) }); err != nil {
				return nil, err
			}
		}
		note(r, *by)
		return next(r, by, s)
	}
}

// note adds the caller of a request to its audit.
func note(r *http.Request, by caller) {
	if asked, ok := r.Context().Value(callerKey{}).(*caller); ok {
		*asked = by
	}
}

func unauthorized() error {
	return &failure{http.StatusUnauthorized, "Unauthorized",
		"the token is missing, wrong or replaced; tend clusters add NAME makes a token to register with", 0}
}

func bearer(r *http.Request) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// find returns the cluster that a token belongs to. The tokens of a cluster end when it is deleted, also if it is
// declared again.
func (h *Handler) find(s records.Snapshot, hash string) (*caller, clusterjob.Grant) {
	for object := range s.Objects(api.KindCluster) {
		access := accessOf(s, object)
		if grant := clusterjob.Check(access, hash, h.Now()); grant != clusterjob.Refused {
			return &caller{object.Value.Name, object.Value.Metadata.UID, hash}, grant
		}
	}
	return nil, clusterjob.Refused
}

// accessOf returns the tokens of a cluster; nil if there are none for this object, or only for an earlier one of the
// name.
func accessOf(s records.Snapshot, object records.Read[api.Object]) *api.ClusterAccess {
	access := s.ClusterAccess(object.Value.Name)
	if !access.Exists() || access.Value.UID != object.Value.Metadata.UID || object.Value.Metadata.Deleting() {
		return nil
	}
	return access.Value
}

// firstUse records that a token was used, unless it was rotated meanwhile.
func (h *Handler) firstUse(s records.Snapshot, by *caller) (*records.Txn, error) {
	txn := records.NewTxn("cluster.first-use")
	access := s.ClusterAccess(by.cluster)
	switch clusterjob.Check(access.Value, by.hash, h.Now()) {
	case clusterjob.Refused:
		return nil, unauthorized()
	case clusterjob.Granted:
		return txn, nil
	}
	key := records.ClusterAccessKey(by.cluster)
	return txn.If(key, access.Modified).Put(key, clusterjob.Use(*access.Value)), nil
}

// maxTries bounds how often a change is decided again after a conflict.
const maxTries = 20

// change commits the result of decide for a fresh snapshot, and returns a snapshot that shows the commit.
func (h *Handler) change(
	ctx context.Context, s records.Snapshot, decide func(records.Snapshot) (*records.Txn, error),
) (records.Snapshot, error) {
	for range maxTries {
		txn, err := decide(s)
		if err != nil || txn.Empty() {
			return s, err
		}
		_, err = txn.Commit(ctx, h.Store)
		if err != nil && !errors.Is(err, store.ErrConflict) {
			return s, err
		}
		committed := err == nil
		if s, err = h.Fresh(ctx); err != nil || committed {
			return s, err
		}
	}
	return s, &failure{http.StatusServiceUnavailable, "Busy", "others keep changing the same; send it again", time.Second}
}

// touch records the contact of a cluster, unless a recent one is recorded. A failed write doesn't refuse the request.
func (h *Handler) touch(r *http.Request, by *caller, s records.Snapshot, conditions []pull.Condition) {
	_, err := h.change(r.Context(), s, func(s records.Snapshot) (*records.Txn, error) {
		return h.heard(s, records.NewTxn("cluster.contact"), by, r.UserAgent(), conditions), nil
	})
	if err != nil {
		h.Logger.DebugContext(r.Context(), "the contact of a cluster can't be written", "kubernetes",
			by.cluster, "error", err)
	}
}

// heard adds the contact of a cluster to a transaction.
func (h *Handler) heard(
	s records.Snapshot, txn *records.Txn, by *caller, operator string, conditions []pull.Condition,
) *records.Txn {
	stored, key := s.ClusterContact(by.cluster), records.ClusterContactKey(by.cluster)
	var kept []api.Condition
	for _, c := range conditions {
		kept = append(kept, api.Condition{Type: c.Type, Status: c.Status, Reason: c.Reason, Message: c.Message,
			LastTransitionTime: c.LastTransitionTime})
	}
	next, worth := clusterjob.Heard(stored.Value, by.uid, operator, kept, h.Now())
	if !worth {
		return txn
	}
	return txn.If(key, stored.Modified).Put(key, next)
}
