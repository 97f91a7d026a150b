// Package m has functions and interfaces of several sizes.
package m

func eight() int {
	a := 1
	a++
	a++
	a++
	a++
	return a
}

func nine() int { // want: funclen
	a := 1
	a++
	a++
	a++
	a++
	a++
	return a
}

func assembly()

type three interface {
	a()
	b()
	c()
}

type four interface { // want: ifacelen
	a()
	b()
	c()
	d()
}

type sum interface { // want: ifacelen
	three
	error
	E()
}

type alone interface {
	three
	three
}

type number interface {
	int | uint | int8 | uint8
}
