package m

func longInATest() int {
	a := 1
	a++
	a++
	a++
	a++
	a++
	a++
	a++
	return a
}
