package compose

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/compose-spec/compose-go/v2/types"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/input/manifest"
)

// configAsset is the name of the asset that holds the configs of a file, one key for each.
const configAsset = "configs"

// assets turns the configs into one asset, and reports for each secret how to set it: it never reads a secret's value.
func (c *converter) assets() {
	files := map[string]api.AssetFile{}
	for _, name := range slices.Sorted(maps.Keys(c.project.Configs)) {
		config, at := c.project.Configs[name], join("configs", name)
		key := c.assetKeys[name]
		c.report.carry(at, at+".name", at+".file", at+".content", at+".environment")
		if key != assetKey(name) {
			c.report.note(at, "is the key %s of the asset: %s is another config", key, assetKey(name))
		}
		switch {
		case bool(config.External):
			c.report.lost(at, Breaks,
				"the content of an external config is not in the file; write an asset, and mount it in its place")
		case config.File != "":
			files[key] = api.AssetFile{Source: api.AssetLocal, Filename: c.relative(config.File), Content: []byte{}}
			c.report.note(at, "is read from %s at each apply", c.relative(config.File))
		case config.Environment != "":
			files[key] = api.AssetFile{Text: c.project.Environment[config.Environment]}
			c.report.differs(at, "holds the value that %s has today", config.Environment)
		default:
			files[key] = api.AssetFile{Text: config.Content}
		}
	}
	if len(files) > 0 {
		raw, _ := json.Marshal(api.AssetSpec{Files: files}) // texts and names: always JSON
		c.sections = append(c.sections,
			manifest.Section{Object: api.Object{Kind: api.KindAsset, Scope: c.scope, Name: configAsset, Spec: raw}})
	}
	for _, name := range slices.Sorted(maps.Keys(c.project.Secrets)) {
		secret, at := c.project.Secrets[name], join("secrets", name)
		c.report.carry(at, at+".name", at+".file", at+".environment", at+".external")
		value := "-"
		switch {
		case secret.File != "":
			value = "@" + relativeTo(c.from, secret.File)
		case secret.Environment != "":
			value = fmt.Sprintf("\"$%s\"", secret.Environment)
		}
		users := c.usersOf(name)
		if len(users) == 0 {
			c.report.note(at, "no service uses it")
		}
		key := c.secretKeys[name]
		if key != configKey(name) {
			c.report.note(at, "is the config key %s: %s is another secret", key, configKey(name))
		}
		for _, user := range users {
			command := fmt.Sprintf("tend config set %s/%s %s=%s", c.scope, user, key, value)
			c.report.note(at, "its value isn't read; store it: %s", command)
			c.steps.secrets = append(c.steps.secrets, command)
		}
	}
}

// usersOf returns the objects that mount a secret. Its value is set for each of them: in the bucket of the scope every
// app would have it.
func (c *converter) usersOf(secret string) (users []string) {
	uses := func(mounted []types.ServiceSecretConfig) bool {
		return slices.ContainsFunc(mounted, func(s types.ServiceSecretConfig) bool { return s.Source == secret })
	}
	for _, name := range slices.Sorted(maps.Keys(c.project.Services)) {
		if uses(c.project.Services[name].Secrets) {
			users = append(users, c.names[join("services", name)])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.project.Jobs)) {
		if uses(c.project.Jobs[name].Secrets) {
			users = append(users, c.names[join("jobs", name)])
		}
	}
	return users
}

// files mounts configs and secrets at the paths that Compose uses.
func (c *converter) files(u *unit, out *api.Container) {
	r := c.report
	for _, key := range []string{"configs", "secrets"} {
		at := u.at + "." + key
		r.carry(at, at+"[*]", at+"[*].source", at+"[*].target")
	}
	for i, mounted := range u.Configs {
		config, known := c.project.Configs[mounted.Source]
		if !known || bool(config.External) {
			r.lost(fmt.Sprintf("%s.configs[%d]", u.at, i), Breaks,
				"the content of an external config is not in the file; write an asset")
			continue
		}
		target := mounted.Target
		if !path.IsAbs(target) {
			target = "/" + strings.TrimPrefix(orText(target, mounted.Source), "/")
		}
		if mode := mounted.Mode; mode != nil && *mode&0o111 != 0 {
			r.lost(fmt.Sprintf("%s.configs[%d].mode", u.at, i), Breaks,
				"the file can't be executed: name the program that reads it in the command, such as sh %s", target)
		}
		u.from("volumes", fmt.Sprintf("%s.configs[%d]", u.at, i))
		out.Volumes = append(out.Volumes, "${asset."+configAsset+"."+c.assetKeys[mounted.Source]+"}:"+target+":ro")
	}
	for i, mounted := range u.Secrets {
		target := mounted.Target
		if !path.IsAbs(target) {
			target = "/run/secrets/" + orText(target, mounted.Source)
		}
		if out.SecretFiles == nil {
			out.SecretFiles = map[string]string{}
		}
		u.place("secret_files."+target, fmt.Sprintf("%s.secrets[%d]", u.at, i))
		out.SecretFiles[target] = c.secretKeys[mounted.Source]
	}
}

func orText(text, fallback string) string {
	return cmp.Or(text, fallback)
}
