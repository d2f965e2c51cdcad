package client

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// HasBlob reports whether the server has the bytes of a digest (sha256:<hex>). The server then keeps them for an hour,
// even without an object that refers to them.
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

// PutBlob sends the bytes of a digest, size of them, so that an asset can refer to them. If the server has them
// already, it does nothing.
func (c *Client) PutBlob(ctx context.Context, digest string, content io.Reader, size int64) error {
	response, err := c.send(ctx, request{method: http.MethodPut, path: blobPath(digest), stream: content, size: size,
		contentType: "application/octet-stream"})
	if err != nil {
		return err
	}
	return response.Body.Close()
}

// PutTree sends the bytes of a source tree like PutBlob, compressed over a network. again returns the bytes from their
// beginning: they are sent once more, uncompressed, if the server refuses their high compression as an attack.
func (c *Client) PutTree(ctx context.Context, digest string, size int64, again func() (io.Reader, error)) error {
	content, err := again()
	if err != nil {
		return err
	}
	if strings.HasPrefix(c.server, "unix:") {
		return c.PutBlob(ctx, digest, content, size)
	}
	err = c.putCompressed(ctx, digest, content)
	if StatusOf(err) != http.StatusRequestEntityTooLarge {
		return err
	}
	if content, err = again(); err != nil {
		return err
	}
	return c.PutBlob(ctx, digest, content, size)
}

func (c *Client) putCompressed(ctx context.Context, digest string, content io.Reader) error {
	reader, writer := io.Pipe()
	compressed := make(chan struct{})
	go func() {
		defer close(compressed)
		packer, _ := gzip.NewWriterLevel(writer, gzip.BestSpeed) // the level is a valid one
		_, err := io.Copy(packer, content)
		_ = writer.CloseWithError(errors.Join(err, packer.Close())) // nil is the end of the body
	}()
	response, err := c.send(ctx, request{method: http.MethodPut, path: blobPath(digest), stream: reader, size: -1,
		contentType: "application/octet-stream", header: http.Header{"Content-Encoding": {"gzip"}}})
	_ = reader.Close() // an answer may come before the body's end
	<-compressed       // from here on the content is the caller's again
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
