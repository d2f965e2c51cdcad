package podlog

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"tend.dev/tend/api/pull"
)

// maxLine is the most bytes of a line that are kept.
const maxLine = 16 << 10

// output reads the lines of a container, in the order of time, and returns how many there were.
func (r *Reader) output(
	ctx context.Context, q pull.Query, of container, take func(pull.OutputLine),
) (lines int, err error) {
	tail := int64(q.Tail)
	options := &corev1.PodLogOptions{Container: of.name, Previous: q.Previous, Timestamps: true, TailLines: &tail}
	if !q.Since.IsZero() {
		options.SinceTime = &metav1.Time{Time: q.Since}
	}
	stream, err := r.Open(ctx, q.Namespace, of.pod, options)
	if err != nil {
		return 0, err
	}
	defer stream.Close()
	from := bufio.NewReaderSize(stream, maxLine)
	var at time.Time
	for {
		text, err := nextLine(from)
		if text != "" || err == nil {
			line := parse(text, at)
			at = line.At
			lines++
			if !line.At.Before(q.Since) {
				take(line)
			}
		}
		if errors.Is(err, io.EOF) {
			return lines, nil
		}
		if err != nil {
			return lines, err
		}
	}
}

// nextLine returns a line without its end, cut to maxLine bytes.
func nextLine(from *bufio.Reader) (string, error) {
	text, err := from.ReadSlice('\n')
	line := strings.TrimSuffix(string(text), "\n")
	cut := false
	for errors.Is(err, bufio.ErrBufferFull) {
		cut = true
		_, err = from.ReadSlice('\n')
	}
	if cut {
		line += "…"
	}
	return line, err
}

// parse reads a line that begins with its time. One without has the time of the line before it.
func parse(text string, before time.Time) pull.OutputLine {
	stamp, rest, found := strings.Cut(text, " ")
	at, err := time.Parse(time.RFC3339Nano, stamp)
	if err != nil {
		return pull.OutputLine{At: before, Text: strings.ToValidUTF8(text, "�")}
	}
	if !found {
		rest = ""
	}
	return pull.OutputLine{At: at.UTC(), Text: strings.ToValidUTF8(rest, "�")}
}
