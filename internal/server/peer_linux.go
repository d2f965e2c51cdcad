package server

import (
	"net"
	"os/user"
	"strconv"
	"syscall"
)

// peerOf describes the client of a connection: the user and the process at a unix socket, else the address.
func peerOf(conn net.Conn) string {
	unix, ok := conn.(*net.UnixConn)
	if !ok {
		return "token from " + conn.RemoteAddr().String()
	}
	raw, err := unix.SyscallConn()
	if err != nil {
		return "unix socket"
	}
	peer := "unix socket"
	_ = raw.Control(func(fd uintptr) {
		if cred, err := syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED); err == nil {
			peer = userName(strconv.FormatUint(uint64(cred.Uid), 10)) + " (pid " + strconv.Itoa(int(cred.Pid)) + ")"
		}
	})
	return peer
}

func userName(uid string) string {
	if known, err := user.LookupId(uid); err == nil {
		return known.Username
	}
	return "uid " + uid
}
