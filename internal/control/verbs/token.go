package verbs

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"slices"
	"strconv"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

// The life of an access token.
const (
	defaultAccess = 90 * 24 * time.Hour
	leastAccess   = time.Minute
	mostAccess    = 366 * 24 * time.Hour
)

// mostAccessTokens bounds how many there are: each server holds all of them in memory.
const mostAccessTokens = 10_000

type tokenDecision struct {
	txn  *records.Txn
	info api.AccessTokenInfo
}

func (d *tokenDecision) transaction() *records.Txn { return d.txn }

// AddToken makes the token of a person or a program, which names the cluster's own authority if that has a
// fingerprint. The store gets the hash of the secret alone.
func (s *Service) AddToken(
	ctx context.Context, asked api.AccessTokenRequest, by, authority string,
) (api.AccessToken, int64, error) {
	ttl, err := checkToken(asked)
	if err != nil {
		return api.AccessToken{}, 0, err
	}
	secret := rand.Text()
	decided, revision, err := decide(ctx, s, func(snap records.Snapshot) (*tokenDecision, error) {
		now := s.opts.Now().UTC()
		stored := snap.AccessToken(asked.Name)
		switch {
		case stored.Exists() && now.Before(stored.Value.ExpiresAt):
			return nil, &Error{Reason: NameTaken, Detail: "there is a token " + asked.Name + " already, of a " +
				string(stored.Value.Role),
				Next: "choose another name, or end that one first: tend tokens revoke " + asked.Name}
		case len(snap.AccessTokens()) >= mostAccessTokens:
			return nil, &Error{Reason: TooLarge, Detail: "there are " + plural(mostAccessTokens, "token") + " already",
				Next: "tend tokens revoke NAME"}
		}
		info := api.AccessTokenInfo{Name: asked.Name, Role: asked.Role,
			Scopes: slices.Compact(slices.Sorted(slices.Values(asked.Scopes))), ID: strings.ToLower(rand.Text()[:10]),
			MadeBy: by, MadeAt: now, ExpiresAt: now.Add(ttl).Truncate(time.Second), Authority: authority}
		key := records.AccessTokenKey(asked.Name)
		txn := records.NewTxn("token.add").If(key, stored.Modified).Put(key,
			records.AccessToken{AccessTokenInfo: info, Hash: hashOf(secret)})
		return &tokenDecision{txn, info}, nil
	})
	if err != nil {
		return api.AccessToken{}, 0, err
	}
	parts := []string{api.AccessTokenPrefix, asked.Name, secret}
	if authority != "" {
		parts = append(parts, authority)
	}
	return api.AccessToken{AccessTokenInfo: decided.info, Token: strings.Join(parts, ".")}, revision, nil
}

// RevokeToken ends a token.
func (s *Service) RevokeToken(ctx context.Context, name string) (api.AccessTokenInfo, int64, error) {
	decided, revision, err := decide(ctx, s, func(snap records.Snapshot) (*tokenDecision, error) {
		stored := snap.AccessToken(name)
		if !stored.Exists() {
			return nil, notFound("`tend tokens` lists those there are", "there is no token %.80q%s", name,
				meant(name, tokenNames(snap)))
		}
		key := records.AccessTokenKey(name)
		return &tokenDecision{records.NewTxn("token.end").If(key, stored.Modified).Delete(key),
				stored.Value.AccessTokenInfo},
			nil
	})
	if err != nil {
		return api.AccessTokenInfo{}, 0, err
	}
	return decided.info, revision, nil
}

func tokenNames(snap records.Snapshot) (names []string) {
	for _, token := range snap.AccessTokens() {
		names = append(names, token.Value.Name)
	}
	return names
}

func hashOf(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}

// checkToken returns the life of a token that is asked for, or what is wrong with it.
func checkToken(asked api.AccessTokenRequest) (time.Duration, error) {
	ttl, err := lifeOf(asked.TTL)
	switch {
	case !bucketName().MatchString(asked.Name):
		return 0, invalid("use lower-case letters, digits and dashes, at most 63",
			"%.80q can't be the name of a token", asked.Name)
	case !slices.Contains(api.AccessRoles, asked.Role):
		return 0, invalid("give admin, deployer or viewer", "there is no role %.80q", asked.Role)
	case asked.Role == api.Admin && len(asked.Scopes) > 0:
		return 0, invalid("leave the scopes out, or make it a deployer", "an admin is not limited to scopes")
	case len(asked.Scopes) > api.MaxListEntries:
		return 0, invalid("leave the scopes out, which allows all", "the token has %d scopes", len(asked.Scopes))
	case err != nil || ttl < leastAccess || ttl > mostAccess:
		return 0, invalid("give a time from 1m to 366d, such as 90d or 12h", "the time to live is %.80q", asked.TTL)
	}
	for _, scope := range asked.Scopes {
		if !bucketName().MatchString(scope) {
			return 0, invalid("use lower-case letters, digits and dashes", "%.80q can't be a scope", scope)
		}
	}
	return ttl, nil
}

// lifeOf reads a time in days, or a duration.
func lifeOf(text string) (time.Duration, error) {
	if text == "" {
		return defaultAccess, nil
	}
	days, inDays := strings.CutSuffix(text, "d")
	if !inDays {
		return time.ParseDuration(text)
	}
	count, err := strconv.ParseUint(days, 10, 16)
	return time.Duration(count) * 24 * time.Hour, err
}
