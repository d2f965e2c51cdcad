// Package verbs holds the verbs by which people change what is desired: of objects (apply, delete, scale, rollback,
// restart, rebootstrap, freeze and thaw), of runs and labs, of nodes (cordon, rebalance, down, remove), of config, and
// of access tokens.
//
// Each verb is one atomic commit. It reads a snapshot of the store that is at least as new as every commit made before,
// decides with a pure function (prepareX: snapshot and time in, transaction and answer out), and commits on the
// condition that nothing it decided from has changed. If something has, it decides again. So a verb is stored
// completely or not at all, and two verbs at once end as if one had come after the other.
//
// Every change of a spec names a field manager, which owns the fields it sets (package ownership). A value that another
// manager owns is refused, unless it is taken over by force.
//
// Input from outside is resolved here, before any decision: the bytes of assets are stored, and their digests stamped
// on every object that uses them; a registry's token is encrypted.
//
// Most verbs write only what is desired (/desired, /names, /frozen, /moves, /config, /confined), requests for
// controllers (/runs, /labs) and records of the same commit (/found, /synced, /guards, access tokens). The verbs for a
// node that is lost or removed also write what the node or another part wrote before: its membership, heartbeat,
// reports and losses, its join tokens, the homes of its volumes, and the statuses of its tasks. The controllers act on
// all of it. The package never touches a container, and it never waits for one.
package verbs
