package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/core/suggest"
)

// missing returns the error of an address that names nothing, with what was probably meant.
func missing(ctx context.Context, c *client.Client, wanted address) *missingError {
	if next := misread(ctx, c, wanted); next != "" {
		return &missingError{what: wanted.String(), meant: behindWord(ctx, c, wanted), next: next}
	}
	e := &missingError{what: wanted.String(), meant: meantBy(ctx, c, wanted)}
	if e.meant == "" && wanted.scope != "" && wanted.name != "" && wasThere(ctx, c, wanted) {
		e.next = "it was deleted: `tend history " + wanted.String() + "` tells its life"
	}
	return e
}

// wasThere reports whether the log of events knows an object.
func wasThere(ctx context.Context, c *client.Client, wanted address) bool {
	page, err := c.ListEvents(ctx, client.EventOptions{Kind: wanted.kind, Scope: wanted.scope, Name: wanted.name,
		Last: true, Limit: 1})
	return err == nil && len(page.Events) > 0
}

// misread returns the next step if a bare word is not the name of an object, but a scope, or a word of another tool; or
// if such a word stands in the place of a kind.
func misread(ctx context.Context, c *client.Client, wanted address) string {
	if here := familiarNoun(wanted.scope); here != "" && wanted.kind == "" && !isScope(ctx, c, wanted.scope) {
		return here
	}
	if wanted.kind != "" || wanted.scope != "" || wanted.pod != "" {
		return ""
	}
	if here := familiarNoun(wanted.name); here != "" {
		return here
	}
	if isScope(ctx, c, wanted.name) {
		return wanted.name + " is a scope: `tend get -s " + wanted.name + "` lists what is in it"
	}
	return ""
}

// behindWord returns the address of the object with containers that an address such as svc/web leads to, where svc is a
// word of another tool. It is empty unless exactly one has the name.
func behindWord(ctx context.Context, c *client.Client, wanted address) string {
	var found []api.Ref
	for _, ref := range objectsThere(ctx, c) {
		if wanted.scope != "" && ref.Name == wanted.name && ref.Kind.HasContainers() {
			found = append(found, ref)
		}
	}
	if len(found) != 1 {
		return ""
	}
	return shortName(found[0])
}

// isScope reports whether an object that the server shows is in a scope.
func isScope(ctx context.Context, c *client.Client, scope string) bool {
	return slices.ContainsFunc(objectsThere(ctx, c), func(ref api.Ref) bool { return ref.Scope == scope })
}

// meantBy returns the address of the object that was probably meant, as a command takes it; of a bare word also a kind.
// It is empty if none is near, or if the server doesn't answer.
func meantBy(ctx context.Context, c *client.Client, wanted address) string {
	asked := api.Ref{Kind: wanted.kind, Scope: wanted.scope, Name: wanted.name}
	there := objectsThere(ctx, c)
	near := suggest.Address(asked, slices.Values(there))
	if kind, is := kindAsScope(wanted); is && near == "" {
		near = suggest.Address(api.Ref{Kind: kind, Name: wanted.name}, slices.Values(there))
	}
	if near == "" && wanted.kind == "" && wanted.scope == "" && len(wanted.name) >= leastKind {
		return suggest.Nearest(wanted.name, kindWords())
	}
	return near
}

// leastKind is the length from which a word may be a misspelt kind: shorter ones are one letter from many.
const leastKind = 5

// objectsThere returns all objects that the server shows; those it doesn't show are left out.
func objectsThere(ctx context.Context, c *client.Client) []api.Ref {
	var refs []api.Ref
	for _, kind := range api.KindsThat(api.Kind.Stored) {
		list, err := c.Objects(ctx, kind, client.ObjectFilter{})
		if err != nil {
			continue
		}
		for _, object := range list.Items {
			refs = append(refs, object.Ref())
		}
	}
	return refs
}

// kindWords are the words for kinds that commands take.
func kindWords() []string {
	words := []string{"pods", "nodes"}
	for _, kind := range api.KindsThat(api.Kind.Stored) {
		words = append(words, string(kind), kind.Plural())
	}
	return words
}

// tooMuch refuses arguments behind an address. What was taken for a bare name may have been meant as a kind.
func (a address) tooMuch(cmd string, rest []string) error {
	if here := familiarNoun(a.name); len(rest) > 0 && a.kind == "" && a.scope == "" && here != "" {
		return errors.New(here)
	}
	if near := suggest.Nearest(a.name, kindWords()); len(rest) > 0 && a.kind == "" && a.scope == "" && near != "" {
		return fmt.Errorf("unknown kind %q%s", a.name, suggest.Behind(near))
	}
	return tooMuch(cmd, rest)
}

// unknownCommandError is the error for a word that isn't a command.
type unknownCommandError struct {
	text string
	// meant is the command that was probably meant; empty if none is near.
	meant string
	// familiar is set if the word is one of another tool: text says all.
	familiar bool
}

func (e *unknownCommandError) Error() string { return e.text }

// nested returns the one command below another one of parent that a word names, with the words that lead to it: for
// prune, "system prune". It is empty if there is none, or several.
func nested(parent *cobra.Command, word string) (found string) {
	for _, command := range parent.Commands() {
		for _, child := range command.Commands() {
			switch {
			case child.Name() != word || !child.IsAvailableCommand():
			case found != "":
				return ""
			default:
				found = command.Name() + " " + word
			}
		}
	}
	return found
}

// unknownSubcommand returns the error for a word that isn't a command of its parent.
func unknownSubcommand(parent *cobra.Command, word string) *unknownCommandError {
	var names, words []string
	for _, command := range parent.Commands() {
		if command.IsAvailableCommand() {
			names = append(names, command.Name())
			words = append(append(words, command.Name()), command.Aliases...)
		}
	}
	if here := familiar(word); here != "" && !parent.HasParent() {
		return &unknownCommandError{text: here, familiar: true}
	}
	e := &unknownCommandError{meant: cmp.Or(suggest.Nearest(word, words), nested(parent, word))}
	e.text = fmt.Sprintf("unknown command %q%s\n  `tend --help` lists the commands", word, suggest.Behind(e.meant))
	if parent.HasParent() {
		e.text = fmt.Sprintf("%s has no command %q%s\n  it has %s", parent.CommandPath(), word, suggest.Behind(e.meant),
			strings.Join(names, ", "))
	}
	return e
}

// refuseUnknown makes commands that only group others refuse any other word: a script would go on after the help.
func refuseUnknown(parent *cobra.Command) {
	for _, command := range parent.Commands() {
		refuseUnknown(command)
		if !command.HasSubCommands() || command.Args != nil {
			continue
		}
		command.Args = func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownSubcommand(cmd, args[0])
			}
			return nil
		}
		if !command.Runnable() {
			command.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		}
	}
}
