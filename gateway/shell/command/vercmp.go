package command

// versionCompare orders names with numbers in them, as sort -V and ls -v do.
func versionCompare[S ~string | ~[]byte](a, b S) int {
	switch {
	case len(a) == 0 || len(b) == 0:
		return min(len(a), 1) - min(len(b), 1)
	case a[0] == '.' && b[0] != '.':
		return -1
	case a[0] != '.' && b[0] == '.':
		return 1
	case a[0] == '.':
		// "." and ".." come before other names with a dot.
		ra, rb := dotRank(a), dotRank(b)
		if ra != rb || ra < 2 {
			return ra - rb
		}
	}
	pa, pb := versionPrefix(a), versionPrefix(b)
	if r := versionRunCompare(a[:pa], b[:pb]); r != 0 || pa == len(a) && pb == len(b) {
		return r
	}
	return versionRunCompare(a, b)
}

func dotRank[S ~string | ~[]byte](s S) int {
	switch string(s) {
	case ".":
		return 0
	case "..":
		return 1
	}
	return 2
}

// versionPrefix is the length of s without suffixes like .tar.gz.
func versionPrefix[S ~string | ~[]byte](s S) int {
	prefix := 0
	for i := 0; i < len(s); {
		i++
		prefix = i
		for i+1 < len(s) && s[i] == '.' && (isAlpha(s[i+1]) || s[i+1] == '~') {
			for i += 2; i < len(s) && (isAlpha(s[i]) || isDigit(s[i]) || s[i] == '~'); i++ {
			}
		}
	}
	return prefix
}

func isAlpha(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func versionRunCompare[S ~string | ~[]byte](a, b S) int {
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		for i < len(a) && !isDigit(a[i]) || j < len(b) && !isDigit(b[j]) {
			x, y := versionOrder(a, i), versionOrder(b, j)
			if x != y {
				return x - y
			}
			i++
			j++
		}
		for i < len(a) && a[i] == '0' {
			i++
		}
		for j < len(b) && b[j] == '0' {
			j++
		}
		diff := 0
		for i < len(a) && j < len(b) && isDigit(a[i]) && isDigit(b[j]) {
			if diff == 0 {
				diff = int(a[i]) - int(b[j])
			}
			i++
			j++
		}
		switch {
		case i < len(a) && isDigit(a[i]):
			return 1
		case j < len(b) && isDigit(b[j]):
			return -1
		case diff != 0:
			return diff
		}
	}
	return 0
}

func versionOrder[S ~string | ~[]byte](s S, i int) int {
	switch {
	case i >= len(s):
		return -1
	case isDigit(s[i]):
		return 0
	case isAlpha(s[i]):
		return int(s[i])
	case s[i] == '~':
		return -2
	}
	return int(s[i]) + 256
}
