package expr

import (
	"maps"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"

	"github.com/millrace-go/millrace/expr/internal/eval"
)

// compiler turns the library's tree into nodes and checks kinds and names on the way.
type compiler struct {
	text       string
	offsets    []int // byte offsets of characters; nil when they are the same
	names      *Names
	lets       []declared
	predicates int // how many predicates are around
	visited    int
	deepest    int
	refs       map[string]Ref
	needs      map[string]Ref
}

// declared is a variable in scope; its place in the list is its slot.
type declared struct {
	name  string
	kinds eval.Kinds
}

// at gives the byte offset of a node.
func (c *compiler) at(n ast.Node) eval.Place {
	from := n.Location().From
	if c.offsets != nil {
		return eval.Place(c.offsets[min(from, len(c.offsets)-1)])
	}
	return eval.Place(min(from, len(c.text)))
}

// expr compiles a node that stands depth levels deep.
func (c *compiler) expr(n ast.Node, depth int) (eval.Node, eval.Kinds, error) {
	if c.visited++; c.visited > maxNodes {
		return nil, 0, tooManyParts()
	}
	if depth > maxDepth {
		return nil, 0, eval.FailAt(int(c.at(n)), "the expression is nested deeper than %d levels", maxDepth)
	}
	c.deepest = max(c.deepest, depth)
	switch n := n.(type) {
	case *ast.NilNode:
		return &eval.Constant{Place: c.at(n), Value: nil}, eval.IsNull, nil
	case *ast.BoolNode:
		return &eval.Constant{Place: c.at(n), Value: n.Value}, eval.IsBool, nil
	case *ast.IntegerNode:
		return &eval.Constant{Place: c.at(n), Value: int64(n.Value)}, eval.IsNumeric, nil
	case *ast.FloatNode:
		return &eval.Constant{Place: c.at(n), Value: n.Value}, eval.IsNumeric, nil
	case *ast.StringNode:
		return &eval.Constant{Place: c.at(n), Value: n.Value}, eval.IsText, nil
	case *ast.PointerNode:
		return c.pointer(n)
	case *ast.IdentifierNode, *ast.MemberNode, *ast.ChainNode, *ast.SliceNode:
		return c.chain(n, depth, false)
	case *ast.UnaryNode:
		return c.unary(n, depth)
	case *ast.BinaryNode:
		return c.binary(n, depth)
	case *ast.BuiltinNode:
		return c.builtin(n, depth)
	}
	return c.structure(n, depth)
}

// structure compiles the nodes that hold others without computing.
func (c *compiler) structure(n ast.Node, depth int) (eval.Node, eval.Kinds, error) {
	switch n := n.(type) {
	case *ast.ConditionalNode:
		return c.condition(n, depth)
	case *ast.VariableDeclaratorNode:
		return c.let(n, depth)
	case *ast.SequenceNode:
		parts, last, err := c.all(n.Nodes, depth)
		return &eval.Sequence{Place: c.at(n), Parts: parts}, last, err
	case *ast.ArrayNode:
		items, _, err := c.all(n.Nodes, depth+1)
		return &eval.ListOf{Place: c.at(n), Items: items}, eval.IsList, err
	case *ast.MapNode:
		return c.object(n, depth)
	case *ast.CallNode:
		return nil, 0, c.unknownCall(n)
	case *ast.BytesNode:
		return nil, 0, eval.FailAt(int(c.at(n)), "bytes have no place in JSON").Instead("leave out the b before the quote")
	}
	return nil, 0, c.unreadable(n)
}

// unreadable is the fault of a part that the library's parser has learned since.
func (c *compiler) unreadable(n ast.Node) error {
	return eval.FailAt(int(c.at(n)), "the expression cannot be read")
}

// all compiles several nodes and gives the kinds of the last.
func (c *compiler) all(list []ast.Node, depth int) (nodes []eval.Node, last eval.Kinds, err error) {
	nodes = make([]eval.Node, len(list))
	for i, n := range list {
		if nodes[i], last, err = c.expr(n, depth); err != nil {
			return nil, 0, err
		}
	}
	return nodes, last, nil
}

// must compiles a node whose value has to be of some of the kinds; what names the place in the message.
func (c *compiler) must(n ast.Node, depth int, allowed eval.Kinds, what string) (eval.Node, error) {
	compiled, k, err := c.expr(n, depth)
	if err != nil {
		return nil, err
	}
	if k&allowed == 0 {
		return nil, eval.FailAt(compiled.At(), "%s must be %s, not %s", what, allowed, k)
	}
	return compiled, nil
}

func (c *compiler) pointer(n *ast.PointerNode) (eval.Node, eval.Kinds, error) {
	switch n.Name {
	case "", "acc":
		return &eval.Element{Place: c.at(n), Name: n.Name}, eval.Unknown, nil
	case "index":
		return &eval.Element{Place: c.at(n), Name: n.Name}, eval.IsNumeric, nil
	}
	return nil, 0, eval.FailAt(int(c.at(n)), "unknown name #%s", n.Name).Instead("write # or #index, or #acc in reduce()")
}

func (c *compiler) unary(n *ast.UnaryNode, depth int) (eval.Node, eval.Kinds, error) {
	if n.Operator == "not" || n.Operator == "!" {
		operand, err := c.must(n.Node, depth+1, eval.IsBool, "the operand of "+n.Operator)
		return &eval.Not{Place: c.at(n), Operand: operand}, eval.IsBool, err
	}
	operand, err := c.must(n.Node, depth+1, eval.IsNumeric, "the operand of "+n.Operator)
	return &eval.Sign{Place: c.at(n), Minus: n.Operator == "-", Operand: operand}, eval.IsNumeric, err
}

// binary compiles an operator. Its left side counts as no deeper, so that long sums and comparisons may be written.
func (c *compiler) binary(n *ast.BinaryNode, depth int) (eval.Node, eval.Kinds, error) {
	switch n.Operator {
	case "and", "&&", "or", "||":
		left, err := c.must(n.Left, depth, eval.IsBool, "the left side of "+n.Operator)
		if err != nil {
			return nil, 0, err
		}
		right, err := c.must(n.Right, depth+1, eval.IsBool, "the right side of "+n.Operator)
		return &eval.Logic{Place: c.at(n), Or: n.Operator == "or" || n.Operator == "||", Left: left, Right: right}, eval.IsBool, err
	case "??":
		return c.otherwise(n, depth, false)
	}
	op, ok := eval.Operators[n.Operator]
	if !ok {
		return nil, 0, c.unreadable(n)
	}
	left, lk, err := c.expr(n.Left, depth)
	if err != nil {
		return nil, 0, err
	}
	right, rk, err := c.expr(n.Right, depth+1)
	if err != nil {
		return nil, 0, err
	}
	if err := checkSides(op, int(c.at(n)), n.Operator, lk, rk); err != nil {
		return nil, 0, err
	}
	if s, ok := n.Right.(*ast.StringNode); ok && n.Operator == "matches" {
		p, err := eval.CompilePattern(s.Value)
		if f, ok := err.(*eval.Fault); ok { //nolint:errorlint // faults are never wrapped
			f.At = right.At()
			return nil, 0, f
		}
		return &eval.MatchesConstant{Place: c.at(n), Left: left, Pattern: p}, eval.IsBool, nil
	}
	result := op.Result
	if op.Alike && result&eval.IsBool == 0 {
		result &= lk & rk
	}
	return &eval.Binary{Place: c.at(n), Left: left, Right: right, Apply: op.Apply}, result, nil
}

// checkSides tells whether the kinds of both sides can work.
func checkSides(op eval.Operator, at int, name string, left, right eval.Kinds) error {
	for _, side := range []struct{ has, may eval.Kinds }{{left, op.Left}, {right, op.Right}} {
		if side.has&side.may == 0 {
			f := eval.FailAt(at, "%s needs %s, not %s", name, side.may, side.has)
			if name == "in" && side.has == eval.IsText {
				f = f.Instead("write contains for a text")
			}
			return f
		}
	}
	if op.Alike && left&right&op.Left == 0 {
		return eval.FailAt(at, "%s cannot work on %s and %s", name, left&op.Left, right&op.Right).
			Instead("convert one side with string(), int() or float()")
	}
	if (name == "==" || name == "!=") && left&right == 0 {
		return eval.FailAt(at, "%s and %s are never equal", left, right).Instead("convert one side with string(), int() or float()")
	}
	return nil
}

// otherwise compiles ??. Safe tells whether another ?? stands behind it.
func (c *compiler) otherwise(n *ast.BinaryNode, depth int, safe bool) (eval.Node, eval.Kinds, error) {
	left, lk, err := c.optional(n.Left, depth)
	if err != nil {
		return nil, 0, err
	}
	compile := func(n ast.Node, depth int) (eval.Node, eval.Kinds, error) { return c.expr(n, depth) }
	if safe {
		compile = c.optional
	}
	right, rk, err := compile(n.Right, depth+1)
	return &eval.Otherwise{Place: c.at(n), Left: left, Right: right}, lk&^eval.IsNull | rk, err
}

// optional compiles what stands before ??: a path in it reads null as null.
func (c *compiler) optional(n ast.Node, depth int) (eval.Node, eval.Kinds, error) {
	switch n := n.(type) {
	case *ast.IdentifierNode, *ast.MemberNode, *ast.ChainNode, *ast.SliceNode:
		return c.chain(n, depth, true)
	case *ast.BinaryNode:
		if n.Operator == "??" {
			return c.otherwise(n, depth, true)
		}
	}
	return c.expr(n, depth)
}

func (c *compiler) condition(n *ast.ConditionalNode, depth int) (eval.Node, eval.Kinds, error) {
	test, err := c.must(n.Cond, depth+1, eval.IsBool, "the condition")
	if err != nil {
		return nil, 0, err
	}
	yes, yk, err := c.expr(n.Exp1, depth+1)
	if err != nil {
		return nil, 0, err
	}
	no, nk, err := c.expr(n.Exp2, depth)
	return &eval.Condition{Place: eval.Place(test.At()), Test: test, Yes: yes, No: no}, yk | nk, err
}

func (c *compiler) let(n *ast.VariableDeclaratorNode, depth int) (eval.Node, eval.Kinds, error) {
	if err := c.declare(n); err != nil {
		return nil, 0, err
	}
	value, vk, err := c.expr(n.Value, depth+1)
	if err != nil {
		return nil, 0, err
	}
	slot := len(c.lets)
	c.lets = append(c.lets, declared{n.Name, vk})
	body, bk, err := c.expr(n.Expr, depth)
	c.lets = c.lets[:slot]
	return &eval.Let{Place: c.at(n), Slot: slot, Value: value, Body: body}, bk, err
}

// declare checks that the name of a variable is free.
func (c *compiler) declare(n *ast.VariableDeclaratorNode) error {
	taken := isFunction(n.Name) || c.variable(n.Name) >= 0
	if c.names != nil && c.names.has(n.Name) {
		taken = true
	}
	if taken {
		return eval.FailAt(int(c.at(n)), "let cannot declare %s, which has a meaning already", n.Name).Instead("choose another name")
	}
	return nil
}

// variable gives the slot of a variable in scope, or -1.
func (c *compiler) variable(name string) int {
	return slices.IndexFunc(c.lets, func(d declared) bool { return d.name == name })
}

func (c *compiler) object(n *ast.MapNode, depth int) (eval.Node, eval.Kinds, error) {
	o := &eval.ObjectOf{Place: c.at(n)}
	seen := make(map[string]bool)
	for _, p := range n.Pairs {
		pair, ok := p.(*ast.PairNode)
		if !ok {
			return nil, 0, c.unreadable(n)
		}
		if s, ok := pair.Key.(*ast.StringNode); ok {
			if seen[s.Value] {
				return nil, 0, eval.FailAt(int(c.at(s)), "the key %s is written twice", s.Value)
			}
			seen[s.Value] = true
		}
		key, err := c.must(pair.Key, depth+1, eval.IsText, "a key")
		if err != nil {
			return nil, 0, err
		}
		value, _, err := c.expr(pair.Value, depth+1)
		if err != nil {
			return nil, 0, err
		}
		o.Keys, o.Values = append(o.Keys, key), append(o.Values, value)
	}
	return o, eval.IsObject, nil
}

// isFunction tells whether the language has a function of this name.
func isFunction(name string) bool {
	_, plain := eval.Builtins[name]
	_, predicate := eval.PredicateFunctions[name]
	return plain || predicate || eval.ClockFunctions[name]
}

// builtin compiles a call of a function of the language.
func (c *compiler) builtin(n *ast.BuiltinNode, depth int) (eval.Node, eval.Kinds, error) {
	if f, ok := eval.PredicateFunctions[n.Name]; ok {
		return c.loop(n, f, depth)
	}
	b, ok := eval.Builtins[n.Name]
	if !ok {
		f := eval.FailAt(int(c.at(n)), "%s() is left out: expressions have no clock and give the same answer everywhere", n.Name)
		return nil, 0, f.Instead("let a step give the time, or read it from the input")
	}
	if len(n.Arguments) < b.Least || len(n.Arguments) > b.Most {
		return nil, 0, eval.FailAt(int(c.at(n)), "%s() takes %s, not %d", n.Name, argumentCount(b), len(n.Arguments))
	}
	args := make([]eval.Node, len(n.Arguments))
	for i, a := range n.Arguments {
		var err error
		what := "argument " + string(eval.AppendNumber(nil, int64(i+1))) + " of " + n.Name + "()"
		if args[i], err = c.must(a, depth+1, b.Argument(i).Kinds(), what); err != nil {
			return nil, 0, err
		}
	}
	return &eval.Call{Place: c.at(n), Name: n.Name, Builtin: b, Args: args}, b.Gives, nil
}

// argumentCount says how many arguments a function takes.
func argumentCount(b eval.Builtin) string {
	least, most := string(eval.AppendNumber(nil, int64(b.Least))), string(eval.AppendNumber(nil, int64(b.Most)))
	switch {
	case b.Least == b.Most && b.Least == 1:
		return "one argument"
	case b.Least == b.Most:
		return least + " arguments"
	case b.Most > maxNodes:
		return "at least one argument"
	}
	return least + " to " + most + " arguments"
}

// loop compiles a call of a function with a predicate.
func (c *compiler) loop(n *ast.BuiltinNode, f eval.PredicateFunction, depth int) (eval.Node, eval.Kinds, error) {
	l := &eval.Loop{Place: c.at(n), Name: n.Name, Function: f}
	var err error
	if l.Over, err = c.must(n.Arguments[0], depth+1, eval.IsList, "argument 1 of "+n.Name+"()"); err != nil {
		return nil, 0, err
	}
	for i, arg := range n.Arguments[1:] {
		if i == 1 {
			if l.Extra, _, err = c.expr(arg, depth+1); err != nil {
				return nil, 0, err
			}
			continue
		}
		if p, ok := arg.(*ast.PredicateNode); ok {
			arg = p.Node
		}
		allowed := eval.Unknown
		if f.Test {
			allowed = eval.IsBool
		}
		c.predicates++
		l.Body, err = c.must(arg, depth+1, allowed, "the predicate of "+n.Name+"()")
		c.predicates--
		if err != nil {
			return nil, 0, err
		}
	}
	return l, f.Gives, nil
}

// unknownCall is the fault of calling what the language does not have.
func (c *compiler) unknownCall(n *ast.CallNode) error {
	switch callee := n.Callee.(type) {
	case *ast.IdentifierNode:
		f := eval.FailAt(int(c.at(n)), "unknown function %s()", callee.Value)
		all := slices.Concat(slices.Collect(maps.Keys(eval.Builtins)), slices.Collect(maps.Keys(eval.PredicateFunctions)))
		if name := nearest(callee.Value, all); name != "" {
			f = f.Instead("write %s()", name)
		}
		return f
	case *ast.MemberNode:
		if p, ok := callee.Property.(*ast.StringNode); ok && isFunction(p.Value) {
			return eval.FailAt(int(c.at(n)), "values have no methods").Instead("write %s(value)", p.Value)
		}
	}
	return eval.FailAt(int(c.at(n)), "values have no methods").Instead("leave out the parentheses to read a member")
}

// found gives the refs gathered, in order.
func found(set map[string]Ref) []Ref {
	refs := slices.Collect(maps.Values(set))
	slices.SortFunc(refs, slices.Compare[Ref])
	return refs
}

// note adds a ref to a set.
func note(set map[string]Ref, path Ref) {
	key := strings.Join(path, "\x00")
	if _, ok := set[key]; !ok {
		set[key] = slices.Clone(path)
	}
}
