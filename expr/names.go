package expr

import (
	"slices"
	"strings"

	"github.com/millrace-go/millrace/expr/internal/eval"
)

// has tells whether a name is known as a member.
func (n *Names) has(name string) bool {
	_, ok := n.Fields[name]
	return ok
}

// below says what is read below a path.
type below uint8

const (
	nothing   below = iota
	something       // a member or an index that is computed
	sliced          // a part of it, as of a text: run.created_at[:10]
)

// checkName looks up a path in the names.
func (c *compiler) checkName(path Ref, ats []int, further below) error {
	if c.names == nil {
		return nil
	}
	names := c.names
	for i, part := range path {
		child, ok := names.Fields[part]
		if !ok || child == nil {
			if names.Open || ok {
				return nil
			}
			return c.unknownName(names, path[:i+1], ats[i])
		}
		if child.Why != "" {
			return eval.FailAt(ats[i], "%s cannot be used here", pathText(path[:i+1])).Instead("%s", child.Why)
		}
		if i == len(path)-1 && i > 0 && further == nothing && len(child.Fields) > 0 && !child.Open {
			if key := c.dashed(names, ats[i]); key != "" {
				return c.subtracted(path[:i], key, ats[i])
			}
		}
		names = child
	}
	if further == nothing || names.Open || further == sliced && len(names.Fields) == 0 {
		return nil
	}
	at, name := ats[len(ats)-1], pathText(path)
	if len(names.Fields) == 0 {
		return eval.FailAt(at, "%s has no members", name)
	}
	return eval.FailAt(at, "the members of %s must be written out", name).
		Instead("known are %s", shortList(eval.SortedKeys(names.Fields)))
}

// unknownName is the fault of a name or member that is not known.
func (c *compiler) unknownName(names *Names, path Ref, at int) error {
	name, parent := path[len(path)-1], path[:len(path)-1]
	known := eval.SortedKeys(names.Fields)
	if len(parent) == 0 {
		f := eval.FailAt(at, "unknown name %s", name)
		if remedy := spellings[foldName(name)]; remedy != "" {
			return f.Instead("write %s", remedy)
		}
		if name == "$env" {
			return f.Instead("write the name itself")
		}
		return suggest(f, name, nil, known)
	}
	if key := c.dashed(names, at); key != "" {
		return c.subtracted(parent, key, at)
	}
	if len(known) == 0 {
		return eval.FailAt(at, "%s has no members", pathText(parent))
	}
	return suggest(eval.FailAt(at, "%s has no member %s", pathText(parent), name), name, parent, known)
}

// spellings translates constants of other languages.
var spellings = map[string]string{
	"null": "nil", "none": "nil", "undefined": "nil", "true": "true", "false": "false",
	"it": "# for the item inside of map(), filter() and the like",
}

// suggest adds the nearest known name, or all of them when none is near.
func suggest(f *eval.Fault, name string, parent Ref, known []string) *eval.Fault {
	if near := nearest(name, known); near != "" {
		return f.Instead("write %s", pathText(append(slices.Clone(parent), near)))
	}
	if len(known) > 0 {
		return f.Instead("known are %s", shortList(known))
	}
	return f
}

// dashed gives the key with a dash in it that the text has at a place, where the language reads a subtraction.
func (c *compiler) dashed(names *Names, at int) string {
	found := ""
	for key := range names.Fields {
		if !strings.Contains(key, "-") || !strings.HasPrefix(c.text[at:], key) || len(key) <= len(found) {
			continue
		}
		if rest := c.text[at+len(key):]; rest == "" || !eval.IsIdentifier("_"+rest[:1]) {
			found = key
		}
	}
	return found
}

// unread gives the error of a text that the parser refused: a key with a dash and a digit, as in steps.build-2.output, is
// the cause that the parser's own words do not tell.
func (c *compiler) unread(err error) error {
	if c.names == nil {
		return err
	}
	for _, name := range eval.SortedKeys(c.names.Fields) {
		parent := c.names.Fields[name]
		at := strings.Index(c.text, name+".")
		if parent == nil || at < 0 {
			continue
		}
		at += len(name) + 1
		if key := c.dashed(parent, at); key != "" {
			return c.subtracted(Ref{name}, key, at)
		}
	}
	return err
}

// subtracted is the fault of a key with a dash behind a dot.
func (c *compiler) subtracted(parent Ref, key string, at int) error {
	whole := pathText(append(slices.Clone(parent), key))
	rest := c.text[at+len(key):]
	end := 0
	for end < len(rest) && (rest[end] == '.' || eval.IsIdentifier("_"+rest[end:end+1])) {
		end++
	}
	return eval.FailAt(at, "a dash behind a dot reads as a minus").Instead("write %s%s", whole, rest[:end])
}

// pathText writes a path as a program would.
func pathText(path Ref) string {
	var b strings.Builder
	b.WriteString(path[0])
	for _, part := range path[1:] {
		b.WriteString(eval.MemberText(part))
	}
	return b.String()
}

// shortList lists names for a message, not too many.
func shortList(names []string) string {
	const shown = 8
	if len(names) > shown {
		return strings.Join(names[:shown], ", ") + " and others"
	}
	return strings.Join(names, ", ")
}

// nearest gives the name that differs least from what was written, or "" when all differ much.
func nearest(name string, known []string) string {
	slices.Sort(known)
	best, least := "", 1+max(1, len(name)/3)
	for _, k := range known {
		if foldName(k) == foldName(name) {
			return k
		}
		if d := distance(name, k, least); d < least {
			best, least = k, d
		}
	}
	return best
}

// distance is Levenshtein's, with transpositions as one change; it gives limit when it is not below.
func distance(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	older, old := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range old {
		old[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := old[j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			row[j] = min(change, old[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], older[j-2]+1)
			}
		}
		older, old = old, row
	}
	return min(old[len(b)], limit)
}

// foldName is a name without case and underscores, to find the spelling that was meant.
func foldName(s string) string { return strings.ToLower(strings.ReplaceAll(s, "_", "")) }
