package machine

import (
	"crypto/sha256"
	"encoding/base64"
)

// eventReceived: a fact from outside, recorded once by name and key and never consumed. What is there already changes nothing.
func (t *turn) eventReceived() bool {
	d := t.run.Root.Run
	key := t.ev.Name + "\x00" + t.ev.Key
	if _, ok := d.Events[key]; ok {
		return false
	}
	if d.Events == nil {
		d.Events = map[string]Fact{}
	}
	sum := sha256.Sum256(t.ev.Payload)
	d.Events[key] = Fact{Seq: t.run.Seq, Hash: base64.RawStdEncoding.EncodeToString(sum[:12])}
	return true
}
