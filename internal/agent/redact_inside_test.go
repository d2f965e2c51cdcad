package agent

import (
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
)

// TestHider: a value is hidden in the forms it is printed in, even if a text holds only part of it.
func TestHider(t *testing.T) {
	key := "-----BEGIN KEY-----\nMIIEow\n  IBAAKC\nab\n-----END KEY-----\n"
	hide := hider(node.Release{
		Env: map[string]string{"URL": "postgres://web:of-the-database@db/", "SHORT": "abc", "PASSWORD": "hunter2", "LONGER": "hunter2-of-prod"}, SecretFiles: map[string]string{"/key": key},
		Spec: api.DeploymentSpec{Container: api.Container{Env: map[string]string{"URL": "postgres://web:${config.db.PASSWORD}@db/"}, DockerOptions: []string{"-e", "EXTRA=s3cret"}}},
	})
	for name, tc := range map[string]struct{ reason, text, want string }{
		"plain":        {"as it is", "login hunter2 failed", "login [redacted] failed"},
		"longest":      {"one may hold another", "hunter2-of-prod", "[redacted]"},
		"too short":    {"no message would be left readable", "abc", "abc"},
		"option":       {"docker_options set variables too", "s3cret", "[redacted]"},
		"whole":        {"all lines at once", "key: " + key, "key: [redacted]"},
		"within":       {"a config value that is part of a variable", "password of-the-database refused", "password [redacted] refused"},
		"without end":  {"a log has no final line end", strings.TrimSuffix(key, "\n"), "[redacted]\n[redacted]\n  [redacted]\nab\n[redacted]"},
		"last lines":   {"a log's end may begin within it", "IBAAKC\nab\n-----END KEY-----\ndone", "[redacted]\nab\n[redacted]\ndone"},
		"quoted":       {"as JSON", `{"key":"-----BEGIN KEY-----\nMIIEow\n  IBAAKC\nab\n-----END KEY-----\n"}`, `{"key":"[redacted]"}`},
		"nothing else": {"what is no secret stays", "listening on :8080", "listening on :8080"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := hide(tc.text); got != tc.want {
				t.Errorf("%s: %q became %q, want %q", tc.reason, tc.text, got, tc.want)
			}
		})
	}
}
