package unanswered

import (
	"log/slog"
	"slices"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/store/imageask"
	"tend.dev/tend/internal/store/records"
)

// patience bounds the time in which a node that is asked gives no sign: agents report at once that they pull or build.
const patience = 30 * time.Second

const kind = "unanswered"

// Kind returns the kind whose steps record the nodes that didn't answer a request for an image. Its subjects are the
// owners of images.
func Kind() control.Kind {
	return control.Kind{
		KindInfo: api.KindInfo{Kind: kind}, Keys: owners, Step: step,
		Reads: []control.Input{ // the heartbeats of nodes, a pass finds
			control.Records(func(_ records.Snapshot, _ string,
				r *api.ImageRequest) []api.Ref {
				return []api.Ref{of(r.Owner)}
			}),
			control.Records(func(_ records.Snapshot, _ string,
				r *api.ImageStatus) []api.Ref {
				return []api.Ref{of(r.Owner)}
			}),
			control.Records(func(_ records.Snapshot, key string, _ *records.Unanswered) []api.Ref {
				owner, _ := ownerIn(key)
				return []api.Ref{of(owner)}
			}),
		},
	}
}

// of returns the subject of an owner.
func of(owner api.Ref) api.Ref {
	return api.Ref{Kind: kind, Scope: owner.Scope, Name: string(owner.Kind) + "/" + owner.Name}
}

func ownerOf(ref api.Ref) api.Ref {
	of, name, _ := strings.Cut(ref.Name, "/")
	return api.Ref{Kind: api.Kind(of), Scope: ref.Scope, Name: name}
}

// ownerIn returns the owner that a key of a record names.
func ownerIn(key string) (api.Ref, bool) {
	owner, _, ok := records.ParseRef(strings.TrimPrefix(key, records.UnansweredPrefix))
	return owner, ok
}

// owners returns the owners of requests, and of records.
func owners(s records.Snapshot) (out []api.Ref) {
	for _, request := range s.ImageRequests() {
		out = append(out, of(request.Value.Owner))
	}
	for record := range s.Prefix(records.UnansweredPrefix) {
		if owner, ok := ownerIn(record.Key); ok && !s.ImageRequest(owner).Exists() {
			out = append(out, of(owner))
		}
	}
	return out
}

// asking is the memo of a step: whom an owner's request waits for, and since when.
type asking struct {
	node, uid, image, nonce string
	began                   time.Time
}

// since returns how long it has been so, if the step before remembered the same.
func (a asking) since(before asking) asking {
	now := a.began
	if a.began = before.began; a == before && !now.Before(a.began) {
		return before
	}
	a.began = now
	return a
}

// step brings the record of one owner up to date.
func step(o control.Observation) (control.Step, error) {
	owner := ownerOf(o.Ref)
	request, had, at := o.ImageRequest(owner), o.Unanswered(owner), records.UnansweredKey(owner)
	next := control.Step{Guard: at, Txn: records.NewTxn("unanswered")}
	if !request.Exists() {
		if had.Exists() {
			next.Txn.If(at, had.Modified).Delete(at)
		}
		return next, nil
	}
	record := records.Unanswered{OwnerUID: request.Value.OwnerUID, Image: request.Value.Image,
		Nonce: request.Value.Nonce}
	if had.Exists() && had.Value.Of(*request.Value) {
		record.Nodes = slices.Clone(had.Value.Nodes)
	}
	waiting := imageask.Waiting(o.Snapshot, *request.Value)
	if waiting != "" && !slices.Contains(
		record.Nodes, waiting) { // else it was answered, or there is no other node to ask
		is := asking{waiting, record.OwnerUID, record.Image, record.Nonce, o.Now}.since(control.Recall[asking](o))
		if next.After = patience - o.Now.Sub(is.began); next.After > 0 {
			next.Memo = is
		} else {
			next.After, record.Nodes = 0, append(record.Nodes, waiting)
			next.Txn.If(at, had.Modified).Put(at, record)
			next.Log = func(log *slog.Logger) {
				log.Warn("a node that was asked for an image gives no sign; another one is asked", "node", waiting,
					"image", record.Image)
			}
		}
	}
	if had.Exists() && len(record.Nodes) == 0 {
		next.Txn.If(at, had.Modified).Delete(at)
	}
	return next, nil
}
