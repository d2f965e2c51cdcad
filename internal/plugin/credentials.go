package plugin

import (
	"net/url"
	"strings"
)

// hidden replaces a credential in output.
const hidden = "xxxxx"

// Shown returns a source in the form for output and logs: without the credentials of its URL. Those are its user,
// unless that is only the login of a transport such as ssh, and all values of its query.
func Shown(source string) string {
	parsed, err := url.Parse(source)
	if err != nil {
		return shownText(source)
	}
	web := parsed.Scheme == "https" || parsed.Scheme == "http"
	if parsed.User != nil {
		if _, password := parsed.User.Password(); password || web {
			parsed.User = url.User(hidden)
		}
	}
	if web && parsed.RawQuery != "" {
		query := parsed.Query()
		for name := range query {
			query[name] = []string{hidden}
		}
		parsed.RawQuery = query.Encode()
	}
	return parsed.String()
}

// shownText hides the user part of a source that resembles a URL but can't be parsed as one.
func shownText(source string) string {
	scheme, rest, ok := strings.Cut(source, "://")
	at := strings.LastIndex(rest, "@")
	if !ok || at < 0 {
		return source
	}
	return scheme + "://" + hidden + rest[at:]
}

// The variables that git's credential helper answers from. Only git and its children have them in their environment:
// other users can read a process's arguments, but not its environment.
const (
	gitUser     = "TEND_PLUGIN_GIT_USER"
	gitPassword = "TEND_PLUGIN_GIT_PASSWORD"
)

// gitHelper configures a credential helper that answers from the environment. The empty first one removes the helpers
// of the user's configuration, which would store the credentials.
var gitHelper = []string{"-c", "credential.helper=", "-c",
	`credential.helper=!f() { test "$1" = get && printf 'username=%s\npassword=%s\n' "$` + gitUser + `" "$` + gitPassword + `"; }; f`}

// withoutCredentials splits a repository's URL into the part that may be in git's arguments, and the options and
// variables that give git the credentials. It returns a URL without credentials unchanged.
func withoutCredentials(repository string) (argument string, options []string, env map[string]string) {
	parsed, err := url.Parse(repository)
	if err != nil || parsed.User == nil {
		return repository, nil, nil
	}
	user := parsed.User.Username()
	password, _ := parsed.User.Password()
	if parsed.Scheme != "https" && parsed.Scheme != "http" {
		parsed.User = url.User(user) // ssh is given a login, and takes no password from a URL
		return parsed.String(), nil, nil
	}
	parsed.User = nil
	return parsed.String(), gitHelper, map[string]string{gitUser: user, gitPassword: password}
}
