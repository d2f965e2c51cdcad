// Package rootfs turns what the process runtime calls an image into a folder that never changes: a folder of programs, or
// an OCI image layout, is copied or unpacked into <store>/<digest>, and containers run from there. So a release runs what
// it was made from, whatever happens to the folder it came from, and a rollback finds it.
//
// A folder's id is a SHA-256 over the names, modes, sizes and contents of everything in it; an OCI image's is the digest
// of its configuration, as docker's is. What is unpacked can't leave its folder. It never runs anything, and never
// fetches anything over a network.
package rootfs
