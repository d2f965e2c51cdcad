//go:build linux

package process

import (
	"fmt"
	"os"
	"os/user"
	"strconv"
	"strings"

	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/node/runtime/process/shim"
)

// unprivileged is the default user of programs when Tend is root.
const unprivileged = "nobody"

// account is the user a program runs as.
type account struct {
	user *shim.User // nil means the user that Tend runs as
	home string
}

// account returns the user that the manifest names, else the image's, else the one of the runtime's options. Without
// root, a program can only run as Tend's own user.
func (r *Runtime) account(declared, image string) (account, error) {
	root := os.Geteuid() == 0
	if !root && declared == "" {
		return own(), nil
	}
	text := first(declared, image, r.opts.User)
	if text == "" {
		if text = unprivileged; !exists(text) {
			return own(), nil
		}
	}
	found, err := r.resolveUser(text)
	if err != nil {
		return account{}, err
	}
	if !root && int(found.user.UID) != os.Geteuid() {
		return account{}, &runtime.RejectedError{
			Reason: "UserNotAllowed", Detail: fmt.Sprintf("Tend is not root on %s and can't run a program as %s", r.place(), text),
			Next: "leave out `user`, or run Tend there as root",
		}
	}
	if !root || found.user.UID == 0 {
		found.user = nil
	}
	return found, nil
}

func own() account {
	home, err := os.UserHomeDir()
	if err != nil {
		home = "/"
	}
	return account{home: home}
}

func exists(name string) bool {
	_, err := user.Lookup(name)
	return err == nil
}

// resolveUser looks up name, uid, name:group or uid:gid in the host's accounts.
func (r *Runtime) resolveUser(text string) (account, error) {
	name, group, hasGroup := strings.Cut(text, ":")
	found, err := r.lookUpUser(name)
	if err != nil {
		return account{}, err
	}
	if hasGroup {
		gid, err := r.lookUpGroup(group)
		if err != nil {
			return account{}, err
		}
		found.user.GID, found.user.Groups = gid, nil
	}
	return found, nil
}

func (r *Runtime) lookUpUser(name string) (account, error) {
	entry, err := user.Lookup(name)
	if err != nil {
		entry, err = user.LookupId(name)
	}
	if err != nil {
		uid, numeric := strconv.ParseUint(name, 10, 32)
		if numeric != nil {
			return account{}, &runtime.RejectedError{
				Reason: "UserNotFound", Detail: fmt.Sprintf("%s has no user %s", r.place(), name),
				Next: runtime.CorrectUser,
			}
		}
		return account{user: &shim.User{UID: uint32(uid), GID: uint32(uid)}, home: "/"}, nil
	}
	uid, _ := strconv.ParseUint(entry.Uid, 10, 32)
	gid, _ := strconv.ParseUint(entry.Gid, 10, 32)
	out := account{user: &shim.User{UID: uint32(uid), GID: uint32(gid)}, home: entry.HomeDir}
	groups, _ := entry.GroupIds()
	for _, text := range groups {
		if id, err := strconv.ParseUint(text, 10, 32); err == nil {
			out.user.Groups = append(out.user.Groups, uint32(id))
		}
	}
	return out, nil
}

func (r *Runtime) lookUpGroup(name string) (uint32, error) {
	text := name
	if entry, err := user.LookupGroup(name); err == nil {
		text = entry.Gid
	}
	gid, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return 0, &runtime.RejectedError{
			Reason: "GroupNotFound", Detail: fmt.Sprintf("%s has no group %s", r.place(), name),
			Next: runtime.CorrectUser,
		}
	}
	return uint32(gid), nil
}
