// Package m has vague types.
package m

type poolManager struct{} // want: name

type (
	managed      struct{}
	storeUtils   struct{} // want: name
	HTTPHelper   struct{} // want: name
	subcommon    struct{}
	commonplaces struct{}
)
