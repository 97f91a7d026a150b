package eval_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/millrace-go/millrace/expr"
)

// benchEnv is an environment of about the size that steps see.
func benchEnv() expr.Env {
	var lines []string
	for i := range 20 {
		lines = append(lines, fmt.Sprintf(`{"sku": "sku-%d", "count": %d, "price": %d.50}`, i, i%5, i))
	}
	return expr.Env{
		"input": json.RawMessage(`{"customer": {"id": "c-1", "name": "Ann"}, "total": 1234.50, "lines": [` + strings.Join(lines, ", ") + `]}`),
		"run":   expr.Env{"id": "r-1", "key": "order-1"},
	}
}

func BenchmarkEval(b *testing.B) {
	for _, c := range []struct{ name, source string }{
		{"constant", "1 + 1"},
		{"path", "input.customer.name"},
		{"pathEnd", "input.lines[19].price"},
		{"compare", "input.total > 1000"},
		{"guard", "input.customer.id == 'c-1' and input.total > 1000 and run.key != nil"},
		{"filter", "filter(input.lines, .count > 2)"},
		{"sum", "sum(input.lines, .price * .count)"},
	} {
		b.Run(c.name, func(b *testing.B) {
			p, err := expr.Compile(expr.Source{Text: c.source}, nil, expr.Any)
			if err != nil {
				b.Fatal(err)
			}
			env := benchEnv()
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.Eval(env, expr.Budget{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkTemplate(b *testing.B) {
	raw := `{"customer": "${ input.customer }", "title": "Order ${ run.key } of ${ input.customer.name }", "lines": "${ input.lines }"}`
	tpl, err := expr.CompileTemplate(json.RawMessage(raw), nil)
	if err != nil {
		b.Fatal(err)
	}
	env := benchEnv()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := tpl.Eval(env, expr.Budget{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLargeInput(b *testing.B) {
	env := expr.Env{"input": json.RawMessage(`{"pad": "` + strings.Repeat("x", 1<<20) + `", "list": [` + strings.Repeat(`{"a": 1},`, 10_000) + `{"a": 1}], "last": 1}`)}
	for _, source := range []string{"input.last", "sum(input.list, .a)"} {
		b.Run(source, func(b *testing.B) {
			p, err := expr.Compile(expr.Source{Text: source}, nil, expr.Any)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.Eval(env, expr.Budget{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
