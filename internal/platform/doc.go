// Package platform holds tools that any room uses: panics recovered, programs and git called within bounds, connections
// and calls counted or confined, certificates signed.
//
// A tool decides nothing about what it is used for, and knows no kind, no store and no server.
package platform
