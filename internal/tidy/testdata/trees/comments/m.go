//go:build linux

package m // want: pkgcomment

const Loose = 1

// want above: export
