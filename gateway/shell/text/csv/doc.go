// Package csv reads and writes separated values as Python's csv module does, which is what csvkit's users see: quoting
// that is not strict, dialects that are guessed from a sample, empty lines that are rows without fields. It guesses the
// types of columns as csvkit does: boolean, number, time span, date, date and time, text.
package csv
