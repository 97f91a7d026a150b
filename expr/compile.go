package expr

import (
	"maps"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"
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
	kinds kinds
}

// at gives the byte offset of a node.
func (c *compiler) at(n ast.Node) place {
	from := n.Location().From
	if c.offsets != nil {
		return place(c.offsets[min(from, len(c.offsets)-1)])
	}
	return place(min(from, len(c.text)))
}

// expr compiles a node that stands depth levels deep.
func (c *compiler) expr(n ast.Node, depth int) (node, kinds, error) {
	if c.visited++; c.visited > maxNodes {
		return nil, 0, tooManyParts()
	}
	if depth > maxDepth {
		return nil, 0, failAt(int(c.at(n)), "the expression is nested deeper than %d levels", maxDepth)
	}
	c.deepest = max(c.deepest, depth)
	switch n := n.(type) {
	case *ast.NilNode:
		return &constant{c.at(n), nil}, isNull, nil
	case *ast.BoolNode:
		return &constant{c.at(n), n.Value}, isBool, nil
	case *ast.IntegerNode:
		return &constant{c.at(n), int64(n.Value)}, isNumeric, nil
	case *ast.FloatNode:
		return &constant{c.at(n), n.Value}, isNumeric, nil
	case *ast.StringNode:
		return &constant{c.at(n), n.Value}, isText, nil
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
func (c *compiler) structure(n ast.Node, depth int) (node, kinds, error) {
	switch n := n.(type) {
	case *ast.ConditionalNode:
		return c.condition(n, depth)
	case *ast.VariableDeclaratorNode:
		return c.let(n, depth)
	case *ast.SequenceNode:
		parts, last, err := c.all(n.Nodes, depth)
		return &sequence{c.at(n), parts}, last, err
	case *ast.ArrayNode:
		items, _, err := c.all(n.Nodes, depth+1)
		return &listOf{c.at(n), items}, isList, err
	case *ast.MapNode:
		return c.object(n, depth)
	case *ast.CallNode:
		return nil, 0, c.unknownCall(n)
	case *ast.BytesNode:
		return nil, 0, failAt(int(c.at(n)), "bytes have no place in JSON").instead("leave out the b before the quote")
	}
	return nil, 0, failAt(int(c.at(n)), "the expression cannot be read")
}

// all compiles several nodes and gives the kinds of the last.
func (c *compiler) all(list []ast.Node, depth int) (nodes []node, last kinds, err error) {
	nodes = make([]node, len(list))
	for i, n := range list {
		if nodes[i], last, err = c.expr(n, depth); err != nil {
			return nil, 0, err
		}
	}
	return nodes, last, nil
}

// must compiles a node whose value has to be of some of the kinds; what names the place in the message.
func (c *compiler) must(n ast.Node, depth int, allowed kinds, what string) (node, error) {
	compiled, k, err := c.expr(n, depth)
	if err != nil {
		return nil, err
	}
	if k&allowed == 0 {
		return nil, failAt(compiled.at(), "%s must be %s, not %s", what, allowed, k)
	}
	return compiled, nil
}

func (c *compiler) pointer(n *ast.PointerNode) (node, kinds, error) {
	switch n.Name {
	case "", "acc":
		return &element{c.at(n), n.Name}, unknown, nil
	case "index":
		return &element{c.at(n), n.Name}, isNumeric, nil
	}
	return nil, 0, failAt(int(c.at(n)), "unknown name #%s", n.Name).instead("write # or #index, or #acc in reduce()")
}

func (c *compiler) unary(n *ast.UnaryNode, depth int) (node, kinds, error) {
	if n.Operator == "not" || n.Operator == "!" {
		operand, err := c.must(n.Node, depth+1, isBool, "the operand of "+n.Operator)
		return &not{c.at(n), operand}, isBool, err
	}
	operand, err := c.must(n.Node, depth+1, isNumeric, "the operand of "+n.Operator)
	return &sign{c.at(n), n.Operator == "-", operand}, isNumeric, err
}

// binary compiles an operator. Its left side counts as no deeper, so that long sums and comparisons may be written.
func (c *compiler) binary(n *ast.BinaryNode, depth int) (node, kinds, error) {
	switch n.Operator {
	case "and", "&&", "or", "||":
		left, err := c.must(n.Left, depth, isBool, "the left side of "+n.Operator)
		if err != nil {
			return nil, 0, err
		}
		right, err := c.must(n.Right, depth+1, isBool, "the right side of "+n.Operator)
		return &logic{c.at(n), n.Operator == "or" || n.Operator == "||", left, right}, isBool, err
	case "??":
		return c.otherwise(n, depth, false)
	}
	op, ok := operators[n.Operator]
	if !ok {
		return nil, 0, failAt(int(c.at(n)), "unknown operator %s", n.Operator)
	}
	left, lk, err := c.expr(n.Left, depth)
	if err != nil {
		return nil, 0, err
	}
	right, rk, err := c.expr(n.Right, depth+1)
	if err != nil {
		return nil, 0, err
	}
	if err := op.check(int(c.at(n)), n.Operator, lk, rk); err != nil {
		return nil, 0, err
	}
	if s, ok := n.Right.(*ast.StringNode); ok && n.Operator == "matches" {
		p, err := compilePattern(s.Value)
		if f, ok := err.(*fault); ok { //nolint:errorlint // faults are never wrapped
			f.at = right.at()
			return nil, 0, f
		}
		return &matchesConstant{c.at(n), left, p}, isBool, nil
	}
	result := op.result
	if op.alike && result&isBool == 0 {
		result &= lk & rk
	}
	return &binary{c.at(n), left, right, op.apply}, result, nil
}

// check tells whether the kinds of both sides can work.
func (op operator) check(at int, name string, left, right kinds) error {
	for _, side := range []struct{ has, may kinds }{{left, op.left}, {right, op.right}} {
		if side.has&side.may == 0 {
			f := failAt(at, "%s needs %s, not %s", name, side.may, side.has)
			if name == "in" && side.has == isText {
				f.instead("write contains for a text")
			}
			return f
		}
	}
	if op.alike && left&right&op.left == 0 {
		return failAt(at, "%s cannot work on %s and %s", name, left&op.left, right&op.right).
			instead("convert one side with string(), int() or float()")
	}
	if (name == "==" || name == "!=") && left&right == 0 {
		return failAt(at, "%s and %s are never equal", left, right).instead("convert one side with string(), int() or float()")
	}
	return nil
}

// otherwise compiles ??. Safe tells whether another ?? stands behind it.
func (c *compiler) otherwise(n *ast.BinaryNode, depth int, safe bool) (node, kinds, error) {
	left, lk, err := c.optional(n.Left, depth)
	if err != nil {
		return nil, 0, err
	}
	compile := func(n ast.Node, depth int) (node, kinds, error) { return c.expr(n, depth) }
	if safe {
		compile = c.optional
	}
	right, rk, err := compile(n.Right, depth+1)
	return &otherwise{c.at(n), left, right}, lk&^isNull | rk, err
}

// optional compiles what stands before ??: a path in it reads null as null.
func (c *compiler) optional(n ast.Node, depth int) (node, kinds, error) {
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

func (c *compiler) condition(n *ast.ConditionalNode, depth int) (node, kinds, error) {
	test, err := c.must(n.Cond, depth+1, isBool, "the condition")
	if err != nil {
		return nil, 0, err
	}
	yes, yk, err := c.expr(n.Exp1, depth+1)
	if err != nil {
		return nil, 0, err
	}
	no, nk, err := c.expr(n.Exp2, depth)
	return &condition{place(test.at()), test, yes, no}, yk | nk, err
}

func (c *compiler) let(n *ast.VariableDeclaratorNode, depth int) (node, kinds, error) {
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
	return &let{c.at(n), slot, value, body}, bk, err
}

// declare checks that the name of a variable is free.
func (c *compiler) declare(n *ast.VariableDeclaratorNode) error {
	taken := isFunction(n.Name) || c.variable(n.Name) >= 0
	if c.names != nil && c.names.has(n.Name) {
		taken = true
	}
	if taken {
		return failAt(int(c.at(n)), "let cannot declare %s, which has a meaning already", n.Name).instead("choose another name")
	}
	return nil
}

// variable gives the slot of a variable in scope, or -1.
func (c *compiler) variable(name string) int {
	return slices.IndexFunc(c.lets, func(d declared) bool { return d.name == name })
}

func (c *compiler) object(n *ast.MapNode, depth int) (node, kinds, error) {
	o := &objectOf{place: c.at(n)}
	seen := make(map[string]bool)
	for _, p := range n.Pairs {
		pair, ok := p.(*ast.PairNode)
		if !ok {
			return nil, 0, failAt(int(c.at(n)), "the expression cannot be read")
		}
		if s, ok := pair.Key.(*ast.StringNode); ok {
			if seen[s.Value] {
				return nil, 0, failAt(int(c.at(s)), "the key %s is written twice", s.Value)
			}
			seen[s.Value] = true
		}
		key, err := c.must(pair.Key, depth+1, isText, "a key")
		if err != nil {
			return nil, 0, err
		}
		value, _, err := c.expr(pair.Value, depth+1)
		if err != nil {
			return nil, 0, err
		}
		o.keys, o.values = append(o.keys, key), append(o.values, value)
	}
	return o, isObject, nil
}

// isFunction tells whether the language has a function of this name.
func isFunction(name string) bool {
	_, plain := builtins[name]
	_, predicate := predicateFunctions[name]
	return plain || predicate || clockFunctions[name]
}

// builtin compiles a call of a function of the language.
func (c *compiler) builtin(n *ast.BuiltinNode, depth int) (node, kinds, error) {
	if f, ok := predicateFunctions[n.Name]; ok {
		return c.loop(n, f, depth)
	}
	b, ok := builtins[n.Name]
	if !ok {
		f := failAt(int(c.at(n)), "%s() is left out: expressions have no clock and give the same answer everywhere", n.Name)
		return nil, 0, f.instead("let a step give the time, or read it from the input")
	}
	if len(n.Arguments) < b.least || len(n.Arguments) > b.most {
		return nil, 0, failAt(int(c.at(n)), "%s() takes %s, not %d", n.Name, b.count(), len(n.Arguments))
	}
	args := make([]node, len(n.Arguments))
	for i, a := range n.Arguments {
		var err error
		what := "argument " + string(appendNumber(nil, int64(i+1))) + " of " + n.Name + "()"
		if args[i], err = c.must(a, depth+1, b.argument(i).kinds(), what); err != nil {
			return nil, 0, err
		}
	}
	return &call{c.at(n), n.Name, b, args}, b.gives, nil
}

// count says how many arguments a function takes.
func (b builtin) count() string {
	least, most := string(appendNumber(nil, int64(b.least))), string(appendNumber(nil, int64(b.most)))
	switch {
	case b.least == b.most && b.least == 1:
		return "one argument"
	case b.least == b.most:
		return least + " arguments"
	case b.most > maxNodes:
		return "at least one argument"
	}
	return least + " to " + most + " arguments"
}

// loop compiles a call of a function with a predicate.
func (c *compiler) loop(n *ast.BuiltinNode, f predicateFunction, depth int) (node, kinds, error) {
	l := &loop{place: c.at(n), name: n.Name, function: f}
	var err error
	if l.over, err = c.must(n.Arguments[0], depth+1, isList, "argument 1 of "+n.Name+"()"); err != nil {
		return nil, 0, err
	}
	for i, arg := range n.Arguments[1:] {
		if i == 1 {
			if l.extra, _, err = c.expr(arg, depth+1); err != nil {
				return nil, 0, err
			}
			continue
		}
		if p, ok := arg.(*ast.PredicateNode); ok {
			arg = p.Node
		}
		allowed := unknown
		if f.test {
			allowed = isBool
		}
		c.predicates++
		l.body, err = c.must(arg, depth+1, allowed, "the predicate of "+n.Name+"()")
		c.predicates--
		if err != nil {
			return nil, 0, err
		}
	}
	return l, f.gives, nil
}

// unknownCall is the fault of calling what the language does not have.
func (c *compiler) unknownCall(n *ast.CallNode) error {
	switch callee := n.Callee.(type) {
	case *ast.IdentifierNode:
		f := failAt(int(c.at(n)), "unknown function %s()", callee.Value)
		all := slices.Concat(slices.Collect(maps.Keys(builtins)), slices.Collect(maps.Keys(predicateFunctions)))
		if name := nearest(callee.Value, all); name != "" {
			f.instead("write %s()", name)
		}
		return f
	case *ast.MemberNode:
		if p, ok := callee.Property.(*ast.StringNode); ok && isFunction(p.Value) {
			return failAt(int(c.at(n)), "values have no methods").instead("write %s(value)", p.Value)
		}
	}
	return failAt(int(c.at(n)), "values have no methods").instead("leave out the parentheses to read a member")
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
