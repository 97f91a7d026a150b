package cli

import (
	"fmt"
	"os"
	"strings"
)

// A home is where the commands of a workflow's file run: host and absolute folder, "HOST:/FOLDER". Other machines never take
// them.

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
	host, err := hostName()
	return host + ":" + folder, err
}

// folderHere gives the folder of a home, which must be on this machine and still there.
func folderHere(home string) (string, error) {
	if home == "" {
		return "", nil
	}
	host, folder, _ := strings.Cut(home, ":/")
	folder = "/" + folder
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
