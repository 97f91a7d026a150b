package command

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// RemoveScratch removes the scratch folder of a run with all in it; one that is not there is no mistake. Links are removed,
// never followed, folders that were made read-only included. The path must be absolute and name a folder, not a link to one.
// No attempt of the run may be running.
func RemoveScratch(dir string) error {
	dir = filepath.Clean(dir)
	parent, name := filepath.Split(dir)
	if !filepath.IsAbs(dir) || name == "" {
		return fmt.Errorf("remove scratch folder %q: not the absolute path of a folder", dir)
	}
	root, err := os.OpenRoot(parent)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("remove scratch folder: %w", err)
	}
	defer func() { _ = root.Close() }()
	info, err := root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && !info.IsDir() {
		err = errors.New("not a folder")
	}
	if err != nil {
		return fmt.Errorf("remove scratch folder %s: %w", dir, err)
	}
	if root.RemoveAll(name) == nil {
		return nil
	}
	makeWritable(root, name)
	if err := root.RemoveAll(name); err != nil {
		return fmt.Errorf("remove scratch folder: %w", err)
	}
	return nil
}

// makeWritable gives its owner all rights to the folders below name. What cannot be changed will not be removed either, and
// the removal says so.
func makeWritable(root *os.Root, name string) {
	if root.Chmod(name, 0o700) != nil {
		return
	}
	f, err := root.Open(name)
	if err != nil {
		return
	}
	entries, _ := f.ReadDir(-1)
	_ = f.Close()
	for _, e := range entries {
		if e.IsDir() {
			makeWritable(root, filepath.Join(name, e.Name()))
		}
	}
}
