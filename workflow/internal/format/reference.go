package format

import (
	"fmt"
	"strconv"
	"strings"
)

// placeOrder lists the places in the order in which they are told about, with their titles on the reference page.
var placeOrder = []string{
	"workflow", "step", "body", "http", "wait", "await", "awaited", "emit", "to", "approve", "call", "case", "map", "loop", "fail", "end",
	"catch", "retry", "defaults", "var", "compensation", "shared", "notify", "concurrency", "rate",
}

var placeTitles = map[string]string{
	"workflow": "The file", "step": "Steps", "body": "Bodies", "http": "`http`", "wait": "`wait`", "await": "`await`", "awaited": "An awaited event",
	"emit": "`emit`", "to": "The recipient of an event", "approve": "`approve`", "call": "`workflow`, a child", "case": "A case of `switch`", "map": "`map`",
	"loop": "`loop`", "fail": "`fail`", "end": "`end`", "catch": "An entry of `catch`", "retry": "`retry`", "defaults": "`defaults`", "var": "A variable",
	"compensation": "`compensate`", "shared": "A shared compensation", "notify": "`notify`", "concurrency": "`concurrency`", "rate": "`rate`",
}

// Reference gives the reference page of the format as Markdown.
func Reference() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, `# Reference: workflow files

Made of the format's own description (`+"`make docs`"+`); [format.md](../format.md) explains it, and workflow.schema.json beside this
page tells it to editors. This version runs what has a stage up to %d; what has a later one is read, checked and drawn, and a
workflow that uses it is refused by name when it is started.

`, Stage)
	b.WriteString("Durations are written 250ms, 90s, 1h30m, 7d, 2w, or as ISO 8601. An expression stands bare; text and values may hold `${ expressions }`.\n")
	for _, of := range placeOrder {
		fmt.Fprintf(&b, "\n## %s\n", placeTitles[of])
		if of == "step" {
			actionTable(&b)
		}
		b.WriteString("\n| key | type | left out | stage | what it says | example |\n|---|---|---|---|---|---|\n")
		for i := range format[of] {
			e := &format[of][i]
			if of != "step" || !e.action {
				fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s |\n", e.name, cell(typeText(e)), cell(leftOut(e)), stage(e), cell(e.says+takers(e)), code(e.example))
			}
		}
	}
	return []byte(b.String())
}

// actionTable writes the actions, which are keys of a step like the others but of which each step has one.
func actionTable(b *strings.Builder) {
	b.WriteString("\nA step has exactly one of these actions:\n\n| action | type | stage | what it does | output | example |\n|---|---|---|---|---|---|\n")
	for i := range stepEntries {
		if e := &stepEntries[i]; e.action {
			fmt.Fprintf(b, "| `%s` | %s | %s | %s | %s | %s |\n", e.name, cell(typeText(e)), stage(e), cell(e.says), cell(e.output), code(e.example))
		}
	}
	b.WriteString("\nand these keys beside it:\n")
}

func stage(e *entry) string {
	if e.since == reserved {
		return "reserved"
	}
	return strconv.Itoa(max(1, e.since))
}

// takers says which actions take a key of a step.
func takers(e *entry) string {
	if e.actions == nil {
		return ""
	}
	return " On: " + strings.Join(e.actions, ", ") + "."
}

func leftOut(e *entry) string {
	switch {
	case e.required:
		return "required"
	case e.zero == "" || e.zero == `""`:
		return ""
	}
	return "`" + e.zero + "`"
}

// cell escapes what would end a cell.
func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

func code(s string) string { return "`" + cell(s) + "`" }

// anchor gives the name by which a page is entered at a title.
func anchor(title string) string {
	return strings.NewReplacer("`", "", ",", "", " ", "-").Replace(strings.ToLower(title))
}

// typeText says in words what the value of a key may be.
func typeText(e *entry) string {
	words := make([]string, len(e.shapes))
	for i := range e.shapes {
		words[i] = shapeText(&e.shapes[i])
	}
	return strings.Join(words, ", or ")
}

func shapeText(s *shape) string {
	items := make([]string, len(s.items))
	for i := range s.items {
		items[i] = shapeText(&s.items[i])
	}
	switch s.kind {
	case whole, decimal:
		return s.describe() + " from " + ShortNumber(s.min) + " to " + ShortNumber(s.max)
	case textValue:
		return "text with expressions"
	case value:
		if s.of == "object" {
			return "an object with expressions"
		}
		return "any value with expressions"
	case place:
		return "[an object](#" + anchor(placeTitles[s.of]) + ")"
	case list:
		return "a list of " + strings.Join(items, " or ")
	case table:
		return "a map of " + strings.Join(items, " or ")
	case anyText, name, stepKey, flag, duration, choice, percent, program, anything, object:
	}
	return s.describe()
}
