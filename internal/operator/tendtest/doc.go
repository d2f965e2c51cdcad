// Package tendtest is a control plane for tests of the operator: the endpoints and controllers of Tend's own server,
// over a store in memory. It listens nowhere: a test calls its Handler.
//
// Example:
//
//	server := tendtest.Start(ctx, t, &parts, nil)
//	token, _, err := server.Handler.Invite(ctx, "east", time.Hour)
package tendtest
