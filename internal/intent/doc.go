// Package intent holds the verbs by which people change what is desired: apply, delete, scale, restart, rollback,
// freeze and thaw, and the buckets of config.
//
// Each verb is one atomic commit. It reads a picture of the store that is at least as new as every commit made before,
// decides with a pure function (prepareX: picture and time in, transaction and answer out), and commits on the
// condition that nothing it decided from has changed; if it has, it decides anew. So a verb is stored whole or not at
// all, and two of them at once end as if one had come after the other.
//
// Whoever changes a spec speaks as a manager, which owns what it sets (package ownership): a value another manager owns
// is a refusal, unless it is taken over by force.
//
// What comes from outside is settled at this border, before anything is decided: the bytes of assets are kept, and their
// digests stamped on all who use them; a registry's token is encrypted.
//
// It decides what is written under /desired, /names, /frozen and /config, and nothing else: what happens because of it
// is the controllers' business. It never touches a container, and it never waits for one.
package intent
