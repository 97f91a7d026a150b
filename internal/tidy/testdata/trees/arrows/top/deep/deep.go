// Command deep may import everything.
package main

import (
	_ "example.test/m"
	_ "example.test/m/top/inner/strict"
	_ "example.test/m/upper"
)

func main() {}
