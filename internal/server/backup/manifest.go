package backup

import (
	"strings"
	"time"

	"tend.dev/tend/api/pattern"
)

// Format is the number of the format that this package writes, and the highest one it reads.
const Format = 1

// The names of parts.
const (
	// Store is the name of the part with the snapshot of the store.
	Store = "state/snapshot.db"
	// RootFolder is the folder of the server's files, and BlobFolder that of blobs, named by the digits of their SHA-256.
	RootFolder = "root/"
	BlobFolder = "blobs/sha256/"

	headerName   = "tend-backup.json"
	manifestName = "manifest.json"
)

// RootFiles are the files of a root that a backup holds, if they exist: keys, the token, and the identity of the
// machine as a node, to which its containers are tied.
var RootFiles = []string{"secret.key", "token", "node", "server", "runtime", "network"}

// partName matches the valid names of parts. A part of another name is refused, so no name leads out of a folder.
var partName = pattern.Lazy(`^(state/snapshot\.db|root/[a-z]+(\.[a-z]+)?|blobs/sha256/[0-9a-f]{64})$`)

// Header describes a backup. It comes first.
type Header struct {
	// Format is the number of the format.
	Format int `json:"format"`
	// Tend is the version that wrote it.
	Tend string `json:"tend"`
	// Cluster is the uid of the cluster, Revision that of the store's snapshot, TakenAt its time.
	Cluster  string    `json:"cluster"`
	Revision int64     `json:"revision"`
	TakenAt  time.Time `json:"takenAt"`
	// Plugins lists the installed plugins. Their files are not in the backup: install them again.
	Plugins []Plugin `json:"plugins,omitempty"`
	// MissingBlobs lists digests that the store refers to, but whose bytes the server had already lost.
	MissingBlobs []string `json:"missingBlobs,omitempty"`
}

// Plugin is an installed plugin. Source has no credentials.
type Plugin struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	Source  string `json:"source,omitempty"`
}

// Part is one file of a backup.
type Part struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// Blob returns the digest that a part is the blob of; empty for another part.
func (p Part) Blob() string {
	if digits, ok := strings.CutPrefix(p.Name, BlobFolder); ok {
		return "sha256:" + digits
	}
	return ""
}

// Manifest holds everything of a backup except the bytes of its parts. It comes last.
type Manifest struct {
	Header
	Parts []Part `json:"parts"`
}

// Blobs returns the digests of the blobs inside.
func (m Manifest) Blobs() map[string]bool {
	out := map[string]bool{}
	for _, part := range m.Parts {
		if digest := part.Blob(); digest != "" {
			out[digest] = true
		}
	}
	return out
}

// Size returns the sum of the parts' bytes.
func (m Manifest) Size() (total int64) {
	for _, part := range m.Parts {
		total += part.Size
	}
	return total
}
