// Package rootfs turns an image of the process runtime into a folder that never changes. It copies a folder of
// programs, or unpacks an OCI image layout, into <store>/<digest>, and containers run from there. So a release keeps
// running what it was made from, whatever happens to the original folder, and a rollback finds it.
//
// The id of a folder is a SHA-256 over the names, modes, sizes and contents of its entries; the id of an OCI image is
// the digest of its configuration, as with docker. Unpacked entries can't leave their folder. The package never runs
// anything and never uses a network.
package rootfs
