package store

// maxPlain is how deep a payload may be for plain to look at it.
const maxPlain = 32

// plain says that b is JSON, at a fifth of the cost of json.Valid, which is to be asked when it says no: of texts with escapes,
// numbers with exponents, and what is deep it knows nothing.
func plain(b []byte) bool {
	rest, ok := plainValue(b, maxPlain)
	return ok && len(plainSpace(rest)) == 0
}

// plainSpace gives what follows white space.
func plainSpace(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\n' || b[0] == '\t' || b[0] == '\r') {
		b = b[1:]
	}
	return b
}

// plainValue gives what follows a value.
func plainValue(b []byte, depth int) (rest []byte, ok bool) {
	if b = plainSpace(b); len(b) == 0 || depth == 0 {
		return b, false
	}
	switch c := b[0]; {
	case c == '"':
		return plainText(b)
	case c == '{':
		return plainItems(b, '}', depth-1)
	case c == '[':
		return plainItems(b, ']', depth-1)
	case c == '-' || c >= '0' && c <= '9':
		return plainNumber(b)
	}
	for _, word := range [...]string{"null", "true", "false"} {
		if len(b) >= len(word) && string(b[:len(word)]) == word {
			return b[len(word):], true
		}
	}
	return b, false
}

// plainText gives what follows a text without escapes.
func plainText(b []byte) (rest []byte, ok bool) {
	if len(b) == 0 || b[0] != '"' {
		return b, false
	}
	for i := 1; i < len(b); i++ {
		switch c := b[i]; {
		case c == '"':
			return b[i+1:], true
		case c == '\\' || c < ' ':
			return b, false
		}
	}
	return b, false
}

// plainNumber gives what follows a number without an exponent.
func plainNumber(b []byte) (rest []byte, ok bool) {
	if b[0] == '-' {
		b = b[1:]
	}
	n := digits(b)
	if n == 0 || n > 1 && b[0] == '0' {
		return b, false
	}
	if b = b[n:]; len(b) > 0 && b[0] == '.' {
		if n = digits(b[1:]); n == 0 {
			return b, false
		}
		b = b[n+1:]
	}
	return b, len(b) == 0 || b[0] != 'e' && b[0] != 'E'
}

func digits(b []byte) (n int) {
	for n < len(b) && b[n] >= '0' && b[n] <= '9' {
		n++
	}
	return n
}

// plainItems gives what follows an object or a list, which ends with end.
func plainItems(b []byte, end byte, depth int) (rest []byte, ok bool) {
	if b = plainSpace(b[1:]); len(b) > 0 && b[0] == end {
		return b[1:], true
	}
	for {
		if end == '}' {
			if b, ok = plainText(plainSpace(b)); !ok {
				return b, false
			}
			if b = plainSpace(b); len(b) == 0 || b[0] != ':' {
				return b, false
			}
			b = b[1:]
		}
		if b, ok = plainValue(b, depth); !ok {
			return b, false
		}
		switch b = plainSpace(b); {
		case len(b) == 0:
			return b, false
		case b[0] == end:
			return b[1:], true
		case b[0] != ',':
			return b, false
		}
		b = b[1:]
	}
}
