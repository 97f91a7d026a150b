package machine

import "encoding/json"

// Ref names one stored payload of a run: the payload of journal entry Seq, or the value (Key, Index) that the machine
// computed and PutValue stored. Exactly one of Seq and Key is set.
type Ref struct {
	Seq   int64
	Key   string
	Index int
}

// Data is a value by reference: how state, tasks and results speak of payloads without holding them. The zero value is
// JSON null. It is a value: nobody changes what Made points to.
type Data struct {
	Ref  Ref   // ByRef: a stored payload
	Made *Made // the other forms; nil: all of it is zero
	Kind DataKind
}

// Made is what a Data has that is no mere reference: it stands apart because nearly every Data is one.
type Made struct {
	Const json.RawMessage // Literal: a small value in place
	List  []Data          // ListOf, ObjectOf: the values
	Keys  []string        // ObjectOf: Keys[i] -> List[i]
	Map   string          // OutputsOf, FailedOf: the map (or collecting loop) opened at this path, whose chunks hold them
	N     int             // with Map: how many there are
}

func (d Data) made() Made {
	if d.Made == nil {
		return Made{}
	}
	return *d.Made
}

func listOf(values ...Data) Data { return Data{Kind: ListOf, Made: &Made{List: values}} }

func objectOf(keys []string, values []Data) Data {
	return Data{Kind: ObjectOf, Made: &Made{Keys: keys, List: values}}
}

// resultsOf gives the outputs, or what failed, of n items of the map at path.
func resultsOf(kind DataKind, path string, n int) Data {
	return Data{Kind: kind, Made: &Made{Map: path, N: n}}
}

// DataKind tells which form a Data has.
type DataKind uint8

// The forms of Data.
const (
	Null DataKind = iota
	ByRef
	Literal
	ListOf
	ObjectOf
	OutputsOf // Map: the outputs, null for what failed
	FailedOf  // Map: the list [{index, item, error}] of what failed
)

// Env is what the programs of a task see, as references: it is fixed when the task is started and carried by its row.
// Only names that the step's programs use are filled in (workflow.Uses).
type Env struct {
	Prev  Data               `json:"p,omitzero"`
	Input Data               `json:"i,omitzero"` // the run's input
	Error Data               `json:"e,omitzero"`
	Steps map[string]StepEnv `json:"s,omitempty"`
	Items map[string]ItemEnv `json:"x,omitempty"` // by the name given with `as`
	Pass  *PassEnv           `json:"n,omitempty"`

	Undone   *UndoneEnv `json:"u,omitempty"` // in a compensation: the step that it undoes
	Redriven *Redriven  `json:"r,omitempty"` // a person gave the task a new input
	Ending   Status     `json:"d,omitempty"` // in finally: how the run is going to end
}

// UndoneEnv is `step` in a compensation. Prev, Steps, Items and Pass of its Env are what the programs of that step saw too,
// so that whoever claims the compensation finds the step's input again: its `with`, else Prev.
type UndoneEnv struct {
	Path     string    `json:"p"`           // its task, or the activation of a composite
	Attempt  int       `json:"a,omitempty"` // the number of its last attempt
	Output   Data      `json:"o,omitzero"`  // null if it failed
	Done     bool      `json:"s,omitempty"` // it succeeded
	Redriven *Redriven `json:"r,omitempty"` // of the step
	Error    Data      `json:"e,omitzero"`  // what the step's programs saw as `error`
}

// Redriven is the input that a person gave a task, instead of what its step says. N counts such inputs: each gives the task a
// new key.
type Redriven struct {
	N     int  `json:"n"`
	Input Data `json:"i,omitzero"`

	// In the state of a run only: the number of the last attempt before it, and the input that that one had. An attempt with the
	// new input may never begin.
	After  int       `json:"a,omitempty"`
	Before *Redriven `json:"b,omitempty"`
}

// given is what a task is told of it.
func (r *Redriven) given() *Redriven {
	if r == nil {
		return nil
	}
	return &Redriven{N: r.N, Input: r.Input}
}

// of is the new input that an attempt had; nil when it had none.
func (r *Redriven) of(attempt int) *Redriven {
	for r != nil && attempt <= r.After {
		r = r.Before
	}
	return r.given()
}

// StepEnv is steps.KEY as a program sees it.
type StepEnv struct {
	Output Data   `json:"o,omitzero"`
	Status string `json:"s,omitempty"`
	Error  Data   `json:"e,omitzero"`
	Failed Data   `json:"f,omitzero"`
}

// ItemEnv is an item of a map or of a loop's list.
type ItemEnv struct {
	Value Data `json:"v,omitzero"`
	Index int  `json:"i"`
}

// PassEnv is `pass`.
type PassEnv struct {
	Number   int  `json:"n"`
	Previous Data `json:"p,omitzero"`
}
