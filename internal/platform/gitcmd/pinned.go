package gitcmd

import (
	"cmp"
	"net"
	"net/url"
	"strings"
)

// Host returns the host and port of a repository whose server git identifies by name alone: of an http, https or git
// URL, else "". For ssh git checks the host's key instead.
func Host(repository string) (host, port string) {
	parsed, err := url.Parse(repository)
	if err != nil {
		return "", ""
	}
	standard := map[string]string{"http": "80", "https": "443", "git": "9418"}[parsed.Scheme]
	if standard == "" {
		return "", ""
	}
	return parsed.Hostname(), cmp.Or(parsed.Port(), standard)
}

// pinned returns the option that makes git connect to the addresses in At for its host, over http and https.
func (a Access) pinned() []string {
	host, port := Host(a.URL)
	if len(a.At) == 0 || !strings.HasPrefix(a.URL, "http") {
		return nil
	}
	texts := make([]string, len(a.At))
	for i, address := range a.At {
		texts[i] = address.String()
	}
	return []string{"-c", "http.curloptResolve=" + host + ":" + port + ":" + strings.Join(texts, ",")}
}

// at returns the URL of a repository with its address in place of the host. The protocol git has no option for that.
func (a Access) at(repository string) string {
	parsed, err := url.Parse(repository)
	if err != nil || len(a.At) == 0 || parsed.Scheme != "git" {
		return repository
	}
	_, port := Host(repository)
	parsed.Host = net.JoinHostPort(a.At[0].String(), port)
	return parsed.String()
}

// virtual returns the variable by which git still names the host to the server, which may have several, where at
// returns an address.
func (a Access) virtual(repository string) map[string]string {
	if a.at(repository) == repository {
		return nil
	}
	parsed, err := url.Parse(repository)
	if err != nil {
		return nil
	}
	return map[string]string{"GIT_OVERRIDE_VIRTUAL_HOST": parsed.Host}
}
