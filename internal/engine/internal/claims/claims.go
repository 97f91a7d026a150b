// Package claims keeps the tokens under which this process may hold tasks without knowing of it.
//
// Noun: [Tokens]. A token is asked under from the call of the store until its answer is in hand; when the answer was lost, it is
// in doubt until the store was asked what is held under it.
package claims

import "slices"

// Tokens are those of claims, starts and settlements. The zero value has none. It is not safe for concurrent use.
type Tokens struct {
	asked   map[int64]bool
	doubted []int64
}

const maxDoubts = 1_000 // tokens that are asked for; what further ones hold is released once its lease runs out

// Ask notes that a call is made under a token; 0 is none.
func (t *Tokens) Ask(token int64) {
	if token == 0 {
		return
	}
	if t.asked == nil {
		t.asked = map[int64]bool{}
	}
	t.asked[token] = true
}

// Answered notes that the answer of a call is in hand.
func (t *Tokens) Answered(token int64) { delete(t.asked, token) }

// Doubt notes that the answer of a call was lost: something may be held under its token.
func (t *Tokens) Doubt(token int64) {
	if len(t.doubted) < maxDoubts && !slices.Contains(t.doubted, token) {
		t.doubted = append(t.doubted, token)
	}
}

// Doubted gives the token that has been in doubt for longest; ok is false when none is.
func (t *Tokens) Doubted() (token int64, ok bool) {
	if len(t.doubted) == 0 {
		return 0, false
	}
	return t.doubted[0], true
}

// Resolve ends the doubt of a token: what is held under it is known, or will be released.
func (t *Tokens) Resolve(token int64) {
	t.doubted = slices.DeleteFunc(t.doubted, func(d int64) bool { return d == token })
}

// InDoubt says whether a token is in doubt.
func (t *Tokens) InDoubt(token int64) bool { return slices.Contains(t.doubted, token) }

// Awaited says whether the answer of any call is awaited.
func (t *Tokens) Awaited() bool { return len(t.asked) > 0 }

// Asked says whether the answer of a call under a token is awaited.
func (t *Tokens) Asked(token int64) bool { return t.asked[token] }
