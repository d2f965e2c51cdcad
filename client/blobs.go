package client

import (
	"context"
	"io"
	"net/http"
	"net/url"
)

// HasBlob says whether the server has the bytes of a digest (sha256:<hex>). It keeps them for an hour from then on, whether
// an object refers to them or not.
func (c *Client) HasBlob(ctx context.Context, digest string) (bool, error) {
	response, err := c.send(ctx, request{method: http.MethodHead, path: blobPath(digest)})
	if IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, response.Body.Close()
}

// PutBlob sends the bytes of a digest, size of them, so that an asset can refer to them. Sending what the server has does
// nothing.
func (c *Client) PutBlob(ctx context.Context, digest string, content io.Reader, size int64) error {
	response, err := c.send(ctx, request{method: http.MethodPut, path: blobPath(digest), stream: content, size: size,
		contentType: "application/octet-stream"})
	if err != nil {
		return err
	}
	return response.Body.Close()
}

// Blob reads the bytes of a digest. The caller closes them.
func (c *Client) Blob(ctx context.Context, digest string) (io.ReadCloser, error) {
	response, err := c.send(ctx, request{method: http.MethodGet, path: blobPath(digest)})
	if err != nil {
		return nil, err
	}
	return response.Body, nil
}

func blobPath(digest string) string { return "/v1/blobs/" + url.PathEscape(digest) }
