package machine

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// States are the states of the steps of a body by index. Written down, runs of equal states are counted: "s412r1p587".
type States []State

// MarshalJSON writes runs of equal states with their length.
func (s States) MarshalJSON() ([]byte, error) { return s.append(nil), nil }

func (s States) append(b []byte) []byte {
	b = append(b, '"')
	for i := 0; i < len(s); {
		j := i
		for j < len(s) && s[j] == s[i] {
			j++
		}
		b = append(b, byte(s[i]))
		b = strconv.AppendInt(b, int64(j-i), 10)
		i = j
	}
	return append(b, '"')
}

const maxStates = 100_000

// UnmarshalJSON reads what MarshalJSON wrote.
func (s *States) UnmarshalJSON(b []byte) error {
	if len(b) < 2 || b[0] != '"' {
		return errors.New("states are not text")
	}
	b = b[1 : len(b)-1]
	*s = (*s)[:0]
	for len(b) > 0 {
		k, n := 1, 0
		for k < len(b) && b[k] >= '0' && b[k] <= '9' && n <= maxStates {
			n = n*10 + int(b[k]-'0')
			k++
		}
		if k == 1 || n == 0 || n+len(*s) > maxStates {
			return fmt.Errorf("states have a run of bad length %d", n)
		}
		for range n {
			*s = append(*s, State(b[0]))
		}
		b = b[k:]
	}
	return nil
}

// String gives "7" for entry 7 and "KEY:3" for value 3 of KEY.
func (r Ref) String() string {
	if r.Key == "" {
		return strconv.FormatInt(r.Seq, 10)
	}
	return r.Key + ":" + strconv.Itoa(r.Index)
}

// ParseRef reads what String gave.
func ParseRef(s string) (Ref, error) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil || n <= 0 {
			return Ref{}, fmt.Errorf("not a reference: %q", s)
		}
		return Ref{Seq: n}, nil
	}
	n, err := strconv.Atoi(s[i+1:])
	if err != nil || n < 0 || i == 0 {
		return Ref{}, fmt.Errorf("not a reference: %q", s)
	}
	return Ref{Key: s[:i], Index: n}, nil
}

type dataJSON struct {
	Value  *string         `json:"v,omitempty"`
	Index  int             `json:"i,omitempty"`
	Const  json.RawMessage `json:"c,omitempty"`
	Keys   []string        `json:"k,omitempty"`
	List   *[]Data         `json:"l,omitempty"`
	Map    *string         `json:"m,omitempty"`
	Failed *string         `json:"f,omitempty"`
	N      int             `json:"n,omitempty"`
}

// IsZero says whether d is null.
func (d Data) IsZero() bool { return d.Kind == Null }

// MarshalJSON writes a reference to an entry as a number and everything else as a small object.
func (d Data) MarshalJSON() ([]byte, error) {
	var j dataJSON
	made := d.made()
	switch d.Kind {
	case Null:
		return []byte("null"), nil
	case ByRef:
		if d.Ref.Key == "" {
			return strconv.AppendInt(nil, d.Ref.Seq, 10), nil
		}
		j.Value, j.Index = &d.Ref.Key, d.Ref.Index
	case Literal:
		j.Const = made.Const
	case ListOf, ObjectOf:
		j.Keys, j.List = made.Keys, &made.List
		if made.List == nil {
			j.List = &[]Data{}
		}
		if d.Kind == ObjectOf && len(made.Keys) == 0 {
			return []byte(`{"c":{}}`), nil
		}
	case OutputsOf:
		j.Map, j.N = &made.Map, made.N
	case FailedOf:
		j.Failed, j.N = &made.Map, made.N
	}
	return json.Marshal(j)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (d *Data) UnmarshalJSON(b []byte) error {
	*d = Data{}
	if string(b) == "null" {
		return nil
	}
	if len(b) > 0 && b[0] != '{' {
		n, err := strconv.ParseInt(string(b), 10, 64)
		if err != nil {
			return fmt.Errorf("not a reference to an entry: %w", err)
		}
		*d = entryData(n)
		return nil
	}
	var j dataJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return err
	}
	switch {
	case j.Value != nil:
		*d = valueData(*j.Value, j.Index)
	case j.Const != nil:
		*d = Data{Kind: Literal, Made: &Made{Const: j.Const}}
	case j.Keys != nil && j.List != nil:
		if len(j.Keys) != len(*j.List) {
			return errors.New("an object has as many keys as values")
		}
		*d = objectOf(j.Keys, *j.List)
	case j.List != nil:
		*d = listOf(*j.List...)
	case j.Map != nil:
		*d = resultsOf(OutputsOf, *j.Map, j.N)
	case j.Failed != nil:
		*d = resultsOf(FailedOf, *j.Failed, j.N)
	default:
		return errors.New("data of no known form")
	}
	return nil
}

// isEntry says whether d is the payload of an entry of the journal.
func (d Data) isEntry() bool { return d.Kind == ByRef && d.Ref.Key == "" }

func entryData(seq int64) Data { return Data{Kind: ByRef, Ref: Ref{Seq: seq}} }

func valueData(key string, index int) Data {
	return Data{Kind: ByRef, Ref: Ref{Key: key, Index: index}}
}

func literal(raw json.RawMessage) Data {
	if string(raw) == "null" {
		return Data{}
	}
	return Data{Kind: Literal, Made: &Made{Const: raw}}
}

func encode(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil { // only documents of this package come here: they have no value that cannot be written
		panic(err)
	}
	return b
}

// EncodeRoot gives the document of the root's scope.
func (r *Run) EncodeRoot() json.RawMessage { return r.Root.encode() }

// SetRoot reads the document of the root's scope. The error wraps ErrNewer if later rules wrote it.
func (r *Run) SetRoot(doc []byte) error {
	if err := r.known(); err != nil {
		return err
	}
	s, err := decodeScope("", doc)
	if err != nil {
		return fmt.Errorf("run %s: root document: %w", r.ID, err)
	}
	if s.Run == nil {
		return fmt.Errorf("run %s: root document: the run's part is missing", r.ID)
	}
	r.Root = s
	return nil
}

// Put adds a loaded child document to the run; a nil doc says that there is none at this path.
func (r *Run) Put(path string, doc []byte) error {
	if HoldsResults(path) {
		if r.Chunks == nil {
			r.Chunks = map[string]*Chunk{}
		}
		if doc == nil {
			r.Chunks[path] = nil
			return nil
		}
		c := &Chunk{Path: path}
		if err := json.Unmarshal(doc, c); err != nil {
			return fmt.Errorf("run %s: document %s: %w", r.ID, path, err)
		}
		r.Chunks[path] = c
		return nil
	}
	if r.Scopes == nil {
		r.Scopes = map[string]*Scope{}
	}
	if doc == nil {
		r.Scopes[path] = nil
		return nil
	}
	s, err := decodeScope(path, doc)
	if err != nil {
		return fmt.Errorf("run %s: document %s: %w", r.ID, path, err)
	}
	r.Scopes[path] = s
	return nil
}

// Known says whether the child document at path was loaded, or is known not to exist.
func (r *Run) Known(path string) bool {
	if HoldsResults(path) {
		_, ok := r.Chunks[path]
		return ok
	}
	_, ok := r.Scopes[path]
	return ok
}

// Changes gives the child documents that were changed since the run was loaded or Saved, ordered by path. The root's
// document is always to be saved.
func (r *Run) Changes() []Change {
	if len(r.dirty) == 0 {
		return nil
	}
	out := make([]Change, 0, len(r.dirty))
	for _, path := range slices.Sorted(maps.Keys(r.dirty)) {
		c := Change{Path: path}
		if s := r.Scopes[path]; s != nil {
			c.Doc = s.encode()
		} else if k := r.Chunks[path]; k != nil {
			c.Doc = encode(k)
		}
		out = append(out, c)
	}
	return out
}

// Touch makes Changes give the child document at path, to be saved, or deleted when the run holds none there. It changes r:
// it is for those who build a run by hand.
func (r *Run) Touch(path string) {
	dirty := maps.Clone(r.dirty)
	if dirty == nil {
		dirty = map[string]bool{}
	}
	dirty[path] = true
	r.dirty = dirty
}

// Saved gives the run as it is after its changes were stored: the same state, with nothing to save.
func (r *Run) Saved() *Run {
	c := *r
	c.dirty = nil
	return &c
}

// copyDocuments gives a run with maps of its own, so that documents can be put into it.
func (r *Run) copyDocuments() *Run {
	c := *r
	c.Scopes, c.Chunks = maps.Clone(r.Scopes), maps.Clone(r.Chunks)
	return &c
}
