package gitcmd

import (
	"net/url"
	"strings"
)

// hidden replaces a credential in output.
const hidden = "xxxxx"

// Shown returns a source for output and logs: without the credentials of its URL. Those are the user, unless it is only
// the login of a transport such as ssh, and all values of the query.
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
	userVariable     = "TEND_GIT_USER"
	passwordVariable = "TEND_GIT_PASSWORD"
)

// helper configures a credential helper that answers from the environment. The empty first one removes the helpers
// of the user's configuration, which would store the credentials.
var helper = []string{"-c", "credential.helper=", "-c",
	`credential.helper=!f() { test "$1" = get && printf 'username=%s\npassword=%s\n' "$` + userVariable + `" "$` +
		passwordVariable + `"; }; f`}

// split separates an access's credentials from its URL. It returns the URL for git's arguments, and the options and
// variables that pass the credentials.
func (a Access) split() (argument string, options []string, env map[string]string) {
	parsed, err := url.Parse(a.URL)
	if err != nil || !strings.Contains(a.URL, "://") {
		return a.URL, nil, nil
	}
	web := parsed.Scheme == "https" || parsed.Scheme == "http"
	user, password := a.Username, a.Password
	if parsed.User != nil {
		user = parsed.User.Username()
		password, _ = parsed.User.Password()
	}
	switch {
	case !web && parsed.User != nil:
		parsed.User = url.User(user) // ssh gets a login, and ignores a password in a URL
		return parsed.String(), nil, nil
	case !web || user == "" && password == "":
		return a.URL, nil, nil
	}
	parsed.User = nil
	return parsed.String(), helper, map[string]string{userVariable: user, passwordVariable: password}
}
