// Package rootfs turns an image of the process runtime into a folder that never changes: it copies a folder of
// programs, or unpacks an OCI image layout, into <store>/<digest>, and containers run from there. So a release keeps
// running what it was made from, whatever happens to the original folder, and a rollback finds it.
//
// A folder's id is a SHA-256 over the names, modes, sizes and contents of everything in it; an OCI image's is the
// digest of its configuration, as with docker. Unpacked entries can't leave their folder. The package never runs
// anything, and never fetches anything over a network.
package rootfs
