package manifest

import (
	"errors"
	"fmt"
	"strings"

	"tend.dev/tend/api"
)

// ParseDotenv parses a .env file: the lines of an env_file, and also values between quotes that span several lines. It
// replaces and escapes nothing, so a certificate between quotes stays unchanged. Its errors name lines, but never their
// content, which may be a secret.
func ParseDotenv(text string) (map[string]string, error) {
	env := map[string]string{}
	lines := strings.Split(strings.ReplaceAll(strings.TrimPrefix(text, "\uFEFF"), "\r\n", "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		line, number := strings.TrimSpace(lines[i]), i+1
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		quote := openQuote(line)
		if quote != 0 {
			line = lines[i] // spaces at its end are the value's
		}
		for quote != 0 && i+1 < len(lines) {
			i++
			line += "\n" + lines[i]
			if strings.HasSuffix(strings.TrimRight(lines[i], " \t"), string(quote)) {
				quote = 0
			}
		}
		if quote != 0 {
			return nil, fmt.Errorf("%d: the value's quote is not closed", number)
		}
		name, value, err := parseEnvLine(line)
		if errors.Is(err, errNoPair) {
			return nil, fmt.Errorf("%d: want KEY=VALUE", number)
		}
		if err == nil {
			err = api.CheckConfigKey(name)
		}
		if err != nil {
			return nil, fmt.Errorf("%d: %w", number, err)
		}
		env[name] = value
	}
	return env, nil
}

// openQuote returns the quote that a line's value begins with and doesn't end with; 0 if there is none.
func openQuote(line string) byte {
	_, value, _ := strings.Cut(line, "=")
	value = strings.TrimSpace(value)
	if value == "" || value[0] != '"' && value[0] != '\'' || len(value) > 1 && value[len(value)-1] == value[0] {
		return 0
	}
	return value[0]
}
