package document

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

const plainKeys = 64 // of one object: more are compared faster in a tree

// IsPlain says that ParseJSON would take data, at a tenth of its cost. It is sure of nothing but the simplest: false only says
// that ParseJSON must look.
func IsPlain(data []byte, maxDepth int) bool {
	if bytes.IndexByte(data, '\\') >= 0 || !utf8.Valid(data) || !json.Valid(data) {
		return false
	}
	var open []int // for each object that is open the number of keys before its own; for each list -1
	var keys [][]byte
	key := false // a text would be a key
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '{', '[':
			if len(open)+1 >= maxDepth {
				return false
			}
			key = data[i] == '{'
			if key {
				open = append(open, len(keys))
			} else {
				open = append(open, -1)
			}
		case '}', ']':
			if first := open[len(open)-1]; first >= 0 {
				keys = keys[:first]
			}
			open = open[:len(open)-1]
		case ',':
			key = open[len(open)-1] >= 0
		case '"':
			text := data[i+1:]
			text = text[:bytes.IndexByte(text, '"')]
			i += len(text) + 1
			if !key {
				continue
			}
			key = false
			first := open[len(open)-1]
			if len(keys)-first == plainKeys {
				return false
			}
			for _, other := range keys[first:] {
				if bytes.Equal(other, text) {
					return false
				}
			}
			keys = append(keys, text)
		}
	}
	return true
}
