package shell

import "mvdan.cc/sh/v3/syntax"

// test compiles a condition. The parser lets ! reach over && and ||, so these are put together anew from their order in
// the text.
func (c *compiler) test(x syntax.TestExpr) testExpr {
	var terms []testExpr
	var ops []string
	c.testTerms(x, &terms, &ops)
	var or testExpr
	and := terms[0]
	for i, op := range ops {
		if op == "&&" {
			and = &testLogic{op: op, x: and, y: terms[i+1]}
			continue
		}
		if or != nil {
			and = &testLogic{op: "||", x: or, y: and}
		}
		or, and = and, terms[i+1]
	}
	if or != nil {
		return &testLogic{op: "||", x: or, y: and}
	}
	return and
}

// testTerms lists what && and || connect.
func (c *compiler) testTerms(x syntax.TestExpr, terms *[]testExpr, ops *[]string) {
	switch t := x.(type) {
	case *syntax.UnaryTest:
		if t.Op == syntax.TsNot {
			first := len(*terms)
			c.testTerms(t.X, terms, ops)
			(*terms)[first] = &testLogic{op: "!", x: (*terms)[first]}
			return
		}
	case *syntax.BinaryTest:
		if t.Op == syntax.AndTest || t.Op == syntax.OrTest {
			c.testTerms(t.X, terms, ops)
			*ops = append(*ops, t.Op.String())
			c.testTerms(t.Y, terms, ops)
			return
		}
	}
	*terms = append(*terms, c.testTerm(x))
}

func (c *compiler) testTerm(x syntax.TestExpr) testExpr {
	switch t := x.(type) {
	case *syntax.Word:
		return &testUnary{op: "-n", x: c.word(t)}
	case *syntax.ParenTest:
		return &testParen{c.test(t.X)}
	case *syntax.UnaryTest:
		if w, ok := t.X.(*syntax.Word); ok {
			op := t.Op.String()
			if op == "-h" {
				op = "-L"
			}
			return &testUnary{op: op, x: c.word(w)}
		}
	case *syntax.BinaryTest:
		xw, ok1 := t.X.(*syntax.Word)
		yw, ok2 := t.Y.(*syntax.Word)
		if ok1 && ok2 {
			return &testBinary{op: t.Op.String(), x: c.word(xw), y: c.word(yw)}
		}
	}
	return &testUnary{op: "-n", x: litWord("")}
}
