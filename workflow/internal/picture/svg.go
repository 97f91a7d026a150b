package picture

import (
	"fmt"
	"strings"
)

const margin = 16

// SVG draws a picture for a web page, laid out here.
func (p *Picture) SVG() string {
	main := lay(p.Body)
	w, h := max(main.w, width(p.Title)), main.h+lineHeight+gapY/2
	var last *innerBlock
	if p.Finally != nil {
		last = &innerBlock{label: "finally", block: lay(p.Finally)}
		last.w, last.h = last.block.w+2*padding, last.block.h+2*padding+lineHeight
		last.y = h + gapY
		w, h = max(w, last.w), last.y+last.h
	}
	s := &svg{}
	s.line(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f" font-family="Helvetica, Arial, sans-serif" font-size="12">`,
		w+2*margin, h+2*margin, w+2*margin, h+2*margin)
	s.nested(func() {
		s.line(`<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse"><path d="M0,0.5 L8,4 L0,7.5 z" fill="context-stroke"/></marker></defs>`)
		s.line(`<rect width="100%%" height="100%%" fill="#ffffff"/>`)
		s.text(margin, margin+12, "start", "#1f2328", p.Title)
		s.block(main, margin+(w-main.w)/2, margin+lineHeight+gapY/2)
		if last != nil {
			s.part(last, margin+(w-last.w)/2, margin)
		}
	})
	s.line("</svg>")
	return s.b.String()
}

type svg struct{ writer }

func (s *svg) text(x, y float64, anchor, fill, text string) {
	s.line(`<text x="%.1f" y="%.1f" text-anchor="%s" fill="%s">%s</text>`, x, y, anchor, fill, svgText(text))
}

// svgText escapes a text; what XML cannot hold is left out.
func svgText(s string) string {
	s = strings.Map(func(c rune) rune {
		if c < ' ' && c != '\t' || c == 0xFFFE || c == 0xFFFF {
			return -1
		}
		return c
	}, s)
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;").Replace(s)
}

// block draws a body whose corner is at x, y: edges first, so that boxes cover their ends.
func (s *svg) block(l *block, x, y float64) {
	for i := range l.routes {
		s.route(&l.routes[i], x, y)
	}
	for _, c := range l.cells {
		switch {
		case c.node != nil:
			s.node(c, x+c.x, y+c.y)
		case c.end:
			s.line(`<circle cx="%.1f" cy="%.1f" r="7" fill="#ffffff" stroke="#57606a"/>`, x+c.middle(), y+c.y+8)
			s.line(`<circle cx="%.1f" cy="%.1f" r="4" fill="#57606a"/>`, x+c.middle(), y+c.y+8)
		}
	}
	for i := range l.routes {
		s.label(&l.routes[i], x, y)
	}
}

// route draws an edge as a curve that leaves and enters its boxes upright.
func (s *svg) route(r *route, x, y float64) {
	var path strings.Builder
	cells := r.cells
	if c := cells[0]; c == cells[1] { // to itself: a bow at its right side
		right, middle := x+c.x+c.w, y+c.y+c.h/2
		fmt.Fprintf(&path, "M%.1f,%.1f C%.1f,%.1f %.1f,%.1f %.1f,%.1f", right, middle-6, right+20, middle-16, right+20, middle+16, right, middle+6)
		cells = nil
	}
	for i, c := range cells {
		cx, top, bottom := x+c.middle(), y+c.y, y+c.y+c.h
		if i == 0 {
			fmt.Fprintf(&path, "M%.1f,%.1f V%.1f", cx, bottom, y+c.floor)
			continue
		}
		before := cells[i-1]
		px, py := x+before.middle(), y+before.floor
		half := (top - py) / 2
		fmt.Fprintf(&path, " C%.1f,%.1f %.1f,%.1f %.1f,%.1f", px, py+half, cx, top-half, cx, top)
		if i < len(cells)-1 {
			fmt.Fprintf(&path, " L%.1f,%.1f", cx, bottom)
		}
	}
	stroke, tip := `stroke="#57606a"`, `marker-end="url(#tip)"`
	if r.edge.Kind == Caught {
		stroke = `stroke="#cf222e" stroke-dasharray="5,3"`
	}
	if r.back {
		tip = `marker-start="url(#tip)"`
	}
	s.line(`<path d="%s" fill="none" %s %s/>`, path.String(), stroke, tip)
}

// label writes what an edge says, on its first part.
func (s *svg) label(r *route, x, y float64) {
	if r.edge.Label == "" {
		return
	}
	a, b := r.cells[0], r.cells[1]
	if r.back {
		a, b = r.cells[len(r.cells)-2], r.cells[len(r.cells)-1]
	}
	cx, cy := x+(a.middle()+b.middle())/2, y+(a.floor+b.y)/2
	if a == b {
		cx, cy = x+a.x+a.w, y+a.y+a.h/2-22
	}
	text := shorten(r.edge.Label)
	w := width(text) * 0.9
	s.line(`<rect x="%.1f" y="%.1f" width="%.1f" height="14" fill="#ffffff" fill-opacity="0.9"/>`, cx-w/2, cy-7, w)
	fill := "#57606a"
	if r.edge.Kind == Caught {
		fill = "#cf222e"
	}
	s.line(`<text x="%.1f" y="%.1f" text-anchor="middle" fill="%s" font-size="11">%s</text>`, cx, cy+4, fill, svgText(text))
}

func (s *svg) node(c *cell, x, y float64) {
	l := lookOf(c.node.Status)
	paint := fmt.Sprintf(`fill="%s" stroke="%s"`, l.fill, l.line)
	switch {
	case len(c.inner) > 0:
		s.line(`<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="6" fill-opacity="0.4" %s/>`, x, y, c.w, c.h, paint)
	case c.node.Shape == Rhombus:
		s.line(`<path d="M%.1f,%.1f l%.1f,%.1f l%.1f,%.1f l%.1f,%.1f z" %s/>`, x, y+c.h/2, c.w/2, -c.h/2, c.w/2, c.h/2, -c.w/2, c.h/2, paint)
	default:
		round := map[Shape]float64{Box: 3, Rounded: 12, Oval: c.h / 2}[c.node.Shape]
		s.line(`<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="%.1f" %s/>`, x, y, c.w, c.h, round, paint)
	}
	top := y + padding/2
	if c.node.Shape == Rhombus && len(c.inner) == 0 {
		top = y + (c.h-float64(len(c.lines))*lineHeight)/2
	}
	for i, line := range c.lines {
		fill := "#1f2328"
		if i > 0 {
			fill = "#57606a"
		}
		s.text(x+c.w/2, top+float64(i)*lineHeight+12, "middle", fill, line)
	}
	for i := range c.inner {
		s.part(&c.inner[i], x, y)
	}
}

// part draws a body inside a box that stands at x, y.
func (s *svg) part(in *innerBlock, x, y float64) {
	top := padding * 1.0
	if in.label != "" {
		s.line(`<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="4" fill="#ffffff" fill-opacity="0.6" stroke="#afb8c1" stroke-dasharray="3,3"/>`, x+in.x, y+in.y, in.w, in.h)
		s.text(x+in.x+in.w/2, y+in.y+14, "middle", "#57606a", in.label)
		top += lineHeight
	}
	s.block(in.block, x+in.x+(in.w-in.block.w)/2, y+in.y+top)
}
