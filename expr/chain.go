package expr

import (
	"slices"

	"github.com/expr-lang/expr/ast"

	"github.com/millrace-go/millrace/expr/internal/eval"
)

// chain compiles a name or a value with the members, indexes and slices read from it. Safe tells whether ?? stands behind.
func (c *compiler) chain(n ast.Node, depth int, safe bool) (eval.Node, eval.Kinds, error) {
	base, links := unlink(n)
	ch := &eval.Chain{Place: c.at(n), Safe: safe}
	if len(links) > maxDepth {
		return nil, 0, eval.FailAt(int(c.at(n)), "the expression reads more than %d levels of members", maxDepth)
	}
	for _, l := range links {
		s, err := c.step(l, depth)
		if err != nil {
			return nil, 0, err
		}
		ch.Steps = append(ch.Steps, s)
	}
	ident, ok := base.(*ast.IdentifierNode)
	if !ok {
		var err error
		var k eval.Kinds
		if ch.Base, k, err = c.expr(base, depth+1); err != nil {
			return nil, 0, err
		}
		return ch, eval.Unknown, checkBase(ch, k)
	}
	return c.named(ident, ch)
}

// checkBase refuses members of what can have none.
func checkBase(ch *eval.Chain, k eval.Kinds) error {
	if k&(eval.IsObject|eval.IsList|eval.IsText) == 0 && !(ch.Safe && k == eval.IsNull) {
		return eval.FailAt(ch.Steps[0].At, "%s has no members", k)
	}
	return nil
}

// named compiles a chain whose base is an identifier: a variable, the element in hand, or a name of the environment.
func (c *compiler) named(ident *ast.IdentifierNode, ch *eval.Chain) (eval.Node, eval.Kinds, error) {
	at, name := c.at(ident), ident.Value
	ch.Name = name
	if slot := c.variable(name); slot >= 0 {
		ch.Base = &eval.Variable{Place: at, Slot: slot}
		if len(ch.Steps) == 0 {
			return ch.Base, c.lets[slot].kinds, nil
		}
		return ch, eval.Unknown, checkBase(ch, c.lets[slot].kinds)
	}
	if name == "it" && c.predicates > 0 && (c.names == nil || !c.names.has("it")) {
		ch.Base = &eval.Element{Place: at}
		return ch, eval.Unknown, nil
	}
	ch.Base = &eval.Root{Place: at, Name: name}
	path, ats := Ref{name}, []int{int(at)}
	for _, s := range ch.Steps {
		if s.Kind != eval.ByKey && s.Kind != eval.ByIndex {
			break
		}
		path = append(path, constantText(&s))
		ats = append(ats, s.At)
	}
	further := nothing
	if len(path) <= len(ch.Steps) {
		further = something
		if ch.Steps[len(path)-1].Kind == eval.BySlice {
			further = sliced
		}
	}
	if err := c.checkName(path, ats, further); err != nil {
		return nil, 0, err
	}
	note(c.refs, path)
	for i, s := range ch.Steps {
		if !s.Optional && !ch.Safe && i < len(path) {
			note(c.needs, path[:i+1])
		}
	}
	return ch, eval.Unknown, nil
}

// constantText gives a constant step as it stands in a Ref.
func constantText(s *eval.Step) string {
	if s.Kind == eval.ByKey {
		return s.Key
	}
	return string(eval.AppendNumber(nil, s.Index))
}

// unlink takes the members, indexes and slices off a value, in the order in which they are read.
func unlink(n ast.Node) (base ast.Node, links []ast.Node) {
	for {
		switch m := n.(type) {
		case *ast.ChainNode:
			n = m.Node
			continue
		case *ast.MemberNode:
			links = append(links, m)
			n = m.Node
			continue
		case *ast.SliceNode:
			links = append(links, m)
			n = m.Node
			continue
		}
		slices.Reverse(links)
		return n, links
	}
}

// step compiles one member, index or slice.
func (c *compiler) step(n ast.Node, depth int) (s eval.Step, err error) {
	if c.visited++; c.visited > maxNodes {
		return s, tooManyParts()
	}
	s.At = int(c.at(n))
	m, ok := n.(*ast.MemberNode)
	if !ok {
		return c.sliceStep(n.(*ast.SliceNode), s, depth)
	}
	s.Optional = m.Optional
	switch p := m.Property.(type) {
	case *ast.StringNode:
		s.At, s.Kind, s.Key = int(c.at(p)), eval.ByKey, p.Value
		return s, nil
	case *ast.IntegerNode:
		s.Kind, s.Index = eval.ByIndex, int64(p.Value)
		return s, nil
	case *ast.UnaryNode:
		if i, ok := p.Node.(*ast.IntegerNode); ok && p.Operator == "-" {
			s.Kind, s.Index = eval.ByIndex, -int64(i.Value)
			return s, nil
		}
	}
	s.Kind = eval.ByValue
	s.Expr, err = c.must(m.Property, depth+1, eval.IsNumeric|eval.IsText, "what stands in [ ]")
	return s, err
}

func (c *compiler) sliceStep(n *ast.SliceNode, s eval.Step, depth int) (eval.Step, error) {
	s.Kind = eval.BySlice
	var err error
	if n.From != nil {
		if s.From, err = c.must(n.From, depth+1, eval.IsNumeric, "an end of a slice"); err != nil {
			return s, err
		}
	}
	if n.To != nil {
		s.To, err = c.must(n.To, depth+1, eval.IsNumeric, "an end of a slice")
	}
	return s, err
}
