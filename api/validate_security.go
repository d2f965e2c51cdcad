package api

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

var securityOpts = []string{"apparmor", "label", "no-new-privileges", "seccomp"}

// CheckSecurityOpt checks one entry of security_opt. A seccomp profile is given as its JSON: a path would be read on
// the machine that runs the command by docker's client, and Tend has no such client.
func CheckSecurityOpt(entry string) error {
	key, value, found := strings.Cut(entry, "=")
	switch {
	case entry == "no-new-privileges":
		return nil
	case key == "systempaths":
		return fmt.Errorf("systempaths is a word of docker's client; write it in docker_options, as --security-opt=%s", entry)
	case !slices.Contains(securityOpts, key):
		return fmt.Errorf("%q is not an option; there are %s", key, strings.Join(securityOpts, ", "))
	case !found || value == "":
		return fmt.Errorf("%s takes %s=value", key, key)
	case key == "no-new-privileges" && value != "true" && value != "false":
		return fmt.Errorf("no-new-privileges is true or false, not %q", value)
	case key == "seccomp" && value != "unconfined" && !json.Valid([]byte(value)):
		return fmt.Errorf("seccomp is unconfined or the profile itself as JSON; %q would be a file, which nothing reads",
			value)
	}
	return nil
}
