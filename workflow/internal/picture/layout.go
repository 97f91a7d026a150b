package picture

import (
	"cmp"
	"slices"
	"unicode/utf8"
)

// Measures of a drawing in pixels.
const (
	charWidth  = 6.7 // of the 12 px sans serif, a little generous
	lineHeight = 16
	padding    = 10
	gapX       = 28 // between boxes side by side
	gapY       = 34 // between layers
	labelGap   = 16 // more of it where an edge has a label
	maxChars   = 44 // of a line of a box
)

// frame is a rectangle at a place inside the one around it.
type frame struct{ x, y, w, h float64 }

// block is a body laid out: by the layers of Sugiyama, Tagawa and Toda (1981). Edges that lead back are turned, longer ones go
// through points in the layers between, the order in a layer follows barycentres, and places are averages of neighbours.
type block struct {
	cells  []*cell
	index  map[string]*cell
	routes []route
	layers [][]*cell
	w, h   float64
}

// cell is a node in a layer, or a point that an edge goes through.
type cell struct {
	frame
	node    *Node // nil: a point, or the end of the body
	end     bool
	lines   []string
	head    float64 // height of the text
	inner   []innerBlock
	layer   int
	floor   float64 // where its layer ends
	up      []*cell
	down    []*cell
	ordinal float64
}

// innerBlock is a body inside a node.
type innerBlock struct {
	frame
	label string
	block *block
}

// route is how an edge goes: cells from top to bottom; back says that the edge leads from the last to the first.
type route struct {
	edge  Edge
	cells []*cell
	back  bool
}

// lay lays out a body and all inside it.
func lay(b *Body) *block {
	l := &block{index: map[string]*cell{}}
	for _, n := range b.Nodes {
		l.add(n.ID, cellOf(n))
	}
	if b.Ends {
		l.add(b.End(), &cell{end: true, frame: frame{w: 16, h: 16}})
	}
	l.rank(b.Edges)
	l.order()
	l.place()
	return l
}

func (l *block) add(id string, c *cell) {
	l.cells = append(l.cells, c)
	l.index[id] = c
}

// cellOf measures a node with what is inside it.
func cellOf(n *Node) *cell {
	c := &cell{node: n}
	for _, line := range n.lines() {
		c.lines = append(c.lines, shorten(line))
		c.w = max(c.w, width(shorten(line))+2*padding)
	}
	c.head = float64(len(c.lines))*lineHeight + padding
	c.h = c.head
	if n.Shape == Rhombus && len(n.bodies()) == 0 {
		c.w, c.h = c.w+40, c.h+18
	}
	x, height := float64(padding), 0.0
	for _, part := range n.bodies() {
		in := innerBlock{label: shorten(part.Label), block: lay(part.Body)}
		in.w, in.h = in.block.w+2*padding, in.block.h+2*padding
		if in.label != "" {
			in.w, in.h = max(in.w, width(in.label)+2*padding), in.h+lineHeight
		}
		in.x, in.y = x, c.head+2
		x, height = x+in.w+padding, max(height, in.h)
		c.inner = append(c.inner, in)
	}
	if len(c.inner) > 0 {
		c.w, c.h = max(c.w, x), c.head+2+height+padding
	}
	for i := range c.inner {
		c.inner[i].x += (c.w - x) / 2
	}
	return c
}

func width(s string) float64 { return float64(utf8.RuneCountInString(s)) * charWidth }

func shorten(s string) string {
	if runes := []rune(s); len(runes) > maxChars {
		return string(runes[:maxChars-1]) + "…"
	}
	return s
}

// rank puts every cell into a layer below those that lead to it, and gives long edges their points.
func (l *block) rank(edges []Edge) {
	back := l.backEdges(edges)
	for range l.cells { // longest path: as many passes as there are layers are enough
		moved := false
		for i, e := range edges {
			from, to := l.ends(e, back[i])
			if from != to && to.layer <= from.layer {
				to.layer, moved = from.layer+1, true
			}
		}
		if !moved {
			break
		}
	}
	const most = 20_000 // points of a body; what is longer yet goes straight
	for i, e := range edges {
		from, to := l.ends(e, back[i])
		r := route{edge: e, cells: []*cell{from}, back: back[i]}
		for layer := from.layer + 1; layer < to.layer && len(l.cells) < most; layer++ {
			point := &cell{layer: layer, frame: frame{w: 6}}
			l.cells = append(l.cells, point)
			r.cells = append(r.cells, point)
		}
		r.cells = append(r.cells, to)
		for k := range r.cells[1:] {
			if from == to {
				break
			}
			r.cells[k].down = append(r.cells[k].down, r.cells[k+1])
			r.cells[k+1].up = append(r.cells[k+1].up, r.cells[k])
		}
		l.routes = append(l.routes, r)
	}
}

func (l *block) ends(e Edge, back bool) (from, to *cell) {
	if back {
		return l.index[e.To], l.index[e.From]
	}
	return l.index[e.From], l.index[e.To]
}

// backEdges says which edges lead back to what is being left, so that the others have no circle.
func (l *block) backEdges(edges []Edge) []bool {
	back, out := make([]bool, len(edges)), map[string][]int{}
	for i, e := range edges {
		out[e.From] = append(out[e.From], i)
	}
	state := map[string]int{} // 1: being left, 2: done
	var visit func(id string)
	visit = func(id string) {
		state[id] = 1
		for _, i := range out[id] {
			switch to := edges[i].To; state[to] {
			case 0:
				visit(to)
			case 1:
				back[i] = true
			}
		}
		state[id] = 2
	}
	for _, c := range l.cells {
		if c.node != nil && state[c.node.ID] == 0 {
			visit(c.node.ID)
		}
	}
	return back
}

// order sorts each layer by the middle of the neighbours in the layer above, then below, and so on.
func (l *block) order() {
	deepest := 0
	for _, c := range l.cells {
		deepest = max(deepest, c.layer)
	}
	l.layers = make([][]*cell, deepest+1)
	for _, c := range l.cells {
		c.ordinal = float64(len(l.layers[c.layer]))
		l.layers[c.layer] = append(l.layers[c.layer], c)
	}
	const sweeps = 8
	for sweep := range sweeps {
		for i := range l.layers {
			layer, near := l.layers[i], func(c *cell) []*cell { return c.up }
			if sweep%2 == 1 {
				layer, near = l.layers[len(l.layers)-1-i], func(c *cell) []*cell { return c.down }
			}
			for _, c := range layer {
				if cells := near(c); len(cells) > 0 {
					c.ordinal = mean(cells, func(c *cell) float64 { return c.ordinal })
				}
			}
			slices.SortStableFunc(layer, func(a, b *cell) int { return cmp.Compare(a.ordinal, b.ordinal) })
			for k, c := range layer {
				c.ordinal = float64(k)
			}
		}
	}
}

func mean(cells []*cell, of func(*cell) float64) float64 {
	sum := 0.0
	for _, c := range cells {
		sum += of(c)
	}
	return sum / float64(len(cells))
}

func (c *cell) middle() float64 { return c.x + c.w/2 }

// place gives cells their coordinates: each as near to the middle of its neighbours as those beside it allow.
func (l *block) place() {
	for _, layer := range l.layers {
		apart(layer)
	}
	const sweeps = 12
	for sweep := range sweeps {
		for i := range l.layers {
			layer := l.layers[i]
			near := func(c *cell) []*cell { return c.up }
			if sweep%2 == 1 {
				layer, near = l.layers[len(l.layers)-1-i], func(c *cell) []*cell { return c.down }
			}
			for _, c := range layer {
				if cells := near(c); len(cells) > 0 {
					c.x = mean(cells, (*cell).middle) - c.w/2
				}
			}
			apart(layer)
		}
	}
	l.straighten()
	left := 0.0
	for _, c := range l.cells {
		left = min(left, c.x)
	}
	y := 0.0
	for i, layer := range l.layers {
		tallest := 0.0
		for _, c := range layer {
			tallest = max(tallest, c.h)
		}
		for _, c := range layer {
			c.x, c.y, c.floor = c.x-left, y, y+tallest
			if c.node == nil && !c.end {
				c.h = tallest
			}
			l.w = max(l.w, c.x+c.w)
		}
		l.h = y + tallest
		y = l.h + gapY + l.labelled(i)
	}
}

// straighten moves the points of long edges between their neighbours above and below, as far as the cells beside them allow.
func (l *block) straighten() {
	const sweeps = 6
	for range sweeps {
		for _, layer := range l.layers {
			for i, c := range layer {
				if c.node != nil || len(c.up) == 0 || len(c.down) == 0 {
					continue
				}
				x := (c.up[0].middle() + c.down[0].middle() - c.w) / 2
				if i > 0 {
					x = max(x, layer[i-1].x+layer[i-1].w+gapX/2)
				}
				if i < len(layer)-1 && x > layer[i+1].x-c.w-gapX/2 {
					x = max(c.x, layer[i+1].x-c.w-gapX/2)
				}
				c.x = x
			}
		}
	}
}

// apart moves the cells of a layer so that none stands in another: by half to each side.
func apart(layer []*cell) {
	wanted := make([]float64, len(layer))
	for i, c := range layer {
		wanted[i] = c.x
		if i > 0 {
			c.x = max(c.x, layer[i-1].x+layer[i-1].w+gapX)
		}
	}
	shift := 0.0
	for i, c := range layer {
		shift += wanted[i] - c.x
	}
	for _, c := range layer {
		c.x += shift / float64(len(layer))
	}
}

// labelled gives the room for the labels below a layer.
func (l *block) labelled(layer int) float64 {
	for _, r := range l.routes {
		if r.edge.Label != "" && r.cells[0].layer == layer {
			return labelGap
		}
	}
	return 0
}
