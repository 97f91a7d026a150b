package workflow

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

var (
	keyPattern     = regexp.MustCompile(`^[A-Za-z0-9_-]{1,255}$`)
	percentPattern = regexp.MustCompile(`^ *([0-9]{1,3}(\.[0-9]{1,6})?) *%$`)
)

// entries gives the table of a place by key.
func entries(of string) map[string]*entry {
	byName := map[string]*entry{}
	for i := range format[of] {
		byName[format[of][i].name] = &format[of][i]
	}
	return byName
}

var formatIndex = func() map[string]map[string]*entry {
	index := map[string]map[string]*entry{}
	for of := range format {
		index[of] = entries(of)
	}
	return index
}()

// check compares an object with the table of its place and all inside it likewise. Members that are wrong are taken out of
// the tree, so that what comes later sees only what is well formed and one mistake makes no second.
func (l *ledger) check(n *node, of string) {
	kept := newObject()
	for i, key := range n.keys {
		e := formatIndex[of][key.text]
		switch {
		case of == "workflow" && strings.HasPrefix(key.text, "x-"):
		case e == nil:
			l.add(key, unknownRemedy(key.text, n.items[i], of), "`%s` is not a key of a %s", clip(key.text), placeName(of))
			n.broken = true
		case len(e.shapes) == 0:
			l.add(key, "leave it out", "`%s` is part of the format but does not run in this version yet", key.text)
			n.broken = true
		case !l.fits(n.items[i], e.shapes, "`"+key.text+"`"):
			n.broken = true
		default:
			kept.keys, kept.items = append(kept.keys, key), append(kept.items, n.items[i])
		}
	}
	n.keys, n.items = kept.keys, kept.items
}

// placeName names a place in messages.
func placeName(of string) string {
	switch of {
	case "case":
		return "switch case"
	case "catch":
		return "catch entry"
	}
	return of
}

// unknownRemedy says what to write instead of a key that the table does not know.
func unknownRemedy(key string, value *node, of string) string {
	for _, f := range foreigners[of] {
		if f.spelling == key {
			return f.remedy
		}
	}
	if e := formatIndex["step"][key]; e != nil && formatIndex[of]["do"] != nil {
		return "put it under `do:`"
	}
	known := slices.Sorted(maps.Keys(formatIndex[of]))
	if word := nearest(key, known); word != "" {
		return fmt.Sprintf("write `%s`", word)
	}
	if of == "step" && value.kind == objectNode {
		for _, inner := range value.keys {
			if e := formatIndex["step"][inner.text]; e != nil && e.action {
				return fmt.Sprintf("write the keys side by side: { id: %s, %s: ... }", clip(key), inner.text)
			}
		}
	}
	if of == "workflow" {
		return "keys of your own begin with x-; known are " + strings.Join(known, ", ")
	}
	return "known are " + strings.Join(known, ", ")
}

// fits says whether a value has one of the shapes, and notes what is wrong with it.
func (l *ledger) fits(n *node, shapes []shape, what string) bool {
	for i := range shapes {
		if shapes[i].takes(n) {
			before := len(l.list)
			l.inside(n, &shapes[i], what)
			return len(l.list) == before || shapes[i].kind >= place
		}
	}
	wanted := make([]string, len(shapes))
	for i := range shapes {
		wanted[i] = shapes[i].describe()
	}
	got := n.kind.words()
	if n.kind == textNode && len(n.text) <= 40 {
		got = fmt.Sprintf("the text %q", n.text)
	} else if n.kind == numberNode || n.kind == flagNode {
		got = clip(n.text)
	}
	l.add(n, mismatchRemedy(n, shapes), "%s wants %s, not %s", what, strings.Join(wanted, ", or "), got)
	return false
}

// mismatchRemedy says what to write for a value of the wrong type.
func mismatchRemedy(n *node, shapes []shape) string {
	s := shapes[0]
	switch {
	case s.kind == duration && n.kind == numberNode:
		return durationSpellings
	case s.kind == flag && n.kind == textNode:
		return "write true or false"
	case s.kind == list && n.kind == textNode && s.item.kind == value:
		return `write a list, such as ["./program.sh", "argument"], or use shell`
	case s.kind == list:
		return "write a list"
	case (s.kind == anyText || s.kind == name || s.kind == stepKey || s.kind == textValue) && (n.kind == numberNode || n.kind == flagNode):
		return fmt.Sprintf("put it into quotes: %q", clip(n.text))
	}
	return "write " + s.describe()
}

// takes says whether the JSON type of a value belongs to the shape.
func (s *shape) takes(n *node) bool {
	switch s.kind {
	case anyText, name, stepKey, duration, percent:
		return n.kind == textNode
	case choice:
		return n.kind == textNode && (slices.Contains(s.words, n.text) || len(s.words) > 1)
	case flag:
		return n.kind == flagNode
	case whole, decimal:
		return n.kind == numberNode
	case program, textValue:
		return n.kind == textNode || n.kind == numberNode || n.kind == flagNode
	case object, place, table:
		return n.kind == objectNode
	case list:
		return n.kind == listNode
	case value:
	}
	return s.of != "object" || n.kind == objectNode || n.kind == textNode && strings.Contains(n.text, "${")
}

// describe says in words what the shape wants.
func (s *shape) describe() string {
	switch s.kind {
	case name:
		return "a name"
	case stepKey:
		return "a key"
	case flag:
		return "true or false"
	case whole:
		return "a whole number"
	case decimal:
		return "a number"
	case duration:
		return "a duration"
	case choice:
		if len(s.words) == 1 {
			return s.words[0]
		}
		return "one of " + strings.Join(s.words, ", ")
	case percent:
		return "a percentage such as 5%"
	case program:
		return "an expression"
	case object, place, table:
		return "an object"
	case list:
		return "a list"
	case value:
		return "an object"
	case anyText, textValue:
	}
	return "text"
}

// inside notes what is wrong with a value whose JSON type is right.
func (l *ledger) inside(n *node, s *shape, what string) {
	switch s.kind {
	case name:
		if why := nameFault(n.text); why != "" {
			l.add(n, "write 1 to 255 characters without control characters or surrounding space", "%s %s", what, why)
		}
	case stepKey:
		if !keyPattern.MatchString(n.text) {
			l.add(n, "write letters, digits, _ and - only", "%s wants a key, not %q", what, clip(n.text))
		}
	case whole, decimal:
		l.number(n, s, what)
	case duration:
		l.duration(n, s, what)
	case choice:
		if !slices.Contains(s.words, n.text) {
			l.add(n, choiceRemedy(n.text, s.words), "%s wants %s, not %q", what, s.describe(), clip(n.text))
		}
	case percent:
		if v := percentage(n.text); v < 0 || v > 100 {
			l.add(n, "write a number, or a percentage such as 5%", "%s wants a percentage from 0%% to 100%%, not %q", what, clip(n.text))
		}
	case place:
		l.check(n, s.of)
	case list, table:
		l.each(n, s, what)
	case anyText, flag, program, textValue, value, object:
	}
}

// each checks the items of a list or of a table. Items that are wrong are taken out.
func (l *ledger) each(n *node, s *shape, what string) {
	if len(n.items) == 0 && s.filled {
		l.add(n, "write at least one entry, or leave it out", "%s is empty", what)
	}
	var keys, items []*node
	for i, item := range n.items {
		inner := what
		if s.kind == table {
			inner = fmt.Sprintf("%s in %s", strconv.Quote(clip(n.keys[i].text)), what)
		}
		if item.kind == objectNode && s.item.kind == place && s.kind == list && s.item.of == "step" && l.oneKeyItem(item) {
			item = &node{kind: objectNode, broken: true, line: item.line, column: item.column, parent: n, name: item.name}
		} else if !l.fits(item, []shape{*s.item}, inner) {
			n.broken = true
			if s.item.kind != place {
				continue
			}
			item = &node{kind: objectNode, broken: true, line: item.line, column: item.column, parent: n, name: item.name}
		}
		items = append(items, item)
		if s.kind == table {
			keys = append(keys, n.keys[i])
		}
	}
	n.keys, n.items = keys, items
}

// oneKeyItem finds the list item `- KEY: { action... }` of other tools.
func (l *ledger) oneKeyItem(n *node) bool {
	if len(n.keys) != 1 || formatIndex["step"][n.keys[0].text] != nil || n.items[0].kind != objectNode {
		return false
	}
	key := clip(n.keys[0].text)
	l.add(n.keys[0], fmt.Sprintf("write `- { id: %s, ... }` with the step's keys side by side", key),
		"a list of steps has flat items, and `%s` is not a key of a step", key)
	return true
}

// nameFault says what is wrong with a name, or nothing.
func nameFault(s string) string {
	switch {
	case s == "":
		return "is empty"
	case utf8.RuneCountInString(s) > 255:
		return "is longer than 255 characters"
	case strings.TrimSpace(s) != s:
		return "begins or ends with space"
	case strings.ContainsFunc(s, unicode.IsControl):
		return "holds a control character"
	}
	return ""
}

func choiceRemedy(s string, words []string) string {
	if word := nearest(s, words); word != "" {
		return fmt.Sprintf("write %s", word)
	}
	return "write " + strings.Join(words, " or ")
}

func (l *ledger) number(n *node, s *shape, what string) {
	v, err := strconv.ParseFloat(n.text, 64)
	switch {
	case s.kind == whole && (err != nil || v != math.Trunc(v) || math.Abs(v) > 1<<53):
		l.add(n, "write digits only", "%s wants a whole number, not %s", what, clip(n.text))
	case err != nil || math.IsNaN(v) || v < s.min || v > s.max:
		l.add(n, fmt.Sprintf("write a number from %s to %s", shortNumber(s.min), shortNumber(s.max)), "%s is out of range: %s", what, clip(n.text))
	}
}

func (l *ledger) duration(n *node, s *shape, what string) {
	d, err := ParseDuration(n.text)
	switch {
	case err != nil:
		message, _, _ := strings.Cut(err.Error(), ": write ")
		l.add(n, durationSpellings, "%s: %s", what, message)
	case s.min > 0 && d == 0:
		l.add(n, "leave it out, or write a longer one", "%s is no time at all", what)
	}
}

func shortNumber(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// percentage reads N%; it gives -1 for anything else.
func percentage(s string) float64 {
	m := percentPattern.FindStringSubmatch(s)
	if m == nil {
		return -1
	}
	v, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		return -1
	}
	return v
}
