package format

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/millrace-go/millrace/workflow/internal/document"
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

// IsKey says whether s may be the key of a step: letters, digits, _ and -.
func IsKey(s string) bool { return keyPattern.MatchString(s) }

// IsAction says whether a key of a step names its action.
func IsAction(key string) bool {
	e := formatIndex["step"][key]
	return e != nil && e.action
}

// Actions gives the keys that name an action and run in this version, in the order of the format.
func Actions() []string {
	var all []string
	for i := range stepEntries {
		if stepEntries[i].action && stepEntries[i].since <= Stage {
			all = append(all, stepEntries[i].name)
		}
	}
	return all
}

// Takes says whether a step with this action may have the key, and if not what to do instead.
func Takes(action, key string) (ok bool, instead string) {
	e := formatIndex["step"][key]
	if e == nil || e.actions == nil || slices.Contains(e.actions, action) {
		return true, ""
	}
	return false, e.instead
}

// checker compares a document with the tables.
type checker struct{ *document.Ledger }

// Check compares an object with the table of the place called of, and all inside it likewise. Members that are wrong are
// noted and taken out of the tree, and what held them is marked as broken, so that what comes later sees only what is well
// formed and one mistake makes no second.
func Check(l *document.Ledger, n *document.Node, of string) { (&checker{l}).check(n, of) }

func (c *checker) check(n *document.Node, of string) {
	kept := document.NewObject()
	for i, key := range n.Keys {
		e := formatIndex[of][key.Text]
		switch {
		case of == "workflow" && strings.HasPrefix(key.Text, "x-"):
		case e == nil:
			c.Add(key, unknownRemedy(key.Text, n.Items[i], of), "`%s` is not a key of %s", document.Clip(key.Text), placeName(of))
			n.Broken = true
		case !c.fits(n.Items[i], e.shapes, "`"+key.Text+"`"):
			n.Broken = true
		default:
			if e.since > Stage && (e.zero == "" || string(n.Items[i].Raw()) != e.zero) {
				c.Later(key, key.Text)
			}
			kept.Keys, kept.Items = append(kept.Keys, key), append(kept.Items, n.Items[i])
		}
	}
	n.Keys, n.Items = kept.Keys, kept.Items
}

// placeNames are the names of places in messages, where they are not those of the tables.
var placeNames = map[string]string{
	"case": "a switch case", "catch": "a catch entry", "body": "a branch", "var": "a variable", "http": "an HTTP request", "await": "an await",
	"awaited": "an awaited event", "emit": "an emit", "to": "a recipient", "approve": "an approve", "call": "a child workflow", "shared": "a compensation",
	"notify": "a notification", "end": "an end", "defaults": "the defaults", "concurrency": "a concurrency limit", "rate": "a rate limit",
}

// placeName names a place in messages.
func placeName(of string) string { return cmp.Or(placeNames[of], "a "+of) }

// unknownRemedy says what to write instead of a key that the table does not know.
func unknownRemedy(key string, value *document.Node, of string) string {
	spoken := of
	if of == "shared" {
		spoken = "compensation"
	}
	for _, f := range foreigners[spoken] {
		if f.spelling == key {
			return f.remedy
		}
	}
	if e := formatIndex["step"][key]; e != nil && formatIndex[of]["do"] != nil {
		return "put it under `do:`"
	}
	known := slices.Sorted(maps.Keys(formatIndex[of]))
	if word := document.Nearest(key, known); word != "" {
		return fmt.Sprintf("write `%s`", word)
	}
	if of == "step" && value.Kind == document.Object {
		for _, inner := range value.Keys {
			if e := formatIndex["step"][inner.Text]; e != nil && e.action {
				return fmt.Sprintf("write the keys side by side: { id: %s, %s: ... }", document.Clip(key), inner.Text)
			}
		}
	}
	if of == "workflow" {
		return "keys of your own begin with x-; known are " + strings.Join(known, ", ")
	}
	return "known are " + strings.Join(known, ", ")
}

// fits says whether a value has one of the shapes, and notes what is wrong with it.
func (c *checker) fits(n *document.Node, shapes []shape, what string) bool {
	if n.Broken {
		return false
	}
	for i := range shapes {
		if shapes[i].takes(n) {
			before := c.Count()
			c.inside(n, &shapes[i], what)
			return c.Count() == before || shapes[i].kind >= place
		}
	}
	wanted := make([]string, len(shapes))
	for i := range shapes {
		wanted[i] = shapes[i].describe()
	}
	got := n.Kind.String()
	if n.Kind == document.Text && len(n.Text) <= 40 {
		got = fmt.Sprintf("the text %q", n.Text)
	} else if n.Kind == document.Number || n.Kind == document.Flag {
		got = document.Clip(n.Text)
	}
	c.Add(n, mismatchRemedy(n, shapes), "%s wants %s, not %s", what, strings.Join(wanted, ", or "), got)
	return false
}

// mismatchRemedy says what to write for a value of the wrong type.
func mismatchRemedy(n *document.Node, shapes []shape) string {
	s := shapes[0]
	switch {
	case s.kind == duration && n.Kind == document.Number:
		return DurationSpellings
	case s.kind == flag && n.Kind == document.Text:
		return "write true or false"
	case s.kind == list && n.Kind == document.Text && s.items[0].kind == value:
		return `write a list, such as ["./program.sh", "argument"], or use shell`
	case s.kind == list:
		return "write a list"
	case (s.kind == anyText || s.kind == name || s.kind == stepKey || s.kind == textValue) && (n.Kind == document.Number || n.Kind == document.Flag):
		return fmt.Sprintf("put it into quotes: %q", document.Clip(n.Text))
	}
	return "write " + s.describe()
}

// takes says whether the JSON type of a value belongs to the shape.
func (s *shape) takes(n *document.Node) bool {
	switch s.kind {
	case anyText, name, stepKey, duration, percent:
		return n.Kind == document.Text
	case choice:
		return n.Kind == document.Text && (slices.Contains(s.words, n.Text) || len(s.words) > 1)
	case flag:
		return n.Kind == document.Flag
	case whole, decimal:
		return n.Kind == document.Number
	case program, textValue:
		return n.Kind == document.Text || n.Kind == document.Number || n.Kind == document.Flag
	case object, place, table:
		return n.Kind == document.Object
	case list:
		return n.Kind == document.List
	case value, anything:
	}
	return s.of != "object" || n.Kind == document.Object || n.Kind == document.Text && strings.Contains(n.Text, "${")
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
	case anything:
		return "any value"
	case anyText, textValue:
	}
	return "text"
}

// inside notes what is wrong with a value whose JSON type is right.
func (c *checker) inside(n *document.Node, s *shape, what string) {
	switch s.kind {
	case name:
		if why := NameFault(n.Text); why != "" {
			c.Add(n, "write 1 to 255 characters without control characters or surrounding space", "%s %s", what, why)
		}
	case stepKey:
		if !IsKey(n.Text) {
			c.Add(n, "write letters, digits, _ and - only", "%s wants a key, not %q", what, document.Clip(n.Text))
		}
	case whole, decimal:
		c.number(n, s, what)
	case duration:
		c.duration(n, s, what)
	case choice:
		if !slices.Contains(s.words, n.Text) {
			c.Add(n, choiceRemedy(n.Text, s.words), "%s wants %s, not %q", what, s.describe(), document.Clip(n.Text))
		}
	case percent:
		if v := Percentage(n.Text); v < 0 || v > 100 {
			c.Add(n, "write a number, or a percentage such as 5%", "%s wants a percentage from 0%% to 100%%, not %q", what, document.Clip(n.Text))
		}
	case place:
		c.check(n, s.of)
	case list, table:
		c.each(n, s, what)
	case anyText, flag, program, textValue, value, anything, object:
	}
}

// each checks the items of a list or of a table. Items that are wrong are taken out.
func (c *checker) each(n *document.Node, s *shape, what string) {
	if len(n.Items) == 0 && s.filled {
		c.Add(n, "write at least one entry, or leave it out", "%s is empty", what)
	}
	var keys, items []*document.Node
	for i, item := range n.Items {
		inner := what
		if s.kind == table {
			inner = fmt.Sprintf("%s in %s", strconv.Quote(document.Clip(n.Keys[i].Text)), what)
		}
		if item.Kind == document.Object && s.kind == list && s.items[0].of == "step" && c.oneKeyItem(item) {
			item = item.Hollow()
		} else if !c.fits(item, s.items, inner) {
			n.Broken = true
			if s.items[0].kind != place {
				continue
			}
			item = item.Hollow()
		}
		items = append(items, item)
		if s.kind == table {
			keys = append(keys, n.Keys[i])
		}
	}
	n.Keys, n.Items = keys, items
}

// oneKeyItem finds the list item `- KEY: { action... }` of other tools.
func (c *checker) oneKeyItem(n *document.Node) bool {
	if len(n.Keys) != 1 || formatIndex["step"][n.Keys[0].Text] != nil || n.Items[0].Kind != document.Object {
		return false
	}
	key := document.Clip(n.Keys[0].Text)
	c.Add(n.Keys[0], fmt.Sprintf("write `- { id: %s, ... }` with the step's keys side by side", key),
		"a list of steps has flat items, and `%s` is not a key of a step", key)
	return true
}

// NameFault says what is wrong with a name, or nothing.
func NameFault(s string) string {
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
	if word := document.Nearest(s, words); word != "" {
		return fmt.Sprintf("write %s", word)
	}
	return "write " + strings.Join(words, " or ")
}

func (c *checker) number(n *document.Node, s *shape, what string) {
	v, err := strconv.ParseFloat(n.Text, 64)
	switch {
	case s.kind == whole && (err != nil || v != math.Trunc(v) || math.Abs(v) > 1<<53):
		c.Add(n, "write digits only", "%s wants a whole number, not %s", what, document.Clip(n.Text))
	case err != nil || math.IsNaN(v) || v < s.min || v > s.max:
		c.Add(n, fmt.Sprintf("write a number from %s to %s", ShortNumber(s.min), ShortNumber(s.max)), "%s is out of range: %s", what, document.Clip(n.Text))
	}
}

func (c *checker) duration(n *document.Node, s *shape, what string) {
	d, err := ParseDuration(n.Text)
	switch {
	case err != nil:
		message, _, _ := strings.Cut(err.Error(), ": write ")
		c.Add(n, DurationSpellings, "%s: %s", what, message)
	case s.min > 0 && d == 0:
		c.Add(n, "leave it out, or write a longer one", "%s is no time at all", what)
	}
}

// ShortNumber writes a number in the fewest digits.
func ShortNumber(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// Percentage reads N%; it gives -1 for anything else.
func Percentage(s string) float64 {
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
