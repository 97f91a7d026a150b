// Package m breaks rules on purpose.
package m

// nine is long.
//
//tidy:allow funclen a table that reads better in one piece
func nine() int {
	a := 1
	a++
	a++
	a++
	a++
	a++
	return a
}

type poolManager struct{} //tidy:allow name the protocol calls it so

//tidy:allow name the protocol calls it so
type lineManager struct{}

//tidy:allow name too far away
// want above: allow

type fileManager struct{} // want: name

//tidy:allow funclen
// want above: allow

//tidy:allow export this is another rule
// want above: allow

type nodeManager struct{} // want: name
