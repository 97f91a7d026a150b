package machine

import (
	"encoding/json"
	"strings"
)

// cursor reads the plain documents that Scope.encode and EncodeEnv write most. Whatever else it meets, it gives up, and
// encoding/json reads the document from its beginning.
type cursor struct {
	rest string
	lost bool
}

// take says whether text comes next, and goes past it.
func (c *cursor) take(text string) bool {
	rest, ok := strings.CutPrefix(c.rest, text)
	c.rest = rest
	return ok
}

// must is take for what has to come next.
func (c *cursor) must(text string) {
	if !c.take(text) {
		c.lost = true
	}
}

const maxDigits = 18 // an int64 holds every number of so many

// number reads a whole number from 0 on, without leading zeros.
func (c *cursor) number() int64 {
	n, i := int64(0), 0
	for i < len(c.rest) && c.rest[i] >= '0' && c.rest[i] <= '9' && i <= maxDigits {
		n = n*10 + int64(c.rest[i]-'0')
		i++
	}
	if i == 0 || i > maxDigits || i > 1 && c.rest[0] == '0' {
		c.lost = true
	}
	c.rest = c.rest[i:]
	return n
}

// entry reads a reference to an entry of the journal.
func (c *cursor) entry() Data {
	n := c.number()
	if n == 0 {
		c.lost = true
	}
	return entryData(n)
}

// fields reads an object whose members come in a fixed order: each names them, and reads the value of the one it is given.
func (c *cursor) fields(names string, read func(name byte)) {
	c.must("{")
	first := true
	for i := 0; i < len(names) && !c.lost; i++ {
		if !first && !strings.HasPrefix(c.rest, ",") {
			break
		}
		at := c.rest
		if !first {
			c.must(",")
		}
		if !c.take(`"` + names[i:i+1] + `":`) {
			c.rest = at
			continue
		}
		first = false
		read(names[i])
	}
	c.must("}")
}

// byIndex reads an object whose names are numbers.
func (c *cursor) byIndex(read func(i int)) {
	c.must("{")
	for !c.lost {
		c.must(`"`)
		i := c.number()
		c.must(`":`)
		read(int(i))
		if !c.take(",") {
			break
		}
	}
	c.must("}")
}

func (c *cursor) entries() map[int]Data {
	out := map[int]Data{}
	c.byIndex(func(i int) { out[i] = c.entry() })
	return out
}

func (c *cursor) states() (s States) {
	c.must(`"`)
	end := strings.IndexByte(c.rest, '"')
	for i := range max(0, end) {
		c.lost = c.lost || c.rest[i] < '0' || c.rest[i] > 'z' || c.rest[i] == '\\'
	}
	if end < 0 || c.lost {
		c.lost = true
		return nil
	}
	c.lost = s.UnmarshalJSON([]byte(`"`+c.rest[:end]+`"`)) != nil
	c.rest = c.rest[end+1:]
	return s
}

func (c *cursor) live() *Live {
	l := &Live{}
	c.fields("ieayt", func(name byte) {
		switch name {
		case 'i':
			l.In = c.entry()
		case 'e':
			l.Err = c.entry()
		case 'a':
			l.Attempt = int(c.number())
		case 'y':
			l.Try = int(c.number())
		case 't':
			l.Since = Time(c.number())
		}
	})
	return l
}

func (c *cursor) tally() *Tally {
	t := &Tally{}
	c.fields("tnm", func(name byte) {
		switch name {
		case 't':
			t.Taken = int(c.number())
		case 'n':
			t.NotChosen = int(c.number())
		case 'm':
			t.Missing = int(c.number())
		}
	})
	return t
}

func (c *cursor) runDoc() *RunDoc {
	d := &RunDoc{}
	c.fields("ao", func(name byte) {
		switch name {
		case 'a':
			d.Activations = int(c.number())
		case 'o':
			d.Output = c.entry()
		}
	})
	return d
}

func (c *cursor) scope(s *Scope) {
	c.fields("swioejlr", func(name byte) {
		switch name {
		case 's':
			s.States = c.states()
		case 'w':
			s.Left = int(c.number())
		case 'i':
			s.In = c.entry()
		case 'o':
			s.Out = c.entries()
		case 'e':
			s.Errs = c.entries()
		case 'j':
			s.Joins = map[int]*Tally{}
			c.byIndex(func(i int) { s.Joins[i] = c.tally() })
		case 'l':
			s.Live = map[int]*Live{}
			c.byIndex(func(i int) { s.Live[i] = c.live() })
		case 'r':
			s.Run = c.runDoc()
		}
	})
}

// decodeScope reads what Scope.encode wrote.
func decodeScope(path string, doc []byte) (*Scope, error) {
	s := &Scope{Path: path}
	c := cursor{rest: string(doc)}
	if c.scope(s); !c.lost && c.rest == "" {
		return s, nil
	}
	s = &Scope{Path: path}
	if err := json.Unmarshal(doc, s); err != nil {
		return nil, err
	}
	return s, nil
}

// DecodeEnv reads what EncodeEnv gave.
func DecodeEnv(doc []byte) (Env, error) {
	var e Env
	c := cursor{rest: string(doc)}
	c.fields("pi", func(name byte) {
		if name == 'p' {
			e.Prev = c.entry()
		} else {
			e.Input = c.entry()
		}
	})
	if !c.lost && c.rest == "" {
		return e, nil
	}
	e = Env{}
	err := json.Unmarshal(doc, &e)
	return e, err
}
