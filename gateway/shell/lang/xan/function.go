package xan

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"unicode/utf8"
)

// function is one that expressions may call; most is -1 where there is no bound.
type function struct {
	least, most int
	call        func(v []any) (any, error)
}

// valueMax bounds the strings that functions make, in bytes.
const valueMax = 16 << 20

func call(name string, args []any, _ *scope) (any, error) {
	f, ok := functions[name]
	if !ok {
		return nil, fmt.Errorf("unknown function %q", name)
	}
	if len(args) < f.least || f.most >= 0 && len(args) > f.most {
		return nil, fmt.Errorf("wrong number of arguments for %s", name)
	}
	return f.call(args)
}

func ofText(f func(s string) any) function {
	return function{1, 1, func(v []any) (any, error) { return f(Text(v[0])), nil }}
}

func ofTexts(f func(s, t string) any) function {
	return function{2, 2, func(v []any) (any, error) { return f(Text(v[0]), Text(v[1])), nil }}
}

func ofNumber(f func(x float64) float64) function {
	return function{1, 1, func(v []any) (any, error) {
		x, ok := number(v[0])
		if !ok {
			return nil, fmt.Errorf("%q is not a number", Text(v[0]))
		}
		return f(x), nil
	}}
}

func fold(op string) function {
	return function{2, -1, func(v []any) (any, error) {
		acc := v[0]
		for _, x := range v[1:] {
			var err error
			if acc, err = operate(op, acc, x); err != nil {
				return nil, err
			}
		}
		return acc, nil
	}}
}

func extreme(sign int) function {
	return function{1, -1, func(v []any) (any, error) {
		best := v[0]
		for _, x := range v[1:] {
			if compare(x, best)*sign > 0 {
				best = x
			}
		}
		return best, nil
	}}
}

func matches(pattern any) (*regexp.Regexp, error) {
	re, err := regexp.Compile(Text(pattern))
	if err != nil {
		return nil, fmt.Errorf("bad regular expression %q", Text(pattern))
	}
	return re, nil
}

var functions map[string]function

func init() {
	functions = map[string]function{
		"abs": ofNumber(math.Abs), "ceil": ofNumber(math.Ceil), "floor": ofNumber(math.Floor), "trunc": ofNumber(math.Trunc),
		"sqrt": ofNumber(math.Sqrt),
		"log":  ofNumber(math.Log), "log10": ofNumber(math.Log10), "log2": ofNumber(math.Log2), "exp": ofNumber(math.Exp),
		"neg": ofNumber(func(x float64) float64 { return -x }),
		"int": ofNumber(math.Trunc), "float": ofNumber(func(x float64) float64 { return x }),
		"inc": ofNumber(func(x float64) float64 { return x + 1 }),
		"dec": ofNumber(func(x float64) float64 { return x - 1 }),
		"round": {1, 2, func(v []any) (any, error) {
			x, ok := number(v[0])
			if !ok {
				return nil, fmt.Errorf("%q is not a number", Text(v[0]))
			}
			unit := 1.0
			if len(v) == 2 {
				if u, ok := number(v[1]); ok && u != 0 {
					unit = u
				}
			}
			return math.Round(x/unit) * unit, nil
		}},
		"add": fold("+"), "sub": fold("-"), "mul": fold("*"), "div": fold("/"), "idiv": fold("//"), "mod": fold("%"),
		"pow": fold("**"), "concat": fold("++"),
		"min": extreme(-1), "max": extreme(1),
		"upper": ofText(func(s string) any { return strings.ToUpper(s) }),
		"lower": ofText(func(s string) any { return strings.ToLower(s) }),
		"trim":  ofText(func(s string) any { return strings.TrimSpace(s) }),
		"ltrim": ofText(func(s string) any { return strings.TrimLeft(s, " \t\r\n") }),
		"rtrim": ofText(func(s string) any { return strings.TrimRight(s, " \t\r\n") }),
		"len": {1, 1, func(v []any) (any, error) {
			if list, ok := v[0].([]any); ok {
				return float64(len(list)), nil
			}
			return float64(utf8.RuneCountInString(Text(v[0]))), nil
		}},
		"startswith": ofTexts(func(s, t string) any { return strings.HasPrefix(s, t) }),
		"endswith":   ofTexts(func(s, t string) any { return strings.HasSuffix(s, t) }),
		"contains":   {2, 2, func(v []any) (any, error) { return operate("in", v[1], v[0]) }},
		"match": {2, 3, func(v []any) (any, error) {
			re, err := matches(v[1])
			if err != nil {
				return nil, err
			}
			return re.MatchString(Text(v[0])), nil
		}},
		"replace": {3, 3, func(v []any) (any, error) {
			s, old, with := Text(v[0]), Text(v[1]), Text(v[2])
			if len(s)+strings.Count(s, old)*len(with) > valueMax {
				return nil, fmt.Errorf("value too large")
			}
			return strings.ReplaceAll(s, old, with), nil
		}},
		"split": {2, 2, func(v []any) (any, error) {
			var out []any
			for _, part := range strings.Split(Text(v[0]), Text(v[1])) {
				out = append(out, part)
			}
			return out, nil
		}},
		"join": {2, 2, func(v []any) (any, error) {
			list, ok := v[0].([]any)
			if !ok {
				return Text(v[0]), nil
			}
			parts := make([]string, len(list))
			for i, x := range list {
				parts[i] = Text(x)
			}
			return strings.Join(parts, Text(v[1])), nil
		}},
		"get":   {2, 2, func(v []any) (any, error) { return element(v[0], v[1]) }},
		"first": {1, 1, func(v []any) (any, error) { return element(v[0], 0.0) }},
		"last":  {1, 1, func(v []any) (any, error) { return element(v[0], -1.0) }},
		"slice": {2, 3, func(v []any) (any, error) {
			r := []rune(Text(v[0]))
			from, _ := number(v[1])
			to := float64(len(r))
			if len(v) == 3 {
				to, _ = number(v[2])
			}
			at := func(x float64) int {
				if x < 0 {
					x += float64(len(r))
				}
				return int(max(0, min(x, float64(len(r)))))
			}
			return string(r[at(from):max(at(from), at(to))]), nil
		}},
		"coalesce": {1, -1, func(v []any) (any, error) {
			for _, x := range v {
				if x != nil && x != "" {
					return x, nil
				}
			}
			return nil, nil
		}},
		"not": {1, 1, func(v []any) (any, error) { return !Truthy(v[0]), nil }},
		"and": {2, -1, func(v []any) (any, error) {
			for _, x := range v {
				if !Truthy(x) {
					return false, nil
				}
			}
			return true, nil
		}},
		"or": {2, -1, func(v []any) (any, error) {
			for _, x := range v {
				if Truthy(x) {
					return true, nil
				}
			}
			return false, nil
		}},
		"eq": {2, 2, func(v []any) (any, error) { return operate("eq", v[0], v[1]) }},
		"ne": {2, 2, func(v []any) (any, error) { return operate("ne", v[0], v[1]) }},
		"typeof": {1, 1, func(v []any) (any, error) {
			switch v := v[0].(type) {
			case bool:
				return "boolean", nil
			case float64:
				return "number", nil
			case []any:
				return "list", nil
			case string:
				if v == "" {
					return "empty", nil
				}
				return "string", nil
			}
			return "empty", nil
		}},
	}
}

// element is item i of a list or string, from the end where i is negative.
func element(of, i any) (any, error) {
	n, ok := number(i)
	if !ok {
		return nil, fmt.Errorf("%q is not a number", Text(i))
	}
	list, isList := of.([]any)
	if !isList {
		for _, r := range Text(of) {
			list = append(list, string(r))
		}
	}
	if n < 0 {
		n += float64(len(list))
	}
	if n < 0 || int(n) >= len(list) {
		return nil, nil
	}
	return list[int(n)], nil
}
