package relay

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"

	"tend.dev/tend/internal/platform/recovery"
)

// Half is a connection whose directions end one by one.
type Half interface {
	net.Conn
	CloseWrite() error
}

// Join copies between two connections until both sides have sent everything, or one is gone, and returns how many bytes
// each has sent. The caller closes them.
func Join(a, b Half) (ofA, ofB int64) {
	var both recovery.Group
	both.Go(func() { ofA = pour(b, a) })
	both.Go(func() { ofB = pour(a, b) })
	both.Wait()
	return ofA, ofB
}

// pour copies until from has sent everything, and says so to the other side. If that isn't there any more, it cuts the
// connection.
func pour(to, from Half) int64 {
	n, err := io.Copy(to, from)
	if err != nil || to.CloseWrite() != nil {
		_ = to.Close()
	}
	return n
}

// MaxPacket bounds a datagram, in bytes.
const MaxPacket = 1<<16 - 1

// Packets carries datagrams over a connection: each Write sends one, each Read returns one. A datagram has its length
// before it in two bytes.
func Packets(conn net.Conn) net.Conn { return packets{conn} }

type packets struct{ net.Conn }

// Write implements net.Conn.
func (p packets) Write(datagram []byte) (int, error) {
	if len(datagram) > MaxPacket {
		return 0, fmt.Errorf("a datagram of %d bytes, more than %d", len(datagram), MaxPacket)
	}
	framed := append(binary.BigEndian.AppendUint16(make([]byte, 0, 2+len(datagram)), uint16(len(datagram))), datagram...)
	if _, err := p.Conn.Write(framed); err != nil {
		return 0, err
	}
	return len(datagram), nil
}

// Read implements net.Conn. A buffer shorter than the datagram gets its beginning, as with UDP.
func (p packets) Read(into []byte) (int, error) {
	var length [2]byte
	if _, err := io.ReadFull(p.Conn, length[:]); err != nil {
		return 0, err
	}
	whole := int(binary.BigEndian.Uint16(length[:]))
	n, err := io.ReadFull(p.Conn, into[:min(whole, len(into))])
	if err == nil && whole > n {
		_, err = io.CopyN(io.Discard, p.Conn, int64(whole-n))
	}
	return n, err
}

// exchange passes datagrams on in both directions until one side is gone.
func exchange(a, b net.Conn) {
	var both recovery.Group
	both.Go(func() { passOn(b, a) })
	both.Go(func() { passOn(a, b) })
	both.Wait()
}

func passOn(to, from net.Conn) {
	defer to.Close()
	buffer := make([]byte, MaxPacket)
	for {
		n, err := from.Read(buffer)
		if err == nil {
			_, err = to.Write(buffer[:n])
		}
		if err != nil {
			return
		}
	}
}
