package link

import (
	"encoding/json"

	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
)

// EncodeRefs writes references as a list of texts; none as the empty text, and a single entry of the journal as its number,
// so that a claim can join it.
func EncodeRefs(refs []machine.Ref) (string, error) {
	switch {
	case len(refs) == 0:
		return "", nil
	case len(refs) == 1 && refs[0].Key == "":
		return refs[0].String(), nil
	}
	texts := make([]string, len(refs))
	for i, ref := range refs {
		texts[i] = ref.String()
	}
	b, err := json.Marshal(texts)
	return string(b), err
}

// DecodeTask reads the columns env and refs of a task: both, or none of them. The error is a *store.DamagedError.
func DecodeTask(t *store.Task, env, refs []byte) error {
	decoded, err := machine.DecodeEnv(env)
	if err != nil {
		return &store.DamagedError{RunID: t.RunID, What: "task " + t.Path, Err: err}
	}
	list, err := decodeRefs(refs)
	if err != nil {
		return &store.DamagedError{RunID: t.RunID, What: "task " + t.Path, Err: err}
	}
	t.Env, t.Refs = decoded, list
	return nil
}

// decodeRefs reads what EncodeRefs wrote.
func decodeRefs(refs []byte) (out []machine.Ref, err error) {
	if len(refs) == 0 {
		return nil, nil
	}
	texts := []string{string(refs)}
	if refs[0] == '[' {
		texts = nil
		if err := json.Unmarshal(refs, &texts); err != nil {
			return nil, err
		}
	}
	for _, text := range texts {
		ref, err := machine.ParseRef(text)
		if err != nil {
			return nil, err
		}
		out = append(out, ref)
	}
	return out, nil
}
