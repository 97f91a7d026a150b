//tidy:allow pkgcomment made by a tool
package short
