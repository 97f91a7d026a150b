// Package lower is long.
//
//tidy:allow pkglen all of it is tables
package lower
