package cli

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/server/backup"
	"tend.dev/tend/internal/server/backup/restore"
)

func (a *app) verifyCommand() *cobra.Command {
	var with openFlags
	command := &cobra.Command{
		Use: "verify FILE", Short: "read a whole backup and check it", Args: takes(1, 1),
		Long: "Read a whole backup, without a server: every sum, the store and its pages, that the keys are the store's and that every\n" +
			"file that the store refers to is inside. It prints what is inside, and ends with 1 if anything is wrong.",
		Example: "  tend backup verify tend.tar.zst.age --identity key.txt\n  ssh store cat tend.age | tend backup verify - --passphrase-file pass",
		RunE: func(cmd *cobra.Command, args []string) error {
			in, done, err := with.open(cmd.Context(), a, args[0])
			defer done()
			if err == nil {
				var report restore.Report
				if report, err = restore.Verify(cmd.Context(), in, ""); err == nil {
					return a.printReport(report)
				}
			}
			return aboutFile(args[0], err)
		},
	}
	with.add(command)
	return command
}

// printReport prints what a backup holds.
func (a *app) printReport(r restore.Report) error {
	if a.structured() {
		if err := (listing{value: r}).write(a.streams, a.output); err != nil {
			return err
		}
		return lacking(r.Manifest)
	}
	fmt.Fprintf(a.out, "cluster    %s\nrevision   %d\ntaken      %s, by Tend %s\n", r.Cluster, r.Revision,
		dateText(r.TakenAt), printable(r.Tend, ""))
	fmt.Fprintf(a.out, "objects    %s\n", cmp.Or(objectCounts(r.Objects), "none"))
	fmt.Fprintf(a.out, "files      %d, %s with the store and the keys\n", len(r.Blobs()), bytesText(r.Size()))
	if len(r.Nodes) > 0 {
		fmt.Fprintf(a.out, "nodes      %s\n", printable(strings.Join(r.Nodes, ", "), ""))
	}
	if len(r.Plugins) > 0 {
		fmt.Fprintf(a.out, "plugins    %s (not inside: install them again)\n", printable(pluginNames(r.Plugins), ""))
	}
	if len(r.Running) > 0 {
		fmt.Fprintf(a.out, "runs       %s had not ended\n", printable(strings.Join(r.Running, ", "), ""))
	}
	if warnMissing(a.err, r.Manifest); len(r.MissingBlobs) == 0 {
		fmt.Fprintln(a.out, "ok")
	}
	return lacking(r.Manifest)
}

// lacking returns the exit status of a command that found a backup without all files.
func lacking(manifest backup.Manifest) error {
	if len(manifest.MissingBlobs) > 0 {
		return &exitStatus{code: exitError}
	}
	return nil
}

func objectCounts(counts map[api.Kind]int) string {
	var out []string
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		out = append(out, countOf(counts[kind], string(kind)))
	}
	return strings.Join(out, ", ")
}

func pluginNames(plugins []backup.Plugin) string {
	var out []string
	for _, p := range plugins {
		out = append(out, strings.TrimSpace(p.Name+" "+p.Version))
	}
	return strings.Join(out, ", ")
}

// restored prints the result of a restore, and the next step.
func (a *app) restored(w io.Writer, root string, result restore.Result) {
	warnMissing(a.err, result.Manifest)
	if result.Aside != "" {
		fmt.Fprintf(w, "what was there is in %s\n", result.Aside)
	}
	for _, p := range result.Plugins {
		fmt.Fprintf(w, "plugin %s is not in the backup: tend plugins install %s\n", printable(p.Name, ""),
			printable(cmp.Or(p.Source, p.Name), ""))
	}
	fmt.Fprintf(w,
		"restored the backup of %s to %s%s\n", dateText(result.TakenAt), root, nextLine("  ",
			"start the server (it starts paused), compare with tend get and tend diff, then: tend resume"))
}
