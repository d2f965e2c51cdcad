// Package platform holds tools that any room uses: panics recovered, programs and git called within bounds, connections
// and calls counted or confined, certificates signed.
//
// A tool knows no kind, no store and no server; what it is used for, its users decide.
package platform
