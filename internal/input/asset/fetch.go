package asset

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/platform/confine"
	"tend.dev/tend/internal/store/blob"
)

// DefaultTimeout bounds a fetch, from the request to the last byte.
const DefaultTimeout = 30 * time.Second

// Fetch downloads a URL and returns the digest of its bytes. It sends a conditional request if the URL was fetched
// before. If the download fails, Fetch returns the digest of the last bytes and a warning, unless the file's on_failure
// is "error" or nothing was ever fetched. A confined fetch may not reach this machine, and reuses only the bytes of
// confined fetches. A dry run downloads but stores nothing.
func (l *Library) Fetch(
	ctx context.Context, file api.AssetFile, confined, dry bool,
) (digest, warning string, err error) {
	from := origin{client: l.opts.HTTP, address: file.URL, key: file.URL}
	if confined {
		from.client, from.key = l.opts.Confined, "confined "+file.URL
	}
	known, remembered := l.cache.read(from.key)
	if remembered {
		if remembered, err = l.Has(known.Digest, dry); err != nil {
			return "", "", err
		}
	}
	timeout, parseErr := time.ParseDuration(string(file.Timeout))
	if parseErr != nil {
		timeout = DefaultTimeout
	}
	bounded, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	digest, err = l.download(bounded, from, known, remembered, dry)
	switch {
	case err == nil:
		return digest, "", nil
	case ctx.Err() != nil:
		return "", "", ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		err = fmt.Errorf("no answer within %s", timeout)
	}
	shown := display(file.URL)
	if errors.Is(err, blob.ErrNoSpace) || errors.Is(err, blob.ErrTooLarge) {
		return "", "", fmt.Errorf("fetch %s: %w", shown, err)
	}
	if file.OnFailure == api.OnFailureError || !remembered {
		return "", "", fmt.Errorf("fetch %s: %w", shown, err)
	}
	l.opts.Logger.WarnContext(ctx, "asset's URL failed; the bytes fetched last are used", "url", shown,
		"fetched_at", known.FetchedAt, "error", err)
	return known.Digest, fmt.Sprintf("%s could not be fetched (%s): the bytes of %s are used", shown, err,
		known.FetchedAt.UTC().Format(time.RFC3339)), nil
}

// origin is a URL with the client that fetches it, and the key of its record in the cache.
type origin struct {
	client       *http.Client
	address, key string
}

// download fetches a URL. It asks the server to send the bytes only if they differ from the known ones.
func (l *Library) download(ctx context.Context, from origin, known remembered, conditional, dry bool) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, from.address, nil)
	if err != nil {
		return "", plain(err)
	}
	request.Header.Set("User-Agent", "tend")
	if conditional && known.ETag != "" {
		request.Header.Set("If-None-Match", known.ETag)
	}
	if conditional && known.LastModified != "" {
		request.Header.Set("If-Modified-Since", known.LastModified)
	}
	response, err := from.client.Do(request)
	if err != nil {
		return "", confine.Advised(plain(err))
	}
	defer response.Body.Close()
	switch {
	case response.StatusCode == http.StatusNotModified && conditional:
		return known.Digest, nil
	case response.StatusCode != http.StatusOK:
		return "", fmt.Errorf("the server answered %s", response.Status)
	case dry:
		return digestOf(response.Body)
	}
	digest, err := l.opts.Blobs.Put(response.Body, blob.MaxBytes)
	if err != nil {
		return "", plain(err)
	}
	return digest, l.cache.write(rememberedOf(from.key, digest, response.Header, l.opts.Now()))
}

func rememberedOf(key, digest string, header http.Header, now time.Time) remembered {
	return remembered{URL: key, Digest: digest, ETag: header.Get("ETag"), LastModified: header.Get("Last-Modified"),
		FetchedAt: now.UTC()}
}

func digestOf(r io.Reader) (string, error) {
	hash := sha256.New()
	n, err := io.Copy(hash, io.LimitReader(r, blob.MaxBytes+1))
	if err == nil && n > blob.MaxBytes {
		err = blob.ErrTooLarge
	}
	return "sha256:" + hex.EncodeToString(hash.Sum(nil)), err
}

// display returns a URL without the parts that may be secret: the user's password and the query.
func display(address string) string {
	parsed, err := url.Parse(address)
	if err != nil {
		return "the URL"
	}
	if parsed.RawQuery != "" {
		parsed.RawQuery = "…"
	}
	return parsed.Redacted()
}

// plain removes the URL, which may hold a secret, from an error that quotes it.
func plain(err error) error {
	if quoted, ok := errors.AsType[*url.Error](err); ok {
		return quoted.Err
	}
	return err
}
