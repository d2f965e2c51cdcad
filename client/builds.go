package client

import (
	"context"
	"net/url"

	"tend.dev/tend/api"
)

// SetBuild has an object built from the source tree of a digest, whose tar the server has (PutBlob). With force it is
// built even if the tree is the same as before.
func (c *Client) SetBuild(ctx context.Context, target Target, tree string, force bool) (api.VerbResult, error) {
	return ask[api.VerbResult](ctx, c, target, "build", "tree", tree, "force", flag(force))
}

// BuildStream reads the output of a build.
type BuildStream struct{ stream *stream }

// BuildLog opens the output of an object's build. With follow it waits for the build to begin, and ends with it. Close
// the stream.
func (c *Client) BuildLog(ctx context.Context, scope, name, build string, follow bool) (*BuildStream, error) {
	r := streamRequest("/v1/builds/" + url.PathEscape(scope) + "/" + url.PathEscape(name) + "/" +
		url.PathEscape(build) + "/log")
	r.query = queryWith("follow", flag(follow))
	opened, err := c.openStream(ctx, r, 0)
	if err != nil {
		return nil, err
	}
	return &BuildStream{opened}, nil
}

// Next returns the next line, or io.EOF at the end.
func (b *BuildStream) Next() (string, error) {
	var line api.BuildLine
	err := b.stream.next(&line)
	return line.Text, err
}

// Close ends the stream.
func (b *BuildStream) Close() error { return b.stream.Close() }
