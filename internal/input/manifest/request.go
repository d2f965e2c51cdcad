package manifest

import (
	"fmt"
	"mime"

	"tend.dev/tend/api"
)

// Decode decodes the body of a request: JSON or YAML, one object or several. It replaces no variables and reads no
// files. It checks shapes; Validate checks values.
func Decode(data []byte, contentType string) ([]api.Object, error) {
	format, err := formatOfType(contentType)
	if err != nil {
		return nil, err
	}
	if len(data) > api.MaxApplyBytes {
		return nil, fmt.Errorf("body %w: more than %d bytes", ErrTooLarge, api.MaxApplyBytes)
	}
	var f faults
	drafts := parse(newSource("body", "", data), format, nil, &f)
	if len(drafts) > api.MaxApplyObjects {
		return nil, fmt.Errorf("body %w: %d objects, more than %d", ErrTooLarge, len(drafts), api.MaxApplyObjects)
	}
	seen := map[api.Ref]Position{}
	objects := make([]api.Object, 0, len(drafts))
	for _, d := range drafts {
		ref := d.object.Ref()
		if first, twice := seen[ref]; twice {
			f.at(d.src, d.at, "keep one of them", "%s is declared twice, first at %s", ref, first)
		}
		seen[ref] = d.src.position(d.at.start)
		if d.broken {
			continue
		}
		if err := d.finish(); err != nil {
			return nil, err
		}
		objects = append(objects, d.object)
	}
	if err := f.err(); err != nil {
		return nil, err
	}
	if len(objects) == 0 {
		return nil, fmt.Errorf("%w in the body", ErrNoManifest)
	}
	return objects, nil
}

func formatOfType(contentType string) (string, error) {
	if contentType == "" {
		return formatJSON, nil
	}
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return "", fmt.Errorf("%q: %w", contentType, ErrContentType)
	}
	switch media {
	case "application/json":
		return formatJSON, nil
	case "application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml":
		return formatYAML, nil
	}
	return "", fmt.Errorf("%q: %w", contentType, ErrContentType)
}
