package session

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/nodeapi/wire"
	"tend.dev/tend/internal/node/runtime"
)

// reader answers with the lines of a reader that open opens.
func (s *server) reader(
	open func(context.Context, string, runtime.LogOptions) (runtime.LogReader, error),
) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		opts, err := logOptions(r.URL.Query())
		if err != nil {
			return err
		}
		reader, err := open(r.Context(), r.PathValue("pod"), opts)
		if err != nil {
			return err
		}
		defer reader.Close()
		out := newWriter(w, opts.Follow)
		if opts.Follow && out.control.Flush() != nil { // it is open, though its first line may come much later
			return nil
		}
		for {
			line, err := reader.Next()
			if err != nil {
				out.end(err)
				return nil
			}
			if out.send(step{Line: &line}) != nil {
				return nil
			}
		}
	}
}

func logOptions(query url.Values) (opts runtime.LogOptions, err error) {
	opts.Follow = query.Get("follow") == "true"
	if opts.Tail, err = strconv.Atoi(query.Get("tail")); err != nil {
		return opts, fmt.Errorf("tail=%q: %w", query.Get("tail"), wire.ErrBadRequest)
	}
	if since := query.Get("since"); since != "" {
		if opts.Since, err = time.Parse(time.RFC3339Nano, since); err != nil {
			return opts, fmt.Errorf("since=%q: %w", since, wire.ErrBadRequest)
		}
	}
	return opts, nil
}

func (s *server) keptLogs(w http.ResponseWriter, r *http.Request) error {
	var owner api.Ref
	if err := (wire.Body{Most: maxAsked}).Read(w, r, &owner); err != nil {
		return err
	}
	kept, err := s.node.KeptLogs(r.Context(), owner)
	if err != nil {
		return err
	}
	return wire.Write(w, kept)
}
