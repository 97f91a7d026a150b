package picture

import (
	"encoding/xml"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// drawBody makes a random body, at most depth bodies deep.
func drawBody(t *rapid.T, id *int, depth int) *Body {
	*id++
	b := &Body{ID: fmt.Sprintf("b%d", *id), Ends: rapid.Bool().Draw(t, "ends")}
	ids := []string{}
	for range rapid.IntRange(1, 7).Draw(t, "nodes") {
		*id++
		n := &Node{ID: fmt.Sprintf("s%d", *id), Key: rapid.StringOfN(rapid.RuneFrom([]rune("abc<é…")), 0, 60, -1).Draw(t, "key"), Action: "task", Shape: Shape(rapid.IntRange(0, 3).Draw(t, "shape"))}
		if depth > 0 && rapid.IntRange(0, 3).Draw(t, "inner") == 0 {
			n.Parts = append(n.Parts, Part{Body: drawBody(t, id, depth-1)}, Part{Label: "catch", Body: drawBody(t, id, depth-1)}, Part{Label: "x", Next: "y"})
		}
		b.Nodes, ids = append(b.Nodes, n), append(ids, n.ID)
	}
	if b.Ends {
		ids = append(ids, b.End())
	}
	for range rapid.IntRange(0, 12).Draw(t, "edges") {
		from := rapid.IntRange(0, len(b.Nodes)-1).Draw(t, "from")
		b.Edges = append(b.Edges, Edge{From: ids[from], To: rapid.SampledFrom(ids).Draw(t, "to"), Label: rapid.SampledFrom([]string{"", "if x"}).Draw(t, "label"), Kind: Kind(rapid.IntRange(0, 2).Draw(t, "kind"))})
	}
	return b
}

// checkBlock fails when boxes of a body stand in each other or outside of it.
func checkBlock(t *rapid.T, l *block) {
	const slack = 0.01
	for i, a := range l.cells {
		if a.x < -slack || a.y < -slack || a.x+a.w > l.w+slack || a.y+a.h > l.h+slack {
			t.Fatalf("%+v is outside of %v x %v", a.frame, l.w, l.h)
		}
		for _, b := range l.cells[i+1:] {
			if a.x+a.w > b.x+slack && b.x+b.w > a.x+slack && a.y+a.h > b.y+slack && b.y+b.h > a.y+slack && a.node != nil && b.node != nil {
				t.Fatalf("%+v stands in %+v", a.frame, b.frame)
			}
		}
		for k, in := range a.inner {
			if in.x+in.w > a.w+slack || in.y+in.h > a.h+slack || k > 0 && in.x < a.inner[k-1].x+a.inner[k-1].w {
				t.Fatalf("the part %+v is outside of %+v or stands in another", in.frame, a.frame)
			}
			checkBlock(t, in.block)
		}
	}
	for _, r := range l.routes {
		if r.edge.From == r.edge.To {
			continue
		}
		for i := range r.cells[1:] {
			if r.cells[i+1].layer <= r.cells[i].layer {
				t.Fatalf("the edge %+v leads upwards", r.edge)
			}
		}
	}
}

func TestBoxesStandApartAndEdgesLeadDown(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		id := 0
		body := drawBody(t, &id, 2)
		checkBlock(t, lay(body))
		p := &Picture{Title: "t", Body: body, Finally: drawBody(t, &id, 0)}
		if err := xml.Unmarshal([]byte(p.SVG()), new(struct{})); err != nil {
			t.Fatal(err)
		}
		if dot := p.DOT(); strings.Count(dot, "{") != strings.Count(dot, "}") {
			t.Fatalf("brackets do not match:\n%s", dot)
		}
	})
}

func TestALargeGraphIsLaidOutInBoundedSpace(t *testing.T) {
	t.Parallel()
	b := &Body{ID: "b0"}
	const steps = 3000
	for i := range steps {
		b.Nodes = append(b.Nodes, &Node{ID: fmt.Sprintf("s%d", i), Key: "k", Action: "task"})
		if i > 0 {
			b.Edges = append(b.Edges, Edge{From: fmt.Sprintf("s%d", i-1), To: fmt.Sprintf("s%d", i)}, Edge{From: "s0", To: fmt.Sprintf("s%d", i)})
		}
	}
	if l := lay(b); len(l.cells) > 25_000 {
		t.Errorf("%d cells", len(l.cells))
	}
}
