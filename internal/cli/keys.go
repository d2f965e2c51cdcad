package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
)

func (a *app) keysCommand() *cobra.Command {
	command := &cobra.Command{
		Use: "keys", Short: "list the cluster's keys, and rotate them", Args: takes(0, 0),
		Long: "List the cluster's keys, and how far the rotation of one has got and what it waits for. Whoever has a server's disk, or a\n" +
			"backup that isn't encrypted, has them all.",
		Example: "  tend keys\n  tend keys rotate secrets",
		RunE: a.connected(func(ctx context.Context, c *client.Client, _ []string) error {
			keys, err := c.Keys(ctx)
			if err != nil {
				return err
			}
			return a.printKeys(keys)
		}),
	}
	command.AddCommand(a.rotateKeyCommand())
	return command
}

func (a *app) rotateKeyCommand() *cobra.Command {
	var noWait, yes bool
	command := &cobra.Command{
		Use: "rotate KEY", Short: "replace a key while everything goes on", Args: takes(1, 1),
		Long: "Replace a key while everything goes on: secrets (what encrypts the store), nodes, servers or ingress (the authorities of\n" +
			"their certificates). First every server, and node, learns the new key; then all use it and what the old one made is made again;\n" +
			"then they forget the old one. The command follows this. It may be ended and begun again at any time: the servers go on.\n" +
			"After a leak, begin with servers, and end with secrets. The tokens of people that name the authority of nodes end with it:\n" +
			"on a terminal the command asks first; elsewhere it wants --yes.",
		Example: "  tend keys rotate secrets\n  tend keys rotate nodes --no-wait",
		RunE: a.connected(func(ctx context.Context, c *client.Client, args []string) error {
			if err := a.confirmRotation(ctx, c, args[0], yes); err != nil {
				return err
			}
			keys, err := c.RotateKey(ctx, args[0])
			if err != nil {
				return err
			}
			at := slices.IndexFunc(keys.Items, func(k api.Key) bool { return k.Name == args[0] })
			if noWait || at < 0 {
				return a.printKeys(keys)
			}
			return a.followRotation(ctx, c, keys.Items[at].Name)
		}),
	}
	command.Flags().BoolVar(&noWait, "no-wait", false, "begin, and return at once")
	command.Flags().BoolVarP(&yes, "yes", "y", false, "don't ask")
	return command
}

// confirmRotation asks before a rotation that ends tokens. One that is under way has been asked for.
func (a *app) confirmRotation(ctx context.Context, c *client.Client, name string, yes bool) error {
	if name != api.KeyNodes || yes {
		return nil
	}
	keys, err := c.Keys(ctx)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(keys.Items, func(k api.Key) bool { return k.Name == name && k.Rotation != nil }) {
		return nil
	}
	tokens, err := c.Tokens(ctx)
	if err != nil {
		return err
	}
	var ends, mayEnd, said []string
	for _, token := range tokens.Items {
		switch {
		case token.FormerAuthority || !token.ExpiresAt.After(time.Now()):
		case token.Authority == "": // it names none, or is older than the record of it
			mayEnd = append(mayEnd, token.Name)
		default:
			ends = append(ends, token.Name)
		}
	}
	if len(ends) > 0 {
		said = append(said, fmt.Sprintf("This ends the tokens of %s, which name the authority that is replaced: each needs a new one.", strings.Join(ends, ", ")))
	}
	if len(mayEnd) > 0 {
		said = append(said, fmt.Sprintf("This may end the tokens of %s: of these it isn't known whether they name it.", strings.Join(mayEnd, ", ")))
	}
	if len(said) == 0 {
		return nil
	}
	return a.confirm(false, strings.Join(said, " "))
}

// followEvery is the time between two looks at a rotation.
const followEvery = time.Second

// followRotation prints each step of a rotation until it is over. It waits for a server that is away: a rotation has
// servers started again, also the one that it asks.
func (a *app) followRotation(ctx context.Context, c *client.Client, name string) error {
	var shown api.KeyRotation
	for away := false; ; {
		keys, err := c.Keys(ctx)
		switch {
		case err == nil:
			away = false
			over, err := a.sayRotation(keys, name, &shown)
			if over || err != nil {
				return err
			}
		case ctx.Err() != nil || !transient(err) && !busy(err):
			return a.leftRotation(ctx, err)
		default:
			away = a.noteAway(transient(err), away)
		}
		if err := pause(ctx, followEvery); err != nil {
			return a.leftRotation(ctx, err)
		}
	}
}

// sayRotation prints what has changed about a rotation, and its end. A program gets only the keys at the end.
func (a *app) sayRotation(keys api.Keys, name string, shown *api.KeyRotation) (over bool, err error) {
	at := slices.IndexFunc(keys.Items, func(k api.Key) bool { return k.Name == name })
	if at < 0 {
		return false, fmt.Errorf("the cluster has no key %s any more: tend keys", name)
	}
	key := keys.Items[at]
	if key.Rotation == nil {
		if key.After != "" {
			fmt.Fprintf(a.err, "Left to do: %s.\n", printable(key.After, ""))
		}
		return true, a.say(keys, name, fmt.Sprintf("%s is rotated: %s", name, shortKey(key.Fingerprint)))
	}
	if a.structured() || a.output == "name" {
		return false, nil
	}
	if key.Rotation.Phase != shown.Phase {
		fmt.Fprintln(a.err, phaseText[key.Rotation.Phase])
	}
	for _, wait := range key.Rotation.Waits {
		if !slices.Contains(shown.Waits, wait) {
			fmt.Fprintln(a.err, "  waits: "+printable(wait, ""))
		}
	}
	*shown = *key.Rotation
	return false, nil
}

// leftRotation says that a rotation goes on if the person leaves.
func (a *app) leftRotation(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		fmt.Fprintln(a.err, "The rotation goes on: tend keys shows how far it has got.")
	}
	return err
}

var phaseText = map[api.KeyPhase]string{
	api.KeySpreads: "1/3 the new key spreads", api.KeyMoves: "2/3 the new key is used",
	api.KeyIsForgotten: "3/3 the old key is forgotten",
}

func (a *app) printKeys(keys api.Keys) error {
	l := listing{
		value: keys, empty: "no keys", header: []string{"KEY", "IN USE", "STATE"}, wideHeader: []string{"WHAT"},
	}
	for _, key := range keys.Items {
		state := "in use"
		switch {
		case key.Rotation != nil:
			state = phaseText[key.Rotation.Phase]
			for _, wait := range key.Rotation.Waits {
				state += "; waits: " + wait
			}
		case key.Fingerprint == "":
			state = key.Note
		}
		l.names = append(l.names, key.Name)
		l.rows = append(l.rows, []string{key.Name, dash(shortKey(key.Fingerprint)), state})
		l.wideRows = append(l.wideRows, []string{key.What})
	}
	return l.write(a.streams, a.output)
}

// shortKey shortens a fingerprint.
func shortKey(fingerprint string) string { return fingerprint[:min(len(fingerprint), 12)] }
