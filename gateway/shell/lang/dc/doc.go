// Package dc is the reverse-polish calculator, as GNU dc 1.4.1 is. Commands of the system (!) are refused.
package dc
