// Package rekey decides how far the rotation of a key has got.
//
// Every rotation takes three phases, and none begins before every party has done its part of the one before. While the
// new key spreads, all parties learn it, and still use the old one: whatever one of them makes, the others can read.
// While they move, all use the new one, and what was made with the old one is made again. Then they forget the old one.
// A party that stays away holds the rotation up: without it, it could never come back.
package rekey
