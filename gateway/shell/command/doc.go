// Package command puts the families of package program together: the table of all external programs of the sandbox, and
// the manual over it.
package command
