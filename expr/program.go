package expr

import (
	"encoding/json"
	"slices"

	"github.com/millrace-go/millrace/expr/internal/eval"
)

// Program is one compiled expression. It is immutable and safe for concurrent use.
type Program struct {
	source Source
	root   eval.Node
	refs   []Ref
	needs  []Ref
	depth  int
}

// constantNodes is the budget for evaluating a constant program when it is compiled.
const constantNodes = 10_000

// Compile reads a program, checks its kinds and names, and, when it names nothing, its value. Nil names allow any name.
// The error is an [*Error].
func Compile(src Source, names *Names, want Kind) (*Program, error) {
	if src.Language != "" && src.Language != "expr" {
		f := eval.FailAt(eval.Unplaced, "unknown expression language %q", src.Language).Instead("leave language out, or write expr")
		return nil, asError(f, src.Text)
	}
	p, err := compile(src, names, want)
	if err != nil {
		return nil, asError(err, src.Text)
	}
	return p, nil
}

func compile(src Source, names *Names, want Kind) (*Program, error) {
	c := &compiler{
		text: src.Text, offsets: byteOffsets(src.Text), names: names,
		refs: make(map[string]Ref), needs: make(map[string]Ref),
	}
	tree, err := parse(src.Text)
	if err != nil {
		return nil, c.unread(err)
	}
	root, k, err := c.expr(tree, 1)
	if err != nil {
		return nil, err
	}
	if k&wanted(want) == 0 {
		return nil, misses(root, want, k)
	}
	p := &Program{source: src, root: root, refs: found(c.refs), needs: found(c.needs), depth: c.deepest}
	if len(p.refs) == 0 {
		return p, p.checkConstant(want)
	}
	return p, nil
}

// wanted gives the kinds that a program may give.
func wanted(k Kind) eval.Kinds {
	switch k {
	case Bool:
		return eval.IsBool
	case Number:
		return eval.IsNumeric
	case List:
		return eval.IsList
	case Any:
	}
	return eval.Unknown
}

// misses is the fault of a value that is not of the kind wanted.
func misses(n eval.Node, want Kind, has eval.Kinds) *eval.Fault {
	f := eval.FailAt(n.At(), "must give %s, not %s", wanted(want), has)
	switch want {
	case Bool:
		f = f.Instead("compare it with something, for example > 0 or != nil")
	case List:
		f = f.Instead("write a list, or ?? [] behind a value that may be null")
	case Any, Number:
	}
	return f
}

// checkConstant evaluates a program that names nothing, so that 1/0 is found when it is read.
func (p *Program) checkConstant(want Kind) error {
	e := eval.NewEvaluator(nil, eval.Budget{Nodes: constantNodes})
	err := p.as(e, want)
	if f, ok := err.(*eval.Fault); ok && f.Limit { //nolint:errorlint // faults are never wrapped
		return nil
	}
	return err
}

// as evaluates the program for what is wanted of it.
func (p *Program) as(e *eval.Evaluator, want Kind) (err error) {
	switch want {
	case Bool:
		_, err = p.bool(e)
	case Number:
		_, err = p.int(e)
	case List:
		_, err = p.list(e)
	default:
		_, err = p.json(e)
	}
	return err
}

// Source gives what the program was compiled from.
func (p *Program) Source() Source { return p.source }

// Refs gives the names that the program uses: the longest static paths, sorted, without repeats. The caller does not
// change them.
func (p *Program) Refs() []Ref { return p.refs }

// Needs gives the paths that must not be null when the program is evaluated, sorted, without repeats: those from which a
// member is read without ?. and not before ??. The caller does not change them.
func (p *Program) Needs() []Ref { return p.needs }

// Eval gives the value as JSON. A path alone gives the very bytes of that part of the environment, so the caller does not
// change them. The error is an [*Error].
func (p *Program) Eval(env Env, b Budget) (json.RawMessage, error) {
	return evaluate(p, env, b, p.json)
}

// Bool gives a boolean; any other value is an error, never false. The error is an [*Error].
func (p *Program) Bool(env Env, b Budget) (bool, error) { return evaluate(p, env, b, p.bool) }

// Int gives a whole number of zero or more; 2.0 and 4/2 are whole. The error is an [*Error].
func (p *Program) Int(env Env, b Budget) (int, error) { return evaluate(p, env, b, p.int) }

// List gives the items of a list as JSON; those that come from the environment keep their very bytes. The error is an
// [*Error].
func (p *Program) List(env Env, b Budget) ([]json.RawMessage, error) {
	return evaluate(p, env, b, p.list)
}

// evaluate is one evaluation with what surrounds it.
func evaluate[T any](p *Program, env Env, b Budget, f func(*eval.Evaluator) (T, error)) (v T, err error) {
	defer func() {
		if recover() != nil {
			var none T
			v, err = none, &Error{Source: p.source.Text, Offset: eval.Unplaced, Reason: "the expression cannot be evaluated"}
		}
	}()
	v, err = f(eval.NewEvaluator(env, eval.Budget(b)))
	if err != nil {
		var none T
		return none, asError(err, p.source.Text)
	}
	return v, nil
}

// asError turns a fault into the error that a caller sees.
func asError(err error, source string) error {
	if f, ok := err.(*eval.Fault); ok { //nolint:errorlint // faults are never wrapped
		return &Error{Source: source, Offset: min(f.At, len(source)), Reason: f.Reason, Remedy: f.Remedy}
	}
	return err
}

// placed gives a fault without a place that of the whole program.
func (p *Program) placed(err error) error {
	if f, ok := err.(*eval.Fault); ok && f.At == eval.Unplaced { //nolint:errorlint // faults are never wrapped
		f.At = p.root.At()
	}
	return err
}

// run evaluates the program.
func (p *Program) run(e *eval.Evaluator) (any, error) {
	if p.depth > e.Budget.Depth {
		return nil, p.placed(e.TooDeep())
	}
	return e.Run(p.root)
}

func (p *Program) json(e *eval.Evaluator) (json.RawMessage, error) {
	v, err := p.run(e)
	if err != nil {
		return nil, err
	}
	raw, err := e.Encode(v)
	return raw, p.placed(err)
}

func (p *Program) text(e *eval.Evaluator) (string, error) {
	v, err := p.run(e)
	if err != nil {
		return "", err
	}
	s, err := e.Plain(v)
	return s, p.placed(err)
}

func (p *Program) bool(e *eval.Evaluator) (bool, error) {
	v, err := p.run(e)
	if err != nil {
		return false, err
	}
	b, ok := v.(bool)
	if !ok {
		return false, misses(p.root, Bool, eval.KindOf(v))
	}
	return b, nil
}

func (p *Program) int(e *eval.Evaluator) (int, error) {
	v, err := p.run(e)
	if err != nil {
		return 0, err
	}
	if eval.KindOf(v) != eval.IsNumeric {
		return 0, misses(p.root, Number, eval.KindOf(v))
	}
	i, err := eval.WholeArgument(v)
	if err != nil {
		return 0, p.placed(err)
	}
	if i < 0 || i != int64(int(i)) {
		return 0, eval.FailAt(p.root.At(), "must be a whole number of zero or more")
	}
	return int(i), nil
}

func (p *Program) list(e *eval.Evaluator) ([]json.RawMessage, error) {
	v, err := p.run(e)
	if err != nil {
		return nil, err
	}
	a, ok := v.(*eval.Array)
	if !ok {
		return nil, misses(p.root, List, eval.KindOf(v))
	}
	items, err := e.Items(a)
	if err != nil {
		return nil, p.placed(err)
	}
	out := make([]json.RawMessage, len(items))
	size := 0
	for i, item := range items {
		raw, err := e.Encode(item)
		if err != nil {
			return nil, p.placed(err)
		}
		if size += len(raw); size > e.Budget.Bytes {
			return nil, p.placed(e.TooLarge())
		}
		out[i] = slices.Clip(raw)
	}
	return out, nil
}
