package expr

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/millrace-go/millrace/expr/internal/eval"
)

// Template is a JSON value whose texts may hold ${ expressions }. It is immutable and safe for concurrent use.
type Template struct {
	raw   json.RawMessage
	parts []part
	refs  []Ref
	needs []Ref
}

// part is a part of a template's JSON: as it stands, or a text that is evaluated.
type part struct {
	raw  []byte
	text *templateText
}

// templateText is a text with at least one expression.
type templateText struct {
	pointer string
	source  string
	pieces  []piece
}

// CompileTemplate reads a JSON value and compiles the expressions in its texts; keys hold none. Nil names allow any name.
// The error is an [*Error] whose Pointer names the text in raw and whose Offset is the place in that text.
func CompileTemplate(raw json.RawMessage, names *Names) (*Template, error) {
	if !json.Valid(raw) || !utf8.Valid(raw) {
		return nil, &Error{Offset: eval.Unplaced, Reason: "the template is not valid JSON"}
	}
	c := templateCompiler{names: names, refs: make(map[string]Ref), needs: make(map[string]Ref)}
	if err := c.value(eval.Trim(raw), "", 1); err != nil {
		return nil, err
	}
	c.flush()
	if len(c.parts) == 1 && string(c.parts[0].raw) == string(eval.Trim(raw)) {
		c.parts[0].raw = raw
	}
	return &Template{raw: raw, parts: c.parts, refs: found(c.refs), needs: found(c.needs)}, nil
}

// templateCompiler gathers the parts of a template.
type templateCompiler struct {
	names *Names
	parts []part
	raw   []byte // what stands since the last text
	refs  map[string]Ref
	needs map[string]Ref
}

// flush ends a part that stands as it is.
func (c *templateCompiler) flush() {
	if len(c.raw) > 0 {
		c.parts = append(c.parts, part{raw: c.raw})
		c.raw = nil
	}
}

// value compiles the value that raw is.
func (c *templateCompiler) value(raw []byte, pointer string, depth int) error {
	if depth > eval.DefaultDepth {
		return &Error{Offset: eval.Unplaced, Pointer: pointer, Reason: "the template is nested deeper than " +
			strconv.Itoa(eval.DefaultDepth) + " levels"}
	}
	switch raw[0] {
	case '"':
		return c.text(raw, pointer)
	case '[', '{':
		return c.container(raw, pointer, depth)
	}
	c.raw = append(c.raw, raw...)
	return nil
}

// container compiles an object or a list; the bytes between its values stand as they are.
func (c *templateCompiler) container(raw []byte, pointer string, depth int) error {
	done, index := 0, 0
	var bad error
	visit := func(name string, start, end int) {
		if bad == nil {
			c.raw = append(c.raw, raw[done:start]...)
			bad = c.value(raw[start:end], pointer+"/"+name, depth+1)
			done = end
		}
	}
	if raw[0] == '[' {
		eval.EachItem(raw, func(start, end int) {
			visit(strconv.Itoa(index), start, end)
			index++
		})
	} else {
		eval.EachMember(raw, func(key, keyEnd, start, end int) {
			name, err := c.key(raw[key:keyEnd], pointer)
			if err != nil && bad == nil {
				bad = err
			}
			visit(name, start, end)
		})
	}
	c.raw = append(c.raw, raw[done:]...)
	return bad
}

// pointerEscapes writes a key as a part of a JSON pointer.
var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// key gives a key as a part of a JSON pointer, and refuses an expression in it.
func (c *templateCompiler) key(raw []byte, pointer string) (string, error) {
	var key string
	if err := json.Unmarshal(raw, &key); err != nil {
		return "", &Error{Offset: eval.Unplaced, Pointer: pointer, Reason: "a key cannot be read"}
	}
	name := pointerEscapes.Replace(key)
	if at := strings.Index(key, "${"); at >= 0 {
		return "", &Error{
			Source: key, Offset: at, Pointer: pointer + "/" + name,
			Reason: "keys hold no expressions", Remedy: "make the whole object in one expression: ${ {(key): value} }",
		}
	}
	return name, nil
}

// text compiles a text. One without ${ stands as it is.
func (c *templateCompiler) text(raw []byte, pointer string) error {
	var s string
	if err := json.Unmarshal(raw, &s); err == nil && strings.Contains(s, "${") {
		return c.pieces(raw, s, pointer)
	}
	c.raw = append(c.raw, raw...)
	return nil
}

// pieces compiles a text that holds ${; raw is its JSON.
func (c *templateCompiler) pieces(raw []byte, s, pointer string) error {
	if _, ok := eval.Unquote(raw); !ok {
		return asTemplateError(eval.BadText(), s, pointer, 0)
	}
	pieces, err := split(s)
	if err != nil {
		return asTemplateError(err, s, pointer, 0)
	}
	if len(pieces) == 1 && !pieces[0].isExpr {
		c.raw = eval.AppendQuoted(c.raw, pieces[0].literal)
		return nil
	}
	for i := range pieces {
		p := &pieces[i]
		if !p.isExpr {
			continue
		}
		if p.program, err = compile(Source{Text: p.source}, c.names, Any); err != nil {
			return asTemplateError(err, s, pointer, p.at)
		}
		for _, r := range p.program.refs {
			note(c.refs, r)
		}
		for _, r := range p.program.needs {
			note(c.needs, r)
		}
	}
	c.flush()
	c.parts = append(c.parts, part{text: &templateText{pointer: pointer, source: s, pieces: pieces}})
	return nil
}

// asTemplateError turns a fault in an expression that starts at a place of a text into the error that a caller sees.
func asTemplateError(err error, source, pointer string, at int) error {
	f, ok := err.(*eval.Fault) //nolint:errorlint // faults are never wrapped
	if !ok {
		return err
	}
	e := &Error{Source: source, Offset: f.At, Pointer: pointer, Reason: f.Reason, Remedy: f.Remedy}
	if f.At >= 0 {
		e.Offset = min(f.At+at, len(source))
	}
	return e
}

// Raw gives the template as it was written. The caller does not change it.
func (t *Template) Raw() json.RawMessage { return t.raw }

// Refs gives the names that the template uses: the longest static paths, sorted, without repeats. The caller does not
// change them.
func (t *Template) Refs() []Ref { return t.refs }

// Needs gives the paths that must not be null when the template is evaluated, as [Program.Needs] does. The caller does not
// change them.
func (t *Template) Needs() []Ref { return t.needs }

// Static gives the value of a template that holds no expression, with $${ written out, and whether it is one. The caller
// does not change it.
func (t *Template) Static() (json.RawMessage, bool) {
	if len(t.parts) == 1 && t.parts[0].text == nil {
		return t.parts[0].raw, true
	}
	return nil, false
}

// Eval gives the value: members in the order written, and each text that is one single expression replaced by the value of
// it. The budget is for the whole. The caller does not change the result, which may share memory with the environment. The
// error is an [*Error].
func (t *Template) Eval(env Env, b Budget) (json.RawMessage, error) {
	e := eval.NewEvaluator(env, eval.Budget(b))
	if len(t.parts) == 1 {
		return t.parts[0].json(e)
	}
	var out []byte
	for i := range t.parts {
		raw, err := t.parts[i].json(e)
		if err != nil {
			return nil, err
		}
		if len(out)+len(raw) > e.Budget.Bytes {
			return nil, t.parts[i].tooLarge(e)
		}
		out = append(out, raw...)
	}
	return out, nil
}

// Text gives the value as text, for places that hold text only: a text as it is, a number or a boolean as its exact text,
// null as nothing, an object or a list as JSON. The error is an [*Error].
func (t *Template) Text(env Env, b Budget) (string, error) {
	e := eval.NewEvaluator(env, eval.Budget(b))
	if len(t.parts) == 1 && t.parts[0].text != nil {
		return t.parts[0].text.plain(e)
	}
	raw, err := t.Eval(env, b)
	if err != nil {
		return "", err
	}
	v, err := eval.FromJSON(raw)
	if err != nil {
		return "", asError(err, "")
	}
	s, err := e.Plain(v)
	return s, asError(err, "")
}

// json gives a part as JSON.
func (p *part) json(e *eval.Evaluator) ([]byte, error) {
	if p.text == nil {
		if len(p.raw) > e.Budget.Bytes {
			return nil, p.tooLarge(e)
		}
		return p.raw, nil
	}
	return p.text.json(e)
}

// tooLarge is the error of a template whose result outgrows the budget at this part.
func (p *part) tooLarge(e *eval.Evaluator) error {
	if p.text == nil {
		return asError(e.TooLarge(), "")
	}
	return asTemplateError(e.TooLarge(), p.text.source, p.text.pointer, 0)
}

func (t *templateText) json(e *eval.Evaluator) ([]byte, error) {
	if len(t.pieces) > 1 {
		s, err := t.plain(e)
		if err != nil {
			return nil, err
		}
		return eval.AppendQuoted(make([]byte, 0, len(s)+2), s), nil
	}
	return evaluatePiece(e, t, &t.pieces[0], t.pieces[0].program.json)
}

// plain joins the pieces as text.
func (t *templateText) plain(e *eval.Evaluator) (string, error) {
	if len(t.pieces) == 1 {
		return evaluatePiece(e, t, &t.pieces[0], t.pieces[0].program.text)
	}
	var out strings.Builder
	for i := range t.pieces {
		p := &t.pieces[i]
		s := p.literal
		if p.isExpr {
			var err error
			if s, err = evaluatePiece(e, t, p, p.program.text); err != nil {
				return "", err
			}
		}
		if out.Len()+len(s) > e.Budget.Bytes {
			return "", asTemplateError(e.TooLarge(), t.source, t.pointer, p.at)
		}
		out.WriteString(s)
	}
	return out.String(), nil
}

// evaluatePiece evaluates one expression of a text.
func evaluatePiece[T any](e *eval.Evaluator, t *templateText, p *piece, f func(*eval.Evaluator) (T, error)) (v T, err error) {
	defer func() {
		if recover() != nil {
			var none T
			v, err = none, &Error{
				Source: t.source, Offset: p.at, Pointer: t.pointer, Reason: "the expression cannot be evaluated",
			}
		}
	}()
	if v, err = f(e); err != nil {
		var none T
		return none, asTemplateError(err, t.source, t.pointer, p.at)
	}
	return v, nil
}
