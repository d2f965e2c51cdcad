// Package disktest makes disks that tests stall and fill: file systems of their own, on a loop device.
//
// It serves tests alone. Its disks need root and Linux.
package disktest
