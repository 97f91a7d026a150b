package command

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// program is what is started, where, and with which arguments.
type program struct {
	name string // as written
	path string // what is executed, from dir
	argv []string
	dir  string // absolute
}

// file is the absolute path of what is executed.
func (p program) file() string { return under(p.dir, p.path) }

// find decides where the program starts, which file it is and what its environment holds.
func (a *attempt) find() (program, []string, error) {
	root, err := a.openRoot()
	if err != nil {
		return program{}, nil, err
	}
	defer func() { _ = root.Close() }()
	if err := checkDir(root, a.Dir); err != nil {
		return program{}, nil, err
	}
	p := program{dir: under(a.Root, a.Dir)}
	env, err := a.environment(p.dir)
	if err != nil {
		return program{}, nil, err
	}
	if a.Args == nil {
		err = a.findShell(&p, env["PATH"])
	} else {
		err = a.findProgram(&p, root, env["PATH"])
	}
	return p, pairs(env), err
}

func (a *attempt) openRoot() (*os.Root, error) {
	if a.Root == "" {
		return nil, refuse(statusCannotRun, "the workflow has no folder that commands could run in: run it from a file")
	}
	if !filepath.IsAbs(a.Root) {
		return nil, refuse(statusCannotRun, "the workflow's folder %s is not an absolute path", a.Root)
	}
	root, err := os.OpenRoot(a.Root)
	if err != nil {
		return nil, &startError{status: statusCannotRun, message: fmt.Sprintf("the workflow's folder %s cannot be opened: put it back, or run the workflow from where it is now", a.Root), err: err}
	}
	return root, nil
}

// checkDir refuses a folder that is not there or lies outside.
func checkDir(root *os.Root, dir string) error {
	if dir == "" {
		return nil
	}
	info, err := root.Stat(dir)
	switch {
	case escapes(err):
		return refuse(statusCannotRun, "dir: %s lies outside the workflow's folder %s: move it inside", dir, root.Name())
	case errors.Is(err, fs.ErrNotExist):
		return refuse(statusCannotRun, "dir: there is no folder %s in the workflow's folder %s", dir, root.Name())
	case err != nil:
		return &startError{status: statusCannotRun, message: fmt.Sprintf("dir: %s cannot be used", dir), err: err}
	case !info.IsDir():
		return refuse(statusCannotRun, "dir: %s is not a folder", dir)
	}
	return nil
}

// findShell starts the script with sh -eu. Its text is an argument; one too long for that becomes a file of the attempt.
func (a *attempt) findShell(p *program, path string) error {
	if strings.ContainsRune(a.Script, 0) {
		return refuse(statusCannotRun, "the script has a NUL character")
	}
	p.name = "sh"
	if p.path = search("sh", path); p.path == "" {
		p.path = "/bin/sh"
	}
	if len(a.Script) <= longestScript {
		p.argv = []string{"sh", "-eu", "-c", a.Script, a.scriptName()}
		return nil
	}
	file := filepath.Join(a.folder, "script")
	if err := os.WriteFile(file, []byte(a.Script), 0o600); err != nil {
		return &startError{status: statusCannotRun, passing: true, message: "the script cannot be written to the scratch folder: free some space", err: err}
	}
	p.argv = []string{"sh", "-eu", file}
	return nil
}

// scriptName is $0 of a script, which shells put before their own messages.
func (a *attempt) scriptName() string {
	if a.Step == "" || strings.HasPrefix(a.Step, "-") {
		return "sh"
	}
	return a.Step
}

// findProgram finds the file of argv: in the workflow's folder, by PATH, or where an absolute path says.
func (a *attempt) findProgram(p *program, root *os.Root, path string) error {
	if len(a.Args) == 0 || a.Args[0] == "" {
		return refuse(statusNotFound, "run: the name of the program is empty")
	}
	for i, arg := range a.Args {
		if strings.ContainsRune(arg, 0) {
			return refuse(statusCannotRun, "run: item %d has a NUL character, which no argument can hold", i+1)
		}
	}
	p.name, p.path, p.argv = a.Args[0], a.Args[0], a.Args
	switch {
	case !strings.Contains(p.name, "/"):
		if p.path = search(p.name, path); p.path == "" {
			return a.notInPath(root, p.name, path)
		}
		return nil
	case filepath.IsAbs(p.name):
		info, err := os.Stat(p.name)
		return a.checkProgram(root, p.name, info, err)
	default:
		info, err := root.Stat(filepath.ToSlash(joinRaw(a.Dir, p.name)))
		return a.checkProgram(root, p.name, info, err)
	}
}

// checkProgram says what is wrong with a file before the system says it with fewer words.
func (a *attempt) checkProgram(root *os.Root, name string, info fs.FileInfo, err error) error {
	switch {
	case escapes(err):
		return refuse(statusCannotRun, "%s lies outside the workflow's folder %s: move it inside, or write its absolute path", name, a.Root)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return a.missing(root, name)
	case err != nil:
		return &startError{status: statusCannotRun, message: name + " cannot be used", err: err}
	case info.IsDir():
		return refuse(statusCannotRun, "%s is a folder: name a program", name)
	case info.Mode()&0o111 == 0:
		return refuse(statusCannotRun, "%s is not executable: chmod +x %s", name, shown(under(under(a.Root, a.Dir), name)))
	}
	return nil
}

func (a *attempt) missing(root *os.Root, name string) error {
	if filepath.IsAbs(name) {
		return refuse(statusNotFound, "there is no file %s: install it, or mend its path", name)
	}
	where := under(a.Root, a.Dir)
	if a.Dir != "" {
		if _, err := root.Stat(name); err == nil {
			up, _ := filepath.Rel(a.Dir, name)
			return refuse(statusNotFound, "there is no file %s in %s: paths count from dir, write %s", name, where, up)
		}
	}
	return refuse(statusNotFound, "there is no file %s in %s: put it there, or mend its path", name, where)
}

func (a *attempt) notInPath(root *os.Root, name, path string) error {
	if _, err := root.Stat(joinRaw(a.Dir, name)); err == nil {
		return refuse(statusNotFound, "there is no program %s in PATH, but a file of this name in the workflow's folder: write ./%s", name, name)
	}
	return refuse(statusNotFound, "there is no program %s in PATH (%s): install it, or write its path", name, path)
}

// search looks for an executable file in the folders of path. Those that are not absolute are passed over: what they hold
// would depend on where the program starts.
func search(name, path string) string {
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return file
		}
	}
	return ""
}

// under gives the path of name counted from dir. One with .. is left as it is, since what .. means depends on links.
func under(dir, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	if strings.Contains(name, "..") {
		return joinRaw(dir, name)
	}
	return filepath.Join(dir, name)
}

func joinRaw(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}

// escapes says whether err is the refusal of an os.Root to leave its folder, which has no exported value.
func escapes(err error) bool {
	var e *fs.PathError
	return errors.As(err, &e) && strings.Contains(e.Err.Error(), "path escapes")
}

// shown quotes a path for a shell if it needs it.
func shown(path string) string {
	if strings.ContainsAny(path, " \t\n'\"\\$`*?[]()<>|&;!#~") {
		return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	return path
}
