// Package xml reads XML documents into trees and writes them as libxml2 does: blanks, comments, CDATA, references and
// the order of attributes are kept, and the complaints about what is not well-formed are worded alike. Nothing that a
// document names is fetched.
package xml
