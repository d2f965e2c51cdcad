package redact

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
)

// Hidden stands where a secret was.
const Hidden = "xxxxx"

// Secrets returns a text with each secret hidden: as it is, as it is in URLs and in JSON, and in base64, also where it
// is part of what was encoded. Empty secrets hide nothing.
func Secrets(text string, secrets ...string) string {
	var forms []string
	for _, secret := range secrets {
		if secret != "" {
			forms = append(forms, formsOf(secret)...)
		}
	}
	if len(forms) == 0 {
		return text
	}
	// the longest one at a place counts
	slices.SortFunc(forms, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	pairs := make([]string, 0, 2*len(forms))
	for _, form := range forms {
		pairs = append(pairs, form, Hidden)
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

func formsOf(secret string) []string {
	quoted, _ := json.Marshal(secret) // a string can always be encoded
	out := []string{
		secret, url.QueryEscape(secret), url.PathEscape(secret),
		strings.TrimPrefix(url.UserPassword("", secret).String(), ":"),
		strings.Trim(string(quoted), `"`),
	}
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		out = append(out, encoding.EncodeToString([]byte(secret)))
		for offset := range 3 {
			out = append(out, within(encoding, secret, offset))
		}
	}
	return slices.DeleteFunc(out, func(form string) bool { return form == "" })
}

// fewest is the number of characters from which a part of a base64 text is taken for a secret's.
const fewest = 4

// within returns the characters that the base64 of any text has which holds the secret, where it begins offset bytes
// after a multiple of three; empty if they are too few.
func within(encoding *base64.Encoding, secret string, offset int) string {
	text := encoding.EncodeToString(append(make([]byte, offset), secret...))
	text = text[[]int{0, 2, 3}[offset]:] // these depend on what is before it
	if (offset+len(secret))%3 != 0 {
		text = text[:len(text)-1] // and this on what is behind it
	}
	if len(text) < fewest {
		return ""
	}
	return text
}
