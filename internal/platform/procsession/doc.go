// Package procsession signals the processes of a session: what a command started and did not detach from itself with
// setsid. It knows them by /proc, and so finds none where there is no such folder.
//
//	session, ok := procsession.Of(pid)
//	if ok && session.Signal(unix.SIGHUP, mine) == 0 {
//		return // all have ended
//	}
package procsession
