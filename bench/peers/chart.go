package main

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
)

// panel is one group of bars of the chart.
type panel struct {
	title, workload, figure string
}

var panels = []panel{
	{"W1: runs of one step, runs a second", "W1", "runs"},
	{"W2: sequences of 5 steps, steps a second", "W2", "steps"},
	{"W3: fork of 10 and a join, steps a second", "W3", "steps"},
	{"W6: sagas that are undone, runs a second", "W6", "runs"},
	{"W4: one run of one step in an idle system, p50 ms (less is better)", "W4", "1 steps, p50"},
	{"W4: one run of 5 steps in an idle system, p50 ms (less is better)", "W4", "5 steps, p50"},
}

// Measures of the chart, in its own units.
const (
	chartWidth = 760
	labelWidth = 190
	barsWidth  = 430
	barHeight  = 18
	barPitch   = 24
	titleSpace = 34
)

// writeChart writes the medians as bars: one panel of each figure, Millrace's bar filled, the ceilings' hollow.
func (r results) writeChart(out io.Writer) error {
	var body strings.Builder
	y := 16
	for _, p := range panels {
		y = r.drawPanel(&body, p, y)
	}
	const head = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="system-ui, sans-serif" font-size="13">
<style>text { fill: #1c2430 } .own { fill: #1f6f8b } .peer { fill: #b9c4cc } .bound { fill: none; stroke: #8a97a1; stroke-dasharray: 4 3 }
@media (prefers-color-scheme: dark) { text { fill: #e3e8ec } .own { fill: #4fb3d1 } .peer { fill: #56636d } .bound { stroke: #8a97a1 } }</style>
`
	_, err := fmt.Fprintf(out, head+"%s</svg>\n", chartWidth, y, body.String())
	return err
}

// drawPanel draws the bars of one figure from y on, and gives where the next panel begins.
func (r *results) drawPanel(b *strings.Builder, p panel, y int) int {
	type bar struct {
		label, class string
		value        spread
	}
	var bars []bar
	longest := 0.0
	for _, store := range []string{postgres, file} {
		for _, s := range r.present(store) {
			v := r.of(p.workload, s.name, store, p.figure)
			if v.times == 0 {
				continue
			}
			class := map[string]string{subjectName: "own", "ceiling": "bound"}[s.name]
			if class == "" {
				class = "peer"
			}
			bars = append(bars, bar{s.name + ", " + store, class, v})
			longest = max(longest, v.median)
		}
	}
	if len(bars) == 0 {
		return y
	}
	fmt.Fprintf(b, "<text x=\"0\" y=\"%d\" font-weight=\"600\">%s</text>\n", y+titleSpace-16, escape(p.title))
	y += titleSpace
	for _, one := range bars {
		width := max(one.value.median/longest*barsWidth, 1)
		fmt.Fprintf(b, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>", labelWidth-8, y+barHeight-5, escape(one.label))
		fmt.Fprintf(b, "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\"/>", one.class, labelWidth, y, width, barHeight)
		fmt.Fprintf(b, "<text x=\"%.1f\" y=\"%d\">%s</text>\n", labelWidth+width+6, y+barHeight-5, escape(number(one.value.median)))
		y += barPitch
	}
	return y + barPitch/2
}

func escape(text string) string {
	var b strings.Builder
	if err := xml.EscapeText(&b, []byte(text)); err != nil {
		return ""
	}
	return b.String()
}
