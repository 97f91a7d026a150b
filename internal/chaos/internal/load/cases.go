package load

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"

	"github.com/millrace-go/millrace/machine"
)

// Case is a run as it was asked for.
type Case struct {
	Workflow string
	Key      string
	Input    json.RawMessage
	Want     Want
}

// Want is how a case must end.
type Want struct {
	Status machine.Status
	Output string   // JSON; "": none
	Paths  []string // tasks that succeed, once each; nothing else does
	Failed string   // the task that fails for good; "": none
	Undone []string // compensations, in the order in which they succeed; they are no part of Paths
}

type input struct {
	N     int             `json:"n"`
	Upto  int             `json:"upto,omitempty"`
	Items []int           `json:"items,omitempty"`
	Plan  map[string]fate `json:"plan"`
}

const forEver = 1 << 30 // attempts

// Draw gives case number n of a seed.
func Draw(seed uint64, n int) Case {
	d := &drawing{random: rand.New(rand.NewPCG(seed, uint64(n)))} //nolint:gosec // drawn again from the seed
	d.in.N, d.in.Plan = d.random.IntN(1000), map[string]fate{}
	kinds := []func(*drawing) Case{drawChain, drawFan, drawSaga, drawSaga, drawPark, drawWait, drawLoop, drawEach}
	c := kinds[d.random.IntN(len(kinds))](d)
	c.Key = fmt.Sprintf("case-%d", n)
	c.Input, _ = json.Marshal(d.in) // of numbers and names: it cannot fail
	return c
}

type drawing struct {
	random *rand.Rand
	in     input
}

// task draws how attempts at a path go, and gives the path. Most succeed at once; few take so long that something happens to
// them.
func (d *drawing) task(path string) string {
	f := fate{MS: d.random.IntN(20)}
	switch d.random.IntN(20) {
	case 0:
		f.MS = 1500 + d.random.IntN(1500)
	case 1, 2, 3:
		f.MS = 200 + d.random.IntN(300)
	case 4, 5, 6:
		f.Fail = 1 + d.random.IntN(2)
	}
	d.in.Plan[path] = f
	return path
}

func (d *drawing) tasks(paths ...string) []string {
	for _, p := range paths {
		d.task(p)
	}
	return paths
}

func succeeds(workflow string, n int, paths []string) Case {
	return Case{Workflow: workflow, Want: Want{Status: machine.Succeeded, Output: fmt.Sprintf(`{"n":%d}`, n), Paths: paths}}
}

func drawChain(d *drawing) Case {
	return succeeds("chain", d.in.N+4, d.tasks("a", "b", "c", "d"))
}

func drawFan(d *drawing) Case {
	return succeeds("fan", 3*(d.in.N+2)+1, d.tasks("a", "b1", "b2", "b3", "z"))
}

// drawSaga has one of the three steps fail for good, or none; then it and all before it are undone, newest first.
func drawSaga(d *drawing) Case {
	steps := d.tasks("a", "b", "c")
	at := d.random.IntN(4)
	if at == 3 {
		return succeeds("saga", d.in.N+3, steps)
	}
	f := d.in.Plan[steps[at]]
	f.Fail, f.Final = 0, forEver
	d.in.Plan[steps[at]] = f
	want := Want{Status: machine.Failed, Paths: steps[:at], Failed: steps[at]}
	for i := at; i >= 0; i-- {
		want.Undone = append(want.Undone, d.task(steps[i]+"~undo"))
	}
	return Case{Workflow: "saga", Want: want}
}

// drawPark has the step in the middle fail for good in its first attempt or two: it waits for the robot, each time.
func drawPark(d *drawing) Case {
	c := succeeds("park", d.in.N+3, d.tasks("a", "b", "c"))
	f := d.in.Plan["b"]
	f.Fail, f.Final = 0, 1+d.random.IntN(2)
	d.in.Plan["b"] = f
	return c
}

func drawWait(d *drawing) Case { return succeeds("wait", d.in.N+2, d.tasks("a", "b")) }

func drawLoop(d *drawing) Case {
	passes := 1 + d.random.IntN(5)
	d.in.Upto = d.in.N + passes
	var paths []string
	for i := range passes {
		paths = append(paths, d.task(fmt.Sprintf("l[%d]", i+1)))
	}
	return succeeds("loop", d.in.Upto, paths)
}

func drawEach(d *drawing) Case {
	n := 1 + d.random.IntN(8)
	var paths []string
	var items []result
	for i := range n {
		d.in.Items = append(d.in.Items, 10*i)
		items = append(items, result{10*i + 1})
		paths = append(paths, d.task(fmt.Sprintf("m[%d]", i)))
	}
	c := succeeds("each", n+1, append(paths, d.task("z")))
	raw, _ := json.Marshal(items) // of numbers: it cannot fail
	c.Want.Output = fmt.Sprintf(`{"n":%d,"items":%s}`, n+1, raw)
	return c
}
