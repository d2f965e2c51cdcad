package wire

import (
	"fmt"
	"net/url"
	"strconv"

	"tend.dev/tend/api/node"
)

// QueryOf returns the query of a request for an image that a part has come of already.
func QueryOf(has node.Part) string {
	if has.Size == 0 {
		return ""
	}
	return "?" + url.Values{"size": {strconv.FormatInt(has.Size, 10)}, "sum": {has.Sum}}.Encode()
}

// PartOf reads the query that QueryOf wrote.
func PartOf(query url.Values) (has node.Part, err error) {
	if query.Get("size") == "" {
		return has, nil
	}
	has.Sum = query.Get("sum")
	if has.Size, err = strconv.ParseInt(query.Get("size"), 10, 64); err != nil || has.Size < 0 {
		return node.Part{}, fmt.Errorf("the size %q of a part: %w", query.Get("size"), ErrBadRequest)
	}
	return has, nil
}
