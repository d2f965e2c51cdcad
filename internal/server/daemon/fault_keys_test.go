package daemon

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/rekey"
)

// TestEveryFailpointOfAKey is TestEveryFailpoint for the keys that are rotated: whichever step a server dies after, the
// next one goes on, every secret stays readable, and the old keys open nothing in the end.
func TestEveryFailpointOfAKey(t *testing.T) {
	everyFailpoint(t, story{live: (*drill).liveByRotations, points: 6, nodes: true, only: "store.key."})
}

func (d *drill) liveByRotations() {
	d.t.Helper()
	d.m.engine.AddImage("web:1")
	d.declare("config", func(ctx context.Context) error {
		_, err := d.client.SetConfig(ctx, "shop", "web", api.ConfigRequest{Set: map[string]string{"PASSWORD": "hunter2"}})
		return err
	})
	ref := shopRef("web")
	d.say(api.Object{Kind: ref.Kind, Scope: ref.Scope, Name: ref.Name, Spec: []byte(`{"image":"web:1","replicas":1}`)})
	had := d.secretKeys()
	for _, key := range []string{api.KeySecrets, api.KeyNodes} {
		d.rotate(key)
	}
	if has := d.secretKeys(); len(had) != 1 || len(has) != 1 || has[0] == had[0] {
		d.t.Errorf("the server has %d keys of secrets, before %d", len(has), len(had))
	}
	var value string
	d.declare("read the secret", func(ctx context.Context) (err error) {
		value, err = d.client.ConfigValue(ctx, "shop", "web", "PASSWORD")
		return err
	})
	if value != "hunter2" {
		d.t.Errorf("the secret is %q", value)
	}
}

// secretKeys returns the keys in the server's file.
func (d *drill) secretKeys() []string {
	d.t.Helper()
	text, err := os.ReadFile(filepath.Join(d.m.root, "secret.key"))
	if err != nil {
		d.t.Fatal(err)
	}
	return regexp.MustCompile(`AGE-SECRET-KEY-\S+`).FindAllString(string(text), -1)
}

// rotate rotates a key. The clock goes on while a server waits for its last look; each server waits again.
func (d *drill) rotate(name string) {
	d.t.Helper()
	d.declare("rotate "+name, func(ctx context.Context) error {
		_, err := d.client.RotateKey(ctx, name)
		return err
	})
	waited := -1
	d.until("the key "+name+" is rotated", func(ctx context.Context) bool {
		keys, err := d.client.Keys(ctx)
		if err != nil {
			return false
		}
		at := slices.IndexFunc(keys.Items, func(k api.Key) bool { return k.Name == name })
		if at < 0 || keys.Items[at].Rotation == nil {
			return at >= 0
		}
		looks := func(wait string) bool { return strings.Contains(wait, "a last look") }
		if waited < d.deaths && slices.ContainsFunc(keys.Items[at].Rotation.Waits, looks) {
			waited = d.deaths
			d.ahead.Add(int64(rekey.SettleTime))
		}
		return false
	})
}
