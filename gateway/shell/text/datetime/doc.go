// Package datetime is dates as GNU date, touch, ls, find and printf know them: [Parse] reads what parse_datetime of
// gnulib reads ("next friday", "2 days ago", "@0"), [Format] is strftime with GNU's flags and
// widths, [Zone] finds time zones in the embedded database and never on the host.
package datetime
