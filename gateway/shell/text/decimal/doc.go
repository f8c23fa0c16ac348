// Package decimal is the arithmetic of bc and dc: numbers of any length with a scale, the number of digits after the
// point. Every operation says how the scale of its result follows from its operands', and what does not fit is cut off,
// never rounded.
package decimal
