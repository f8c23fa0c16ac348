// Package yq is the language of mikefarah's yq 4: expressions that walk and change the nodes of YAML documents, with
// their styles, comments, tags, anchors and aliases.
//
// [Compile] reads an expression (parse.go), [Machine.Eval] evaluates it on documents (eval.go, operator.go,
// function.go). An expression gives nodes, and assignments change the nodes of the document they stand in. What is not
// there yet is a node that hangs nowhere until something is assigned to it.
//
// Left out are the operators that run programs or read other formats from files.
package yq
