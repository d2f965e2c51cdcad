package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/manifest"
)

// sources are the manifests a command speaks of.
type sources struct {
	files  []string
	format string
}

func (s *sources) flags(command *cobra.Command) {
	command.Flags().StringArrayVarP(&s.files, "file", "f", nil, "manifest: a file, a directory, or - for stdin (repeatable)")
	command.Flags().StringVar(&s.format, "format", "", "language of stdin: hcl, yaml or json")
}

func (s *sources) load(a *app, args []string) (manifest.Result, error) {
	files := append(slices.Clone(s.files), args...)
	if len(files) == 0 {
		return manifest.Result{}, fmt.Errorf("nothing to read: name manifests with -f FILE, a directory, or - for stdin")
	}
	return manifest.Load(manifest.Options{Files: files, Stdin: a.in, Format: s.format})
}

// set identifies the sources: --prune removes only what the same sources applied before.
func (s *sources) set(args []string) string {
	var names []string
	for _, file := range append(slices.Clone(s.files), args...) {
		if absolute, err := filepath.Abs(file); err == nil && file != "-" {
			file = absolute
		}
		names = append(names, file)
	}
	slices.Sort(names)
	sum := sha256.Sum256([]byte(strings.Join(names, "\n")))
	return hex.EncodeToString(sum[:8])
}

func (a *app) applyCommand() *cobra.Command {
	var (
		from    sources
		request api.ApplyRequest
		noWait  bool
		timeout time.Duration
	)
	command := &cobra.Command{
		Use:   "apply -f FILE...",
		Short: "store manifests and wait until they run",
		Long: "Store manifests, all or none, and wait until every slot is good.\n\n" +
			"Exit status: 0 converged, 1 error, 2 rolled back or paused, 3 timed out (Tend goes on working at it).",
		Example: "  tend apply -f web.hcl\n  tend apply -f deploy/ --prune\n  cat web.yaml | tend apply -f - --format yaml",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.checkOutput(); err != nil {
				return err
			}
			loaded, err := from.load(a, args)
			if err != nil {
				return err
			}
			c, err := a.dial()
			if err != nil {
				return err
			}
			request.Objects, request.Set = loaded.Objects, from.set(args)
			result, err := applyRetrying(cmd.Context(), c, request)
			if err != nil {
				return err
			}
			return a.afterApply(cmd.Context(), c, request, result, noWait, timeout)
		},
	}
	from.flags(command)
	flags := command.Flags()
	flags.BoolVar(&request.DryRun, "dry-run", false, "show what would happen; change nothing")
	flags.BoolVar(&request.Prune, "prune", false, "delete what the same sources applied before and no longer hold")
	flags.BoolVar(&request.Force, "force", false, "look for (and pull) images anew although their references did not change")
	flags.BoolVar(&noWait, "no-wait", false, "return once the manifests are stored")
	flags.DurationVar(&timeout, "timeout", 10*time.Minute, "how long to wait")
	return command
}

// applyRetrying waits for objects of the same name that are still being deleted.
func applyRetrying(ctx context.Context, c *client.Client, request api.ApplyRequest) (api.ApplyResult, error) {
	deadline := time.Now().Add(30 * time.Second)
	for {
		result, err := c.Apply(ctx, request)
		if err == nil || !isTerminating(err) || time.Now().After(deadline) {
			return result, err
		}
		if err := pause(ctx, 200*time.Millisecond); err != nil {
			return result, err
		}
	}
}

func (a *app) afterApply(ctx context.Context, c *client.Client, request api.ApplyRequest, result api.ApplyResult, noWait bool, timeout time.Duration) error {
	structured := a.output == "json" || a.output == "yaml"
	switch {
	case structured:
		if err := (listing{value: result}).write(a.streams, a.output); err != nil {
			return err
		}
	case request.DryRun:
		return a.printDiff(result)
	default:
		a.printApplied(result)
	}
	if noWait || request.DryRun {
		return nil
	}
	var waits []wait
	for _, object := range result.Objects {
		waits = append(waits, wait{ref: object.Ref, revision: object.Revision})
	}
	for _, ref := range result.Pruned {
		waits = append(waits, wait{ref: ref, gone: true})
	}
	return a.await(ctx, c, waits, timeout, structured || a.output == "name")
}

func (a *app) printApplied(result api.ApplyResult) {
	for _, object := range result.Objects {
		if a.output == "name" {
			fmt.Fprintln(a.out, object.Ref)
			continue
		}
		fmt.Fprintf(a.out, "%s %s\n", object.Ref, object.Action)
	}
	for _, ref := range result.Pruned {
		fmt.Fprintf(a.out, "%s pruned\n", ref)
	}
}

// pause waits, or ends with the context.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
