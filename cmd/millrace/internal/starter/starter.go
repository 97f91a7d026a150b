// Package starter holds the files of a first workflow, which `millrace init` writes: a workflow, its script, and the schema by
// which editors check workflow files. It imports the standard library alone.
package starter

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

//go:embed files
var files embed.FS

// The names of the files.
const (
	Workflow = "hello.yaml"
	Script   = "greet.sh"
	Schema   = "millrace.schema.json" // the line for editors in Workflow names it
)

// ExistsError names a file that is there already: none was written.
type ExistsError struct{ Path string }

// Error names the file.
func (e *ExistsError) Error() string { return e.Path + " exists already" }

type file struct {
	name string
	data []byte
	mode fs.FileMode
}

// Write writes the files into dir, which is made when it is missing, and gives their paths. It overwrites nothing: when one
// of them exists, it writes none and gives an *ExistsError.
func Write(dir string, schema []byte) ([]string, error) {
	list := []file{{name: Workflow, mode: 0o644}, {name: Script, mode: 0o755}}
	for i := range list {
		data, err := files.ReadFile("files/" + list[i].name)
		if err != nil {
			return nil, err
		}
		list[i].data = data
	}
	if len(schema) > 0 {
		list = append(list, file{name: Schema, data: schema, mode: 0o644})
	}
	for _, f := range list {
		if path := filepath.Join(dir, f.name); exists(path) {
			return nil, &ExistsError{Path: path}
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // a folder like any that people make
		return nil, fmt.Errorf("make the folder: %w", err)
	}
	var paths []string
	for _, f := range list {
		path := filepath.Join(dir, f.name)
		if err := writeNew(path, f); err != nil {
			return paths, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// writeNew writes a file that must not be there yet.
func writeNew(path string, f file) error {
	w, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, f.mode)
	if errors.Is(err, fs.ErrExist) {
		return &ExistsError{Path: path}
	}
	if err != nil {
		return err
	}
	_, err = w.Write(f.data)
	return errors.Join(err, w.Close())
}
