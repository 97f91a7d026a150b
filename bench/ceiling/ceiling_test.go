package main

import (
	"bytes"
	"io"
	"strings"
	"testing"
)

func TestTheCommandPrintsATable(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	err := run(t.Context(), []string{"-runs", "20", "-steps", "2", "-repeat", "2", "-folder", t.TempDir()}, &out, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(out.String(), "\n"); lines != 2 || !strings.Contains(out.String(), "steps/s") {
		t.Errorf("table:\n%s", out.String())
	}
}

func TestWrongFlagsAreRefused(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"-batch", "0"}, {"-steps", "-1"}, {"-runs", "-1"}, {"more"}, {"-nope"}, {"-help"}} {
		if _, err := parse(args, io.Discard); err == nil {
			t.Errorf("%v was taken", args)
		}
	}
}
