// Package execwire defines what passes between a client and a command: the messages of a WebSocket with the subprotocol
// Protocol. It decides nothing, and reads no message before the one before it was taken.
//
// A binary message is one byte that names the stream, and bytes of it. A text message is JSON. The client's first
// message is an api.ExecRequest, every other text message is a Control:
//
//	client   {"command": ["sh"], "stdin": true, "tty": true, "width": 80, "height": 25}
//	client   0, bytes                                  stdin
//	client   {"resize": {"width": 120, "height": 50}}  the terminal's new size
//	client   {"eof": true}                             stdin has ended
//	server   1, bytes                                  stdout; with a terminal everything
//	server   2, bytes                                  stderr
//	server   {"exit": {"code": 0}}                     the command ended: the last message
//	server   {"error": {"title": …, "status": …}}      it could not be run, or was ended: the last message
package execwire
