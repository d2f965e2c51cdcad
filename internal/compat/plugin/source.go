package plugin

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"tend.dev/tend/api/pattern"
)

// sourceKind is the way in which a plugin is fetched.
type sourceKind int

const (
	fromFolder sourceKind = iota
	fromFile              // an archive on this machine
	fromWeb               // an archive to download
	fromGit
)

// source is the source that a plugin is fetched from.
type source struct {
	kind sourceKind
	// text is the requested source in the form that is stored; where is the argument for the fetcher.
	text, where string
}

// repository matches the short form of a repository on GitHub.
var repository = pattern.Lazy(`^[A-Za-z0-9][A-Za-z0-9_.-]*/[A-Za-z0-9_.-]+$`)

// parseSource parses a source: a folder or an archive (beginning with /, ./ or ../, or existing), an archive's URL,
// owner/repo on GitHub, or any URL that git clones.
func parseSource(text string) (source, error) {
	if text == "" || strings.HasPrefix(text, "-") || strings.ContainsAny(text, "\x00\n") {
		return source{}, badSource(text, "name a folder, an archive (.tar.gz), owner/repo or the URL of a git repository",
			"it is not a source")
	}
	if _, err := url.Parse(text); err != nil && strings.Contains(text, "://") {
		return source{}, badSource(text,
			"percent-encode special characters in its user and password, such as %40 for @", "it is not a URL")
	}
	info, err := os.Stat(text)
	here := err == nil
	for _, prefix := range []string{"/", "./", "../"} {
		here = here || strings.HasPrefix(text, prefix)
	}
	web := strings.HasPrefix(text, "https://") || strings.HasPrefix(text, "http://")
	switch {
	case here && err != nil:
		return source{}, badSource(text, "the path is one on the server's machine", "%s", err)
	case here:
		path, err := filepath.Abs(text)
		if err != nil {
			return source{}, badSource(text, "give the whole path", "%s", err)
		}
		if info.IsDir() {
			return source{fromFolder, path, path}, nil
		}
		return source{fromFile, path, path}, nil
	case web && isArchive(strings.SplitN(text, "?", 2)[0]):
		return source{fromWeb, text, text}, nil
	case strings.HasPrefix(text, "github.com/"):
		return source{fromGit, text, "https://" + text}, nil
	case repository().MatchString(text):
		return source{fromGit, text, "https://github.com/" + text}, nil
	}
	return source{fromGit, text, text}, nil
}

func isArchive(name string) bool {
	return strings.HasSuffix(name, ".tar.gz") || strings.HasSuffix(name, ".tgz")
}
