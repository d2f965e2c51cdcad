package manifest

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"

	"tend.dev/tend/api"
)

// Upload is a file that an asset names by its digest, because it is too large for the manifest. Its bytes are sent to
// the server before the objects.
type Upload struct {
	Digest string
	Path   string
	Size   int64
}

// readAssetFiles reads the local files of an asset: small ones into the spec, larger ones for upload. The server never
// sees a path.
func (l *loader) readAssetFiles(d *draft) bool {
	files, _ := d.spec["files"].(map[string]any)
	if d.object.Kind != api.KindAsset || len(files) == 0 {
		return true
	}
	before := l.faults.count()
	room := api.MaxInlineAsset
	for _, key := range slices.Sorted(maps.Keys(files)) {
		file, _ := files[key].(map[string]any)
		name, local := file["path"].(string)
		if !local {
			continue
		}
		read, err := l.readAssetFile(d, name, &room)
		if err == nil && (file["content"] != nil || file["digest"] != nil) {
			err = errors.New("is given beside content or digest; keep one of them")
		}
		if err != nil {
			l.faults.add(d.diagnose(api.FieldError{Object: d.object.Ref().String(), Field: keyOfFile(key, "path"),
				Detail: err.Error()}))
			continue
		}
		files[key] = read
	}
	return l.faults.count() == before
}

// readAssetFile returns the form on the wire of a local file. room is the number of bytes that still fit into the
// object.
func (l *loader) readAssetFile(d *draft, name string, room *int) (map[string]any, error) {
	path, err := l.path(d.src, name)
	if err != nil {
		return nil, err
	}
	out := map[string]any{"_source": api.AssetLocal, "filename": filepath.Base(name)}
	file, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	head, err := io.ReadAll(io.LimitReader(file, int64(*room)+1))
	if err != nil {
		return nil, err
	}
	if len(head) > 0 && len(head) <= *room {
		*room -= len(head)
		out["content"] = base64.StdEncoding.EncodeToString(head)
		return out, nil
	}
	hash := sha256.New()
	size, err := io.Copy(hash, io.LimitReader(io.MultiReader(bytes.NewReader(head), file), api.MaxAssetBytes+1))
	if err != nil {
		return nil, err
	}
	if size > api.MaxAssetBytes {
		return nil, fmt.Errorf("%s is larger than %d bytes", path, api.MaxAssetBytes)
	}
	upload := Upload{Digest: "sha256:" + hex.EncodeToString(hash.Sum(nil)), Path: path, Size: size}
	out["digest"] = upload.Digest
	if !slices.ContainsFunc(l.result.Uploads, func(u Upload) bool { return u.Digest == upload.Digest }) {
		l.result.Uploads = append(l.result.Uploads, upload)
	}
	return out, nil
}
