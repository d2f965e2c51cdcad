package api

import (
	"net/url"
	"strings"
	"time"
)

// SyncSpec declares a source of manifests that is kept applied. It has one of Git, HTTP and Dir.
type SyncSpec struct {
	// Git is a repository: a URL (https, ssh, http, git or file), user@host:path, or an absolute path of the server.
	Git string `json:"git,omitempty" hcl:"git,optional"`
	// HTTP is the URL of a manifest or of an archive (.tar.gz) of manifests.
	HTTP string `json:"http,omitempty" hcl:"http,optional"`
	// Dir is a folder of the server that has the controllers, an absolute path.
	Dir string `json:"dir,omitempty" hcl:"dir,optional"`
	// Ref is a branch, a tag or a whole commit id of a repository. Default: its default branch.
	Ref string `json:"ref,omitempty" hcl:"ref,optional"`
	// Path is the folder of the source that holds the manifests. Default: all of it.
	Path string `json:"path,omitempty" hcl:"path,optional"`
	// Interval is the time between two polls of the source, 5s to 24h. Default 1m.
	Interval Duration `json:"interval,omitempty" hcl:"interval,optional"`
	// Prune deletes what the sync created and the source has no more.
	Prune bool `json:"prune,omitempty" hcl:"prune,optional"`
	// Scopes lists the scopes whose objects the source may declare and refer to. Required unless the source is
	// trusted. A trusted source without scopes may declare objects of every scope.
	Scopes []string `json:"scopes,omitempty" hcl:"scopes,optional"`
	// Trusted allows what internal/core/source calls privileges: host folders, devices, docker_options, ports for other
	// machines, objects that the sync did not create, other syncs.
	Trusted bool `json:"trusted,omitempty" hcl:"trusted,optional"`
	// Checksum is the digest of the only allowed content of an HTTP source: sha256:<hex>.
	Checksum string `json:"checksum,omitempty" hcl:"checksum,optional"`
	// AllowedSigners lists the keys that may sign commits or tags of a repository, in the format of ssh's ALLOWED
	// SIGNERS file.
	AllowedSigners string `json:"allowed_signers,omitempty" hcl:"allowed_signers,optional"`
	// Username and Password are those of an https or http source; Password alone is sent as a bearer token to HTTP.
	// Password is encrypted before it is stored. Credentials in the URL are moved here.
	Username string `json:"username,omitempty" hcl:"username,optional"`
	Password string `json:"password,omitempty" hcl:"password,optional"`
	// SSHKey is the private key for a repository over ssh. It is encrypted before it is stored.
	SSHKey string `json:"ssh_key,omitempty" hcl:"ssh_key,optional"`
	// KnownHosts are the lines of ssh's known_hosts for its host. Default: those of the server's user.
	KnownHosts string `json:"known_hosts,omitempty" hcl:"known_hosts,optional"`
}

// The bounds of a sync's interval, and its default.
const (
	DefaultSyncInterval = time.Minute
	MinSyncInterval     = 5 * time.Second
	MaxSyncInterval     = 24 * time.Hour
)

// Poll returns the time between two polls.
func (s SyncSpec) Poll() time.Duration { return s.Interval.Or(DefaultSyncInterval) }

// Location returns the URL or the path of the source.
func (s SyncSpec) Location() string {
	for _, location := range []string{s.Git, s.HTTP} {
		if location != "" {
			return location
		}
	}
	return s.Dir
}

// Source returns the source in a form for output: without credentials.
func (s SyncSpec) Source() string {
	switch {
	case s.Git != "":
		return "git " + withoutSecrets(s.Git)
	case s.HTTP != "":
		return "http " + withoutSecrets(s.HTTP)
	}
	return "dir " + s.Dir
}

// withoutSecrets returns a URL without its password, without the user of a web address, which may be a token, and
// without the values of its query.
func withoutSecrets(address string) string {
	scheme, rest, isURL := strings.Cut(address, "://")
	if !isURL {
		return address // a path, or user@host:path, which takes no password
	}
	parsed, err := url.Parse(address)
	if err != nil {
		rest, _, _ = strings.Cut(rest, "?")
		return scheme + "://xxxxx@" + rest[strings.LastIndex(rest, "@")+1:]
	}
	web := parsed.Scheme == "https" || parsed.Scheme == "http"
	if _, password := parsed.User.Password(); parsed.User != nil && (web || password) {
		parsed.User = url.User("xxxxx")
	}
	if parsed.RawQuery != "" {
		parsed.RawQuery = "…"
	}
	parsed.Fragment, parsed.RawFragment = "", ""
	return parsed.String()
}

// SplitCredentials returns the spec with the credentials of an https or http URL moved to Username and Password.
func (s SyncSpec) SplitCredentials() SyncSpec {
	for _, address := range []*string{&s.Git, &s.HTTP} {
		parsed, err := url.Parse(*address)
		if err != nil || parsed.User == nil || parsed.Scheme != "https" && parsed.Scheme != "http" {
			continue
		}
		s.Username = parsed.User.Username()
		s.Password, _ = parsed.User.Password()
		if s.Password == "" {
			s.Username, s.Password = "", parsed.User.Username() // a token, as https://TOKEN@host
			if s.Git != "" {
				s.Username = "token" // git sends none without a user
			}
		}
		parsed.User = nil
		*address = parsed.String()
	}
	return s
}

// SyncStatus describes the progress of a sync.
type SyncStatus struct {
	// ObservedRevision is the revision of the object since which the source was polled, as `tend sync now` asks for.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	ObservedRevision   int64 `json:"observedRevision,omitempty"`
	// Source is the source without credentials.
	Source string `json:"source,omitempty"`
	// Revision is the applied revision: the id of a commit, or the digest of the files. AppliedAt is the time of its
	// apply.
	Revision  string    `json:"revision,omitempty"`
	AppliedAt time.Time `json:"appliedAt,omitzero"`
	// Fetched is the revision that the source has now, if it could not be applied.
	Fetched string `json:"fetched,omitempty"`
	// Objects is the number of objects in the revision. Changes are those that the last apply that changed something
	// wrote or pruned, at most MaxSyncChanges of them; More counts the others.
	Objects int          `json:"objects,omitempty"`
	Changes []SyncChange `json:"changes,omitempty"`
	More    int          `json:"more,omitempty"`
	// ChangedRevision is the store's revision of that apply.
	ChangedRevision int64       `json:"changedRevision,omitempty"`
	Conditions      []Condition `json:"conditions,omitempty"`
}

// Synced lists what an apply of a sync changed, in the commit of that apply. Key /synced/<name>; the API writes it.
type Synced struct {
	// UID is that of the sync; Revision is the revision of the source, applied at At.
	UID      string    `json:"uid"`
	Revision string    `json:"revision"`
	At       time.Time `json:"at"`
	// Changes are at most MaxSyncChanges of them; More counts the others.
	Changes []SyncChange `json:"changes"`
	More    int          `json:"more,omitempty"`
}

// SyncChange is an object that a sync changed.
type SyncChange struct {
	Object Ref `json:"object"`
	// Action is created, configured, pruned or withdrawn.
	Action string `json:"action"`
}

// MaxSyncChanges bounds the changes that a sync's status lists.
const MaxSyncChanges = 50

// ActionPruned is the action of a SyncChange that deleted an object.
const ActionPruned = "pruned"

// SyncManager returns the field manager of a sync.
func SyncManager(name string) string { return "sync:" + name }

// SyncSet returns the apply set of a sync: what it created carries it. There is one folder of the server, so what that
// created stays its own, also where the server was without the folder for a while.
func SyncSet(object Object) string {
	if object.Name == ServerSync {
		return SyncManager(object.Name)
	}
	return SyncManager(object.Name) + "/" + object.Metadata.UID
}

// InApplySet reports whether the object was created, or applied last, as part of a set. Earlier versions of Tend gave
// the server's sync one set for each time that it was declared.
func InApplySet(object Object, set string) bool {
	of := object.Metadata.Stamps[StampApplySet]
	return of == set || set == SyncManager(ServerSync) && strings.HasPrefix(of, set+"/")
}

// Creator returns the field manager that created the object. Of an object that an earlier version of Tend stored, only
// a sync is known, until a user applies the object.
func (o Object) Creator() string {
	if by := o.Metadata.Stamps[StampCreator]; by != "" {
		return by
	}
	if by, _, _ := strings.Cut(o.Metadata.Stamps[StampApplySet], "/"); strings.HasPrefix(by, SyncManager("")) {
		return by
	}
	return ManagerApply
}

// ActionWithdrawn is the action of a SyncChange that took back the fields that the sync had set on an object of others.
const ActionWithdrawn = "withdrawn"

// ServerSync is the sync of the folder that `tend server --manifests` names, and ManagerServer the field manager that
// declares it.
const (
	ServerSync    = "server-manifests"
	ManagerServer = "server"
)
