package cli

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/takeover"
)

// prepare writes the manifests, checks all of them, and applies what starts nothing, before the first container stops.
func (t *takingOver) prepare(ctx context.Context, services []takeover.Service) error {
	if err := t.unblocked(ctx, services); err != nil {
		return err
	}
	note, err := t.project.write()
	if err != nil {
		return err
	}
	if note != "" {
		fmt.Fprintln(t.app.err, note)
	}
	from := sources{files: []string{t.project.file}}
	if t.loaded, err = from.load(ctx, t.app, nil); err != nil {
		return err
	}
	t.set = from.set(nil)
	taken, err := t.complete()
	if err != nil {
		return err
	}
	checked := slices.Clone(t.loaded.Objects)
	var rest []api.Object
	for i, object := range checked {
		switch {
		case object.Kind == api.KindDeployment:
			if checked[i].Spec, err = withoutReplicas(object.Spec); err != nil {
				return err
			}
		case !slices.Contains(taken, object.Ref()) && !slices.Contains(t.project.kept, object.Ref()):
			rest = append(rest, object)
		}
	}
	trees, err := t.app.packTrees(ctx, t.loaded, true)
	if err != nil {
		return err
	}
	defer dropTrees(trees)
	if err := errors.Join(t.app.upload(ctx, t.client, t.loaded.Uploads),
		t.app.sendTrees(ctx, t.client, trees)); err != nil {
		return err
	}
	result, err := t.client.Apply(ctx, api.ApplyRequest{Objects: checked, Set: t.set, DryRun: true})
	if err != nil {
		return located(err, t.loaded)
	}
	t.app.noteLeft(result, from, nil) // of a file that was moved away, or that --force replaces and that can't be read
	if len(rest) == 0 {
		return nil
	}
	return t.apply(ctx, rest)
}

// unblocked makes sure that nothing which the takeover leaves alone writes to what its pods will write to.
func (t *takingOver) unblocked(ctx context.Context, services []takeover.Service) error {
	all, err := t.project.engine.Neighbours(ctx)
	if err != nil {
		return err
	}
	if err := t.project.named().Blocked(services, all); err != nil {
		return fmt.Errorf("nothing was done: %w", t.project.explain(err))
	}
	return nil
}

// complete returns the objects of the services that are taken over, once all of them, and none that was left out, are
// among the manifests.
func (t *takingOver) complete() (taken []api.Ref, err error) {
	for _, s := range t.project.services {
		taken = append(taken, s.objects...)
	}
	have := map[api.Ref]bool{}
	for _, object := range t.loaded.Objects {
		have[object.Ref()] = true
		if t.project.dropped[object.Ref()] != "" {
			return nil, fmt.Errorf("%s has %s, which is not taken over; nothing was done\n"+
				"  remove it there, or write the file anew with --force", t.project.file, object.Ref())
		}
	}
	for _, ref := range taken {
		if !have[ref] {
			return nil, fmt.Errorf("%s has no %s; nothing was done\n  add it, or write the file anew with --force",
				t.project.file, ref)
		}
	}
	return taken, nil
}

// withoutReplicas returns the spec of a deployment that starts nothing: its ports and volumes are still Compose's.
func withoutReplicas(spec json.RawMessage) (json.RawMessage, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(spec, &fields); err != nil {
		return nil, err
	}
	fields["replicas"] = json.RawMessage("0")
	return json.Marshal(fields)
}

// adoptedLine begins a manifest that an adoption wrote. A sum of what follows is in it, so that the next run knows who
// has changed what since.
const adoptedLine = "# Made by `tend adopt compose`, as "

// signed returns the manifests as an adoption writes them.
func signed(text []byte) []byte {
	sum := sha256.Sum256(text)
	return append(fmt.Appendf(nil, "%s%x.\n", adoptedLine, sum[:8]), text...)
}

// unsigned returns manifests without the line that an adoption puts before them.
func unsigned(text []byte) []byte {
	if line, body, _ := bytes.Cut(text, []byte("\n")); bytes.HasPrefix(line, []byte(adoptedLine)) {
		return body
	}
	return text
}

// signature returns the checksum in a manifest that an adoption wrote, and whether the text still matches it.
func signature(text []byte) (sum string, untouched, adopted bool) {
	line, body, _ := strings.Cut(string(text), "\n")
	sum, adopted = strings.CutPrefix(line, adoptedLine)
	own, _, _ := strings.Cut(string(signed([]byte(body))), "\n")
	return sum, adopted && own == line, adopted
}

// write writes the manifests. What the file has is kept if an adoption wrote it and the same would be written again:
// then changes in it are a person's. What `tend init` or an adoption wrote, and nobody has changed, is replaced.
// Anything else is replaced only with --force. What is added to a file replaces nothing in it. The note says what a
// person should know.
func (p *composeProject) write() (note string, err error) {
	have, err := os.ReadFile(p.file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	there := err == nil
	sum, untouched, adopted := signature(have)
	wanted, _, _ := signature(p.text)
	switch {
	case !there, p.ask.force, string(have) == string(p.plain), untouched, adopted && p.adds:
	case adopted && sum == wanted:
		return p.file + " was changed since it was written: it is applied as it is", nil
	case adopted:
		return "", fmt.Errorf("%s was changed since an adoption wrote it, and the project too; nothing was done\n"+
			"  overwrite it with --force; what Tend runs and Compose doesn't stays in it", p.file)
	default:
		return "", fmt.Errorf("%s holds something else; nothing was done\n  move it away, or overwrite it with --force",
			p.file)
	}
	if err := os.MkdirAll(filepath.Dir(p.file), 0o755); err != nil {
		return "", err
	}
	return "", replacePrivate(p.file, p.text)
}

// replacePrivate writes a file that only its owner may read, all of it or nothing.
func replacePrivate(path string, text []byte) error {
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*") // with mode 0600
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	err = errors.Join(err, file.Sync(), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return nil
}
