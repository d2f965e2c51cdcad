package session_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/node/nodeapi/wire"
	"tend.dev/tend/internal/node/runtime"
)

// TestAnAnswerWithoutAnEnd: a node that never ends a line, or an answer, is cut off: it would fill the server's memory.
func TestAnAnswerWithoutAnEnd(t *testing.T) {
	endless := strings.Repeat("x", 40<<20)
	n, _ := serve(t, &fake{
		logs: func(ctx context.Context, _ string, _ runtime.LogOptions) (runtime.LogReader, error) {
			return newOutput(ctx, io.EOF, line("one"), line(endless)), nil
		},
		list: func(context.Context) ([]runtime.Container, error) { return []runtime.Container{{Name: endless}}, nil },
		find: func(context.Context, string, string) (node.FoundImage, error) {
			return node.FoundImage{ID: endless}, nil
		},
		sample: func(_ string, pods []string) []runtime.Usage {
			return []runtime.Usage{{Err: errors.New(endless)}}
		},
	})
	if _, err := n.FindImage(t.Context(), "prod", "web:1"); !errors.Is(err, wire.ErrTooLong) {
		t.Errorf("an image: %v", err)
	}
	reader, err := n.Logs(t.Context(), "p", runtime.LogOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if got, end := drain(reader); len(got) != 1 || !errors.Is(end, wire.ErrTooLong) {
		t.Errorf("%d lines, and then %v", len(got), end)
	}
	if _, err := n.List(t.Context()); !errors.Is(err, wire.ErrTooLong) {
		t.Errorf("the list: %v", err)
	}
	if got := n.Stats(t.Context(), []string{"a"}); len(got) != 1 || !errors.Is(got[0].Err, wire.ErrTooLong) {
		t.Errorf("a sample: %v", got[0].Err)
	}
}
