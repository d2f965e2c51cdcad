package rotation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/rekey"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/records"
)

// Lead begins the next phase of every rotation when all parties are ready, until ctx ends. It runs on the leading
// server, and commits within its term.
func (s *Service) Lead(ctx context.Context, term Store) {
	s.used, s.clean = map[string]time.Time{}, map[string]bool{} // another server may have led meanwhile
	ticker := time.NewTicker(LookEvery)
	defer ticker.Stop()
	for {
		if err := s.LeadOnce(ctx, term); err != nil && ctx.Err() == nil {
			s.Logger.WarnContext(ctx, "the rotation of a key makes no progress; retrying", "backoff",
				LookEvery, "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// LeadOnce advances every rotation by one phase, if possible.
func (s *Service) LeadOnce(ctx context.Context, term Store) error {
	var faults []error
	for _, key := range s.Keys {
		if err := s.leadKey(ctx, term, key); err != nil && !errors.Is(err, store.ErrConflict) {
			faults = append(faults, fmt.Errorf("the key %s: %w", key.Info(s.Snapshot()).Name, err))
		}
	}
	return errors.Join(faults...)
}

// leadKey advances the rotation of one key by one phase, if its parties are ready.
func (s *Service) leadKey(ctx context.Context, term Store, key Key) error {
	snap := s.Snapshot()
	name := key.Info(snap).Name
	record := snap.Rotation(name)
	if !record.Exists() {
		delete(s.used, name)
		delete(s.clean, name)
		return nil
	}
	r := *record.Value
	state := rekey.State{KeyRotation: r.KeyRotation, Parties: s.parties(snap, name, key), Left: -1, What: key.Made(),
		UsedSince: s.used[name], Now: s.Now()}
	if err := s.look(ctx, term, key, name, &state, r); err != nil {
		return err
	}
	next, waits := rekey.Plan(state)
	txn := records.NewTxn("key.phase").If(records.RotationKey(name), record.Modified)
	switch {
	case next == "":
		s.Logger.InfoContext(ctx, "a key was rotated", "key", name, "from", r.Old, "to", r.New)
		_, err := txn.Delete(records.RotationKey(name)).Commit(ctx, term)
		return err
	case next == r.Phase && slices.Equal(waits, r.Waits):
		return nil
	case next != r.Phase:
		r.Phase, r.PhaseSince = next, state.Now.UTC()
		if err := key.Advance(snap, &r, txn); err != nil {
			return err
		}
		s.Logger.InfoContext(ctx, "the rotation of a key made progress", "key", name, "phase", next)
	}
	r.Waits = waits
	_, err := txn.Put(records.RotationKey(name), r).Commit(ctx, term)
	return err
}

// look counts what the old key made and still exists, once every party uses the new key. If nothing was left, it counts
// again only at the end.
func (s *Service) look(
	ctx context.Context, term Store, key Key, name string, state *rekey.State, r records.Rotation,
) error {
	used := !slices.ContainsFunc(state.Parties, func(p rekey.Party) bool { return p.Uses != r.New })
	if state.What == "" || r.Phase != api.KeyMoves || !used {
		return nil
	}
	if state.UsedSince.IsZero() {
		s.used[name] = state.Now
		state.UsedSince = state.Now
	}
	if state.Left = 0; s.clean[name] && state.Now.Before(state.UsedSince.Add(rekey.SettleTime)) {
		return nil
	}
	var err error
	state.Left, err = key.Renew(ctx, term, r)
	state.What = key.Made()
	s.clean[name] = state.Left == 0
	return err
}

// parties returns the parties of a rotation: every server, and the key's own parties.
func (s *Service) parties(snap records.Snapshot, name string, key Key) []rekey.Party {
	said := snap.Holdings()
	var out []rekey.Party
	for _, server := range s.Servers() {
		holds := said[server.Name][name]
		p := rekey.Party{Name: "server " + server.Name, Knows: holds.Knows, Uses: holds.Uses, Next: holds.Next}
		switch {
		case server.State != api.ServerUp:
			p.Next = "it is away: start it, or tend servers remove " + server.Name
		case said[server.Name] == nil:
			p.Next = "it may run an earlier version: update it"
		}
		out = append(out, p)
	}
	return append(out, key.Parties(snap)...)
}
