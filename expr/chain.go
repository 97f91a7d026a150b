package expr

import (
	"slices"

	"github.com/expr-lang/expr/ast"
)

// chain compiles a name or a value with the members, indexes and slices read from it. Safe tells whether ?? stands behind.
func (c *compiler) chain(n ast.Node, depth int, safe bool) (node, kinds, error) {
	base, links := unlink(n)
	ch := &chain{place: c.at(n), safe: safe}
	if len(links) > maxDepth {
		return nil, 0, failAt(int(c.at(n)), "the expression reads more than %d levels of members", maxDepth)
	}
	for _, l := range links {
		s, err := c.step(l, depth)
		if err != nil {
			return nil, 0, err
		}
		ch.steps = append(ch.steps, s)
	}
	ident, ok := base.(*ast.IdentifierNode)
	if !ok {
		var err error
		var k kinds
		if ch.base, k, err = c.expr(base, depth+1); err != nil {
			return nil, 0, err
		}
		return ch, unknown, checkBase(ch, k)
	}
	return c.named(ident, ch)
}

// checkBase refuses members of what can have none.
func checkBase(ch *chain, k kinds) error {
	if k&(isObject|isList|isText) == 0 && !(ch.safe && k == isNull) {
		return failAt(ch.steps[0].at, "%s has no members", k)
	}
	return nil
}

// named compiles a chain whose base is an identifier: a variable, the element in hand, or a name of the environment.
func (c *compiler) named(ident *ast.IdentifierNode, ch *chain) (node, kinds, error) {
	at, name := c.at(ident), ident.Value
	ch.name = name
	if slot := c.variable(name); slot >= 0 {
		ch.base = &variable{at, slot}
		if len(ch.steps) == 0 {
			return ch.base, c.lets[slot].kinds, nil
		}
		return ch, unknown, checkBase(ch, c.lets[slot].kinds)
	}
	if name == "it" && c.predicates > 0 && (c.names == nil || !c.names.has("it")) {
		ch.base = &element{place: at}
		return ch, unknown, nil
	}
	ch.base = &root{at, name}
	path, ats := Ref{name}, []int{int(at)}
	for _, s := range ch.steps {
		if s.kind != byKey && s.kind != byIndex {
			break
		}
		path = append(path, s.constant())
		ats = append(ats, s.at)
	}
	if err := c.checkName(path, ats, len(path) <= len(ch.steps)); err != nil {
		return nil, 0, err
	}
	note(c.refs, path)
	for i, s := range ch.steps {
		if !s.optional && !ch.safe && i < len(path) {
			note(c.needs, path[:i+1])
		}
	}
	return ch, unknown, nil
}

// constant gives a constant step as it stands in a Ref.
func (s *step) constant() string {
	if s.kind == byKey {
		return s.key
	}
	return string(appendNumber(nil, s.index))
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
func (c *compiler) step(n ast.Node, depth int) (s step, err error) {
	if c.visited++; c.visited > maxNodes {
		return s, tooManyParts()
	}
	s.at = int(c.at(n))
	m, ok := n.(*ast.MemberNode)
	if !ok {
		return c.sliceStep(n.(*ast.SliceNode), s, depth)
	}
	s.optional = m.Optional
	switch p := m.Property.(type) {
	case *ast.StringNode:
		s.at, s.kind, s.key = int(c.at(p)), byKey, p.Value
		return s, nil
	case *ast.IntegerNode:
		s.kind, s.index = byIndex, int64(p.Value)
		return s, nil
	case *ast.UnaryNode:
		if i, ok := p.Node.(*ast.IntegerNode); ok && p.Operator == "-" {
			s.kind, s.index = byIndex, -int64(i.Value)
			return s, nil
		}
	}
	s.kind = byValue
	s.expr, err = c.must(m.Property, depth+1, isNumeric|isText, "what stands in [ ]")
	return s, err
}

func (c *compiler) sliceStep(n *ast.SliceNode, s step, depth int) (step, error) {
	s.kind = bySlice
	var err error
	if n.From != nil {
		if s.from, err = c.must(n.From, depth+1, isNumeric, "an end of a slice"); err != nil {
			return s, err
		}
	}
	if n.To != nil {
		s.to, err = c.must(n.To, depth+1, isNumeric, "an end of a slice")
	}
	return s, err
}
