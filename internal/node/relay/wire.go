package relay

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"

	"tend.dev/tend/api"
)

// Protocol is the name by which the two sides agree on what they speak.
const Protocol = "tend-relay/1"

// maxHead bounds a head, in bytes.
const maxHead = 4 << 10

// request is the request of a caller. Without a task it only asks whether it may.
type request struct {
	Task string `json:"task,omitempty"`
	Port int    `json:"port,omitempty"`
	// Protocol is tcp (also where it is empty) or udp: then what follows the heads are datagrams, as Packets writes them.
	Protocol string `json:"protocol,omitempty"`
	// HTTP says that the caller is an HTTP proxy: the relay may end the connection by a header of an answer. Callers
	// from before this field are never sent one.
	HTTP bool `json:"http,omitempty"`
}

func (r request) protocol() string { return cmp.Or(r.Protocol, api.ProtocolTCP) }

// answer is empty if the connection leads to the pod from here on.
type answer struct {
	Error string `json:"error,omitempty"`
	// Early says that the node can't know yet.
	Early bool `json:"early,omitempty"`
}

func writeHead(to io.Writer, head any) error {
	text, err := json.Marshal(head)
	if err != nil {
		return err
	}
	if len(text) > maxHead {
		return fmt.Errorf("a head of %d bytes, more than %d", len(text), maxHead)
	}
	_, err = to.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(text))), text...))
	return err
}

// readHead reads no byte of what follows the head.
func readHead(from io.Reader, head any) error {
	var length [2]byte
	if _, err := io.ReadFull(from, length[:]); err != nil {
		return err
	}
	n := binary.BigEndian.Uint16(length[:])
	if n > maxHead {
		return fmt.Errorf("a head of %d bytes, more than %d", n, maxHead)
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(from, text); err != nil {
		return err
	}
	return json.Unmarshal(text, head)
}
