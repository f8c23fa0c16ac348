// Package digest has the digests that the standard library lacks: BLAKE2b of any width, and SM3.
package digest
