package machine

import (
	"strconv"
	"strings"
)

// Paths name activations (docs/machine.md 7): segments separated by "/", each KEY#VISIT~TRY[INDEX]. "#1" and "~1" are left
// out. The characters / # ~ [ ] % of keys are percent-encoded.

var pathEscapes = strings.NewReplacer("%", "%25", "/", "%2F", "#", "%23", "~", "%7E", "[", "%5B", "]", "%5D")

// EscapeKey gives a step's key as it stands in a path.
func EscapeKey(key string) string {
	if !strings.ContainsAny(key, "%/#~[]") {
		return key
	}
	return pathEscapes.Replace(key)
}

func chunkPath(box string, index int) string {
	return box + "[" + strconv.Itoa(index/ChunkSize*ChunkSize) + ":]"
}

// HoldsResults says whether a child document holds results: the end of a run leaves it.
func HoldsResults(path string) bool { return strings.HasSuffix(path, ":]") }

// Documents gives the paths of the child documents that an event about the activation at path may need: those of the scopes
// around it, and of the results that it would go into, outermost first. A path of them may not exist. A claim loads them with
// the task.
func Documents(path string) []string {
	var out []string
	for i := 0; i < len(path); i++ {
		switch path[i] {
		case '/':
			out = append(out, path[:i])
		case '[':
			j := strings.IndexByte(path[i:], ']')
			if j < 0 {
				return out
			}
			if n, err := strconv.Atoi(path[i+1 : i+j]); err == nil {
				out = append(out, chunkPath(path[:i], n))
			}
			i += j
			if i+1 == len(path) || path[i+1] == '[' {
				out = append(out, path[:i+1])
			}
		}
	}
	if len(out) > 0 && path[len(path)-1] != ']' { // the one step of a branch or a case has its scope's path
		out = append(out, path)
	}
	return out
}
