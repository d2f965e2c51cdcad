package daemon

import (
	"context"
	"errors"
	"slices"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/records"
)

// spendTokens records that servers no longer need the answer to their join: with it, a token would give the cluster's
// keys to anyone who finds it.
func (d *daemon) spendTokens(ctx context.Context, by func(server string) bool) error {
	page, err := d.store.List(ctx, records.JoinTokensPrefix, store.ListOptions{})
	if err != nil {
		return err
	}
	for _, entry := range page.Entries {
		if err := d.spendToken(ctx, entry.Key, by); err != nil {
			return err
		}
	}
	return nil
}

// spendToken records in one token the servers that by selects, and retries if the token changed meanwhile.
func (d *daemon) spendToken(ctx context.Context, key string, by func(server string) bool) error {
	for range mostTries {
		token, err := readStored[records.JoinToken](ctx, d.store, key)
		if err != nil || !token.Exists() || token.Value.Role != api.JoinAsServer {
			return err
		}
		record, known := *token.Value, len(token.Value.Settled)
		for _, name := range record.Used {
			if by(name) && !slices.Contains(record.Settled, name) {
				record.Settled = append(slices.Clone(record.Settled), name)
			}
		}
		if len(record.Settled) == known {
			return nil
		}
		_, err = records.NewTxn("token.spent").If(key, token.Modified).Put(key, record).Commit(ctx, d.store)
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
	return store.ErrConflict
}
