package manifest

import (
	"errors"
	"fmt"
	"strings"

	"tend.dev/tend/api"
)

// ParseDotenv parses a .env file: lines of NAME=value, blank lines and comments. Comments after a value and quoted
// values of several lines work as in Compose. Unlike Compose it expands no variables and no escapes, so a certificate
// in quotes stays unchanged. Its errors name lines, but never their content, which may be a secret.
func ParseDotenv(text string) (map[string]string, error) {
	return parsePairs(text, errors.New("want KEY=VALUE, or # before a comment"), func(name, value string) error {
		if err := api.CheckEnv(name, value); err != nil {
			return err
		}
		return api.CheckConfigKey(name)
	})
}

// parsePairs parses the lines of a .env file or an env_file. noPair is the error for a line that is not a pair.
func parsePairs(text string, noPair error, check func(name, value string) error) (map[string]string, error) {
	env := map[string]string{}
	lines := strings.Split(strings.ReplaceAll(strings.TrimPrefix(text, "\uFEFF"), "\r\n", "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		line, number := strings.TrimLeft(lines[i], " \t"), i+1
		if strings.TrimSpace(line) == "" || line[0] == '#' {
			continue
		}
		if rest, found := strings.CutPrefix(line, "export "); found {
			line = strings.TrimLeft(rest, " \t")
		}
		name, value, found := strings.Cut(line, "=")
		if !found {
			return nil, fmt.Errorf("%d: %w", number, noPair)
		}
		value = strings.TrimLeft(value, " \t")
		if value != "" && (value[0] == '"' || value[0] == '\'') {
			var err error
			if value, i, err = quotedValue(value, lines, i); err != nil {
				return nil, err
			}
		} else {
			value = bareValue(value)
		}
		name = strings.TrimSpace(name)
		if err := check(name, value); err != nil {
			return nil, fmt.Errorf("%d: %w", number, err)
		}
		env[name] = value
	}
	return env, nil
}

// bareValue removes the comment from a value without quotes: a comment is a # after a space.
func bareValue(value string) string {
	value, _, _ = strings.Cut(value, " #")
	return strings.TrimSpace(value)
}

// quotedValue returns the value between the quote that first begins with and the next one, which may be on a later
// line; last is the index of that line. Only spaces and a comment may follow the closing quote on its line: a value
// that ended at a later quote would swallow the variables between them.
func quotedValue(first string, lines []string, at int) (value string, last int, err error) {
	var out strings.Builder
	quote, rest := first[:1], first[1:]
	for last = at; ; rest = lines[last] {
		text, tail, closed := strings.Cut(rest, quote)
		out.WriteString(text)
		if closed && !endsLine(tail) {
			return "", last, fmt.Errorf("%d: text follows the closing %s: write a value that holds one between %s, and each variable on a line of its own",
				last+1, quote, otherQuote[quote])
		}
		if closed {
			return out.String(), last, nil
		}
		if last++; last >= len(lines) {
			return "", last, fmt.Errorf("%d: the value's quote is not closed", at+1)
		}
		out.WriteString("\n")
	}
}

var otherQuote = map[string]string{`"`: "'", "'": `"`}

// endsLine reports whether what follows a closing quote is nothing but spaces and a comment.
func endsLine(tail string) bool {
	rest := strings.TrimLeft(tail, " \t")
	return rest == "" || rest[0] == '#' && len(rest) < len(tail)
}
