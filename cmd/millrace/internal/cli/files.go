package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/millrace-go/millrace/workflow"
)

const maxFile = 1 << 20 // bytes of a workflow file

// readWorkflow reads and checks a file.
func readWorkflow(file string) (*workflow.Definition, error) {
	data, err := readFile(file)
	if err != nil {
		return nil, err
	}
	return workflow.Read(file, data)
}

// readWorkflows reads and checks a file that may hold several workflows.
func readWorkflows(file string) ([]*workflow.Definition, error) {
	data, err := readFile(file)
	if err != nil {
		return nil, err
	}
	return workflow.ReadAll(file, data)
}

func readFile(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fileFailure(file, err)
	}
	defer func() { _ = f.Close() }() // it is only read
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, usage("name the workflow file in it", "%s is a folder", file)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fileFailure(file, err)
	}
	if len(data) > maxFile {
		return nil, usage("is it a workflow?", "%s is larger than %d bytes", file, maxFile)
	}
	return data, nil
}

func fileFailure(file string, err error) error {
	f := &failure{status: statusUsage, code: "file", message: fmt.Sprintf("cannot read %s: %v", file, cause(err))}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.message, f.hint = "there is no file "+file, "paths count from the folder that you are in"
	case errors.Is(err, fs.ErrPermission):
		f.message, f.hint = "you may not read "+file, "give yourself the right: chmod u+r "+file
	}
	return f
}

// cause takes the path and operation, which the message names already, off a file error.
func cause(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}

// folderOf gives the absolute folder of a workflow file, without links: the home of its commands.
func folderOf(file string) (string, error) {
	abs, err := realPath(file)
	return filepath.Dir(abs), err
}

// realPath gives an absolute path without links.
func realPath(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		return "", fileFailure(path, err)
	}
	return abs, nil
}
