package expr

import "testing"

func BenchmarkCompile(b *testing.B) {
	names := testNames()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Compile(Source{Text: "steps.reserve.output.total > 1000 and input.x?.y ?? false"}, names, Bool); err != nil {
			b.Fatal(err)
		}
	}
}
