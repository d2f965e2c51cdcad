package boundary

import "time"

// What a machine without a certificate may have of a server: one that joins.
const (
	// MaxJoin bounds the body of a machine that joins, or renews its certificate: a token, a name and a request have 2
	// KiB.
	MaxJoin = 64 << 10
	// JoinTime is in what time it must have come.
	JoinTime = 10 * time.Second
	// Joins is the number of machines of one address that join at once, AllJoins that of all. Four times as many wait,
	// for JoinWait.
	Joins, AllJoins = 16, 256
	JoinWait        = 10 * time.Second
	// A second's and the first wrong tokens of an address; after them it waits.
	WrongTokenRate, WrongTokenBurst = 0.2, 20.0
)

// What a node may have of a server at once. An agent has one stream, one report, one request for each of the tasks that
// it starts at the moment (eight) and for each image or file that it fetches: far less than this.
const (
	// Requests is the number of short requests of a node that are answered at once, Reports that of reports, Downloads
	// that of files and images, Callbacks that of calls of its containers, and Locks that of locks it holds or waits
	// for. What else writes to the store has as many as Requests, apart. Four times as many wait for RequestWait; the
	// others come again later.
	//
	// Callbacks that aren't GET have as many again, apart: they may wait. TokensOfNode is the number of tokens that share
	// what the containers of a node may do, at once and in a time, if each takes all that it may.
	Requests, Reports, Downloads, Callbacks, Locks = 64, 4, 64, 64, 2 * MaxLocks
	TokensOfNode                                   = 4
	RequestWait                                    = 10 * time.Second
	// Streams is the number of open requests of one connection, Connections that of connections of a machine: the
	// oldest makes way for the next.
	Streams, Connections = 250, 16
	// HeaderTable is the number of bytes that a server keeps of a connection's headers, each way, to send and get them
	// shorter: what all requests have in common. A thousand nodes have two connections each. A client must limit its own
	// table: until the server's settings have come it would refer to headers that the server has dropped, and the
	// connection ends with a COMPRESSION_ERROR.
	HeaderTable = 512
	// MaxReport bounds the body of a report, MaxRequest that of any other request. BodyTime is in what time one must
	// have come.
	MaxReport, MaxRequest = 16 << 20, 1 << 20
	BodyTime              = 2 * time.Minute
	// AllBodies is the memory that the bodies of all nodes' requests take at a server while they are answered, Bodies
	// that of one node's. A value in a body counts for ValueBytes besides its text: a list of empty values takes much
	// more than its text.
	AllBodies, Bodies = 512 << 20, 64 << 20
	ValueBytes        = 256
	// SentRate is the number of bytes that a node may send in a second by requests that write, most of them reports,
	// SentBurst the number before that counts.
	SentRate, SentBurst = 4 << 20, 64 << 20
	// WriteRate is the number of requests by which a node may write to a server's store in a second, however little they
	// have: reports, the state of its proxy, certificates that it stores or deletes, locks. WriteBurst is the number
	// before that counts: 250 pods that start at once have 1,500 reports, if each state of each has one of its own. Calls
	// of its containers that aren't GET have as much, apart. So have heartbeats that come to another server than the one
	// before, or after the last one has ended: the others are renewed, which writes nothing.
	WriteRate, WriteBurst = 20.0, 2000.0
	// NetworkRate and NetworkBurst are those of what a node says of its network, apart: all other nodes get its address
	// and its key. An agent says what has changed, and that seldom.
	NetworkRate, NetworkBurst = 1.0, 100.0
	// ReadTime is the time for which a node may read nothing of an answer.
	ReadTime = time.Minute
)

// What a node may have of those that wait for an image of it.
const (
	// ImageBytes must come in each ImageTime in which nothing else is waited for.
	ImageBytes = 64 << 10
	ImageTime  = 30 * time.Second
	// ImageRate is the bytes a second in which a node must read a sent part before its next read, ImagePartTime the
	// longest time for it.
	ImageRate     = 16 << 20
	ImagePartTime = 10 * time.Minute
)
