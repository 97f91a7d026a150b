package cli

import (
	"fmt"
	"os"
	"strings"
)

// A home is where the commands of a workflow's file run: host and absolute folder, "HOST:/FOLDER", which other machines never
// take; or the name that workers were given with --home. What `run` starts is kept for the process that drives it: its home
// begins with "run:", and no worker serves it. (The name of a host has no colon.)

func hostName() (string, error) {
	if name := os.Getenv("MILLRACE_HOST"); name != "" {
		return name, nil
	}
	name, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("find this machine's name: %w", err)
	}
	return name, nil
}

// homeOf gives the home of a workflow file.
func homeOf(file string) (string, error) {
	folder, err := folderOf(file)
	if err != nil {
		return "", err
	}
	return homeAt(folder)
}

// homeOfFolder gives the home of the files in a folder.
func homeOfFolder(folder string) (string, error) {
	abs, err := realPath(folder)
	if err != nil {
		return "", err
	}
	return homeAt(abs)
}

func homeAt(folder string) (string, error) {
	host, err := hostName()
	return host + ":" + folder, err
}

const keptPrefix = "run:"

// kept gives the home of a run that only the processes serve that drive it.
func kept(home string) string { return keptPrefix + home }

// namedHome says whether a home is a name that was given to it, and no place.
func namedHome(home string) bool { return home != "" && !strings.Contains(home, ":/") }

// folderHere gives the folder of a home, which must be on this machine and still there; that of a name is the one that the
// process is in.
func folderHere(home string) (string, error) {
	if home == "" {
		return "", nil
	}
	if namedHome(home) {
		return realPath(".")
	}
	host, folder, _ := strings.Cut(home, ":/")
	host, folder = strings.TrimPrefix(host, keptPrefix), "/"+folder
	here, err := hostName()
	if err != nil {
		return "", err
	}
	if host != here {
		return "", &failure{
			status: statusRefused, code: "elsewhere",
			message: fmt.Sprintf("the commands of this run belong to %s on the machine %s; this is %s", folder, host, here),
			hint:    fmt.Sprintf("resume it there; if this machine was renamed, set MILLRACE_HOST=%s", host),
		}
	}
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return "", &failure{
			status: statusUsage, code: "file", message: "the folder of the run's commands is gone: " + folder,
			hint: "put it back there and resume the run again",
		}
	}
	return folder, nil
}
