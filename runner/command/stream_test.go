package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/millrace-go/millrace/runner/internal/plain"
	"github.com/millrace-go/millrace/workflow"
)

func TestTheInputIsGivenOnStandardInput(t *testing.T) {
	t.Parallel()
	large := `{"text":"` + strings.Repeat("x", 600_000) + `"}`
	tests := map[string]struct {
		script string
		input  string
		stdin  workflow.Stdin
		want   string
	}{
		"copied to the output":        {`cat`, `{"n": 1.10, "s": "ä"}`, "", `{"n": 1.10, "s": "ä"}`},
		"read as a line":              {`read -r line; echo "$line"`, `[1]`, "", `[1]`},
		"none given":                  {`cat`, ``, "", `"null"`},
		"stdin none":                  {`cat`, `{"a":1}`, workflow.StdinNone, `""`},
		"large":                       {`cat`, large, "", large},
		"large and not read":          {`:`, large, "", `""`},
		"large and partly read":       {`head -c 8`, large, "", `"{\"text\":"`},
		"closed by the program":       {`exec <&-; echo closed`, large, "", `"closed"`},
		"large and not read by sleep": {`exec sleep 0.01`, large, "", `""`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := shell(t, test.script)
			c.Input, c.Stdin = json.RawMessage(test.input), test.stdin
			wantOutput(t, run(t, c), test.want)
		})
	}
}

// R8
// What fails as an output goes into the log, but who follows the log is not shown a million lines of it at once.
func TestAFailedOutputIsTheLastFewLinesForWhoFollows(t *testing.T) {
	t.Parallel()
	c := shell(t, `yes | head -c 10485760; echo end`)
	var heard []string
	c.Log = func(l Line) { heard = append(heard, l.Text) }
	r := run(t, c)
	wantFailure(t, r, "too_large")
	if len(heard) > messageLines || len(heard) == 0 || heard[len(heard)-1] != "end" {
		t.Errorf("%d lines were told, the last of them %q", len(heard), heard[max(0, len(heard)-1):])
	}
	if len(r.Log) < 1<<18 {
		t.Errorf("%d bytes are kept", len(r.Log))
	}
}

func TestOutputOverTheLimitFailsWithoutBeingHeld(t *testing.T) {
	t.Parallel()
	r := run(t, shell(t, `head -c 10485760 /dev/zero | tr '\0' x`))
	f := wantFailure(t, r, "too_large", "standard output", "1048576 bytes", "stdout: log")
	if !f.Final || r.Status != 0 {
		t.Errorf("final %v, status %d", f.Final, r.Status)
	}
	if len(r.Log) > defaultLog {
		t.Errorf("a log of %d bytes", len(r.Log))
	}
}

func TestOutputWithoutEndIsStopped(t *testing.T) {
	t.Parallel()
	c := shell(t, holdWitness+`yes`)
	c.Limits.OutputBytes = 1000
	w := newWitness(t, &c)
	r := run(t, c)
	w.seesNobody()
	if f := wantFailure(t, r, "too_large"); !f.Final || r.Stopped {
		t.Errorf("final %v, stopped %v", f.Final, r.Stopped)
	}
}

func TestALongLogStopsNothing(t *testing.T) {
	t.Parallel()
	lines := `awk 'BEGIN { for (i = 1; i <= 200000; i++) print "line " i }'`
	for name, script := range map[string]string{
		"standard error":                    lines + ` >&2`,
		"standard output as log":            lines,
		"standard output beside the output": `echo '"x"' >"$MILLRACE_OUTPUT"; ` + lines,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := shell(t, script)
			c.Limits = Limits{OutputBytes: 20_000, LogBytes: 10_000}
			if strings.HasSuffix(name, "as log") {
				c.Stdout = workflow.StdoutLog
			}
			r := run(t, c)
			if r.Failure != nil {
				t.Fatal(r.Failure.Code, r.Failure.Message)
			}
			if len(r.Log) > 10_100 || !bytes.HasPrefix(r.Log, []byte("line 1\n")) || !bytes.HasSuffix(r.Log, []byte("line 200000\n")) {
				t.Errorf("log of %d bytes from %.20q to %q", len(r.Log), r.Log, r.Log[len(r.Log)-20:])
			}
			if !bytes.Contains(r.Log, []byte(" left out]\n")) {
				t.Error("the log does not say what was left out")
			}
		})
	}
}

func TestALineWithoutEndIsCut(t *testing.T) {
	t.Parallel()
	c := shell(t, `head -c 5000000 /dev/zero | tr '\0' e >&2; echo >&2; echo next >&2`)
	want := strings.Repeat("e", defaultLine) + fmt.Sprintf(" [%d bytes cut]\nnext\n", 5_000_000-defaultLine)
	if r := run(t, c); string(r.Log) != want {
		t.Errorf("a log of %d bytes, ending with %q", len(r.Log), r.Log[max(len(r.Log)-60, 0):])
	}
}

func TestLinesAreToldAsTheyCome(t *testing.T) {
	t.Parallel()
	c := shell(t, holdWitness+`echo one >&2; read -r go <"$WITNESS.go"; echo two; printf 'three\r\nfour' >&2`)
	c.Stdout = workflow.StdoutLog
	w := newWitness(t, &c)
	mkfifo(t, w.file+".go")
	var told []Line
	var once sync.Once
	c.Log = func(l Line) {
		told = append(told, l)
		once.Do(func() { go tell(t, w.file+".go", "go\n") }) // the script goes on when its first line has been told
	}
	r := run(t, c)
	wantOutput(t, r, `null`)
	slices.SortFunc(told, func(a, b Line) int { return strings.Compare(string(a.Stream), string(b.Stream)) })
	want := []Line{{Stderr, "one"}, {Stderr, "three"}, {Stderr, "four"}, {Stdout, "two"}}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Error(diff)
	}
}

func TestTheLogIsAlwaysText(t *testing.T) {
	t.Parallel()
	r := run(t, shell(t, `printf 'a\000b\377c\n\nd' >&2`))
	if want := "a\uFFFDb\uFFFDc\n\nd\n"; string(r.Log) != want {
		t.Errorf("%q, want %q", r.Log, want)
	}
}

func TestStandardOutputOfAFailureIsLog(t *testing.T) {
	t.Parallel()
	r := run(t, shell(t, `echo out; echo err >&2; exit 3`))
	wantFailure(t, r, "exit_3", "err")
	if string(r.Log) != "err\nout\n" {
		t.Errorf("log %q", r.Log)
	}
}

func TestASplitterGivesTheLinesWhateverThePieces(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SliceOf(rapid.SampledFrom([]byte("ab\n\r\xc3\xa4"))).Draw(t, "text")
		var want []string
		for line := range strings.Lines(string(text)) {
			line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
			want = append(want, strings.ToValidUTF8(line, "\uFFFD"))
		}
		var got []string
		s := &splitter{limit: 1000, emit: func(text string) { got = append(got, text) }}
		for len(text) > 0 {
			n := rapid.IntRange(1, len(text)).Draw(t, "n")
			s.write(text[:n])
			text = text[n:]
		}
		s.flush()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestALineIsCutBetweenCharacters(t *testing.T) {
	t.Parallel()
	for limit := 1; limit < 9; limit++ {
		var got string
		s := &splitter{limit: limit, emit: func(text string) { got = text }}
		s.write([]byte("aäß€😀x"))
		s.flush()
		text, note, cut := strings.Cut(got, " [")
		if !cut || !strings.HasPrefix("aäß€😀x", text) || note != fmt.Sprintf("%d bytes cut]", 13-len(text)) {
			t.Errorf("limit %d: %q", limit, got)
		}
	}
}

func TestARecordKeepsItsBeginningAndItsEnd(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(20, 200).Draw(t, "limit")
		lines := rapid.SliceOf(rapid.StringMatching(`[a-z]{0,5}`)).Draw(t, "lines")
		r := newRecord(limit, nil)
		for _, l := range lines {
			r.add(Line{Text: l})
		}
		whole := strings.Join(append(lines, ""), "\n")
		got := string(r.bytes())
		if len(whole) <= limit/2 && got != whole {
			t.Fatalf("%q, want %q", got, whole)
		}
		head, rest, lost := strings.Cut(got, "[")
		if !lost {
			if got != whole {
				t.Fatalf("%q, want %q", got, whole)
			}
			return
		}
		note, tail, _ := strings.Cut(rest, "]\n")
		if len(head)+len(tail) > limit || !strings.HasPrefix(whole, head) || !strings.HasSuffix(whole, tail) {
			t.Fatalf("%q of %q", got, whole)
		}
		middle := whole[len(head) : len(whole)-len(tail)]
		if want := plain.Count(int64(strings.Count(middle, "\n")), "line") + ", " + plain.Count(int64(len(middle)), "byte") + " left out"; note != want {
			t.Fatalf("note %q, want %q", note, want)
		}
	})
}

func TestACaptureKeepsItsBeginningAndAccountsForTheRest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 10_000).Draw(t, "limit")
		told := 0
		c := &capture{limit: limit, bound: 2 * int64(limit), over: func() { told++ }}
		var whole []byte
		for i, n := range rapid.SliceOfN(rapid.IntRange(0, 6000), 0, 10).Draw(t, "pieces") {
			piece := bytes.Repeat([]byte{byte('a' + i)}, n)
			whole = append(whole, piece...)
			c.write(piece)
		}
		if !bytes.Equal(c.kept, whole[:min(limit, len(whole))]) || !bytes.HasSuffix(whole, c.last) {
			t.Fatal("not the beginning and the end")
		}
		if c.missing() != int64(len(whole)-len(c.kept)-len(c.last)) || c.missing() < 0 || len(c.last) > captureTail {
			t.Fatalf("missing %d, last %d", c.missing(), len(c.last))
		}
		if over := len(whole) > 2*limit; over != (told == 1) || told > 1 {
			t.Fatalf("told %d times of %d bytes", told, len(whole))
		}
	})
}

func TestAMessageIsBoundedText(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"many lines":      `awk 'BEGIN { for (i = 1; i <= 10000; i++) print "line " i }' >&2; exit 1`,
		"one long line":   `head -c 100000 /dev/zero | tr '\0' x >&2; printf '\nline 10000' >&2; exit 1`,
		"binary":          `head -c 100000 /dev/zero >&2; printf '\377\nline 10000' >&2; exit 1`,
		"standard output": `awk 'BEGIN { for (i = 1; i <= 10000; i++) print "line " i }'; exit 1`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := wantFailure(t, run(t, shell(t, script)), "exit_1", "the script ended with status 1", "line 10000")
			if len(f.Message) > plain.LongestMessage || !utf8.ValidString(f.Message) || strings.ContainsRune(f.Message, 0) {
				t.Errorf("message %q", f.Message)
			}
		})
	}
}
