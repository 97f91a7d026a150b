package engine_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millrace-go/millrace/internal/engine"
	"github.com/millrace-go/millrace/machine"
	"github.com/millrace-go/millrace/store"
	"github.com/millrace-go/millrace/store/sqlite"
	"github.com/millrace-go/millrace/workflow"
)

const (
	token    = `hunter2"<&>/+ü`
	password = "48151623"
)

// forms are the ways in which a secret gets around.
func forms(secret string) map[string]string {
	quoted, _ := json.Marshal(secret)
	return map[string]string{
		"plain": secret, "JSON": strings.Trim(string(quoted), `"`), "query": url.QueryEscape(secret), "path": url.PathEscape(secret),
		"base64": base64.StdEncoding.EncodeToString([]byte(secret)), "base64 URL": base64.RawURLEncoding.EncodeToString([]byte(secret)),
		"basic": base64.StdEncoding.EncodeToString([]byte("user:" + secret)),
	}
}

const leaky = `
workflow: leaky
version: 1
steps:
  said: { run: [say], env: { TOKEN: "${ secrets.token }", PIN: "${ secrets.pin }" } }
  again: { after: said, task: work }
  failing: { after: again, run: [fail], env: { PIN: "${ secrets.pin }" }, retry: 2, on_error: continue }
  panics: { after: failing, task: panic, retry: 1, on_error: continue }
  typed: { after: panics, task: data, retry: 1, on_error: continue }
`

// leaks are handlers that say secrets in every way that they have.
func leaks(all string) map[string]engine.Handler {
	return map[string]engine.Handler{
		machine.CommandHandler(""): outcome(func(_ context.Context, a *engine.Attempt) engine.Outcome {
			if got := a.Command.Env["PIN"]; got != password {
				return engine.Outcome{Err: &machine.Error{Code: "wrong", Message: "the step got another pin", Permanent: true}}
			}
			if a.Path == "failing" {
				data, _ := json.Marshal(map[string]any{all: []any{all, json.RawMessage(password)}})
				return engine.Outcome{Log: all, Err: &machine.Error{Code: "c" + password, Message: all, Step: all, Data: data}}
			}
			out, _ := json.Marshal(map[string]any{"text": all, all: json.RawMessage(password), "nested": []any{map[string]any{"x": all}}})
			return engine.Outcome{Log: strings.Repeat(all+"\n", 40), Output: out}
		}),
		"work":  engine.HandlerFunc(func(context.Context, *engine.Attempt) (json.RawMessage, error) { return json.Marshal(all) }),
		"panic": engine.HandlerFunc(func(context.Context, *engine.Attempt) (json.RawMessage, error) { panic(all) }),
		"data":  engine.HandlerFunc(func(context.Context, *engine.Attempt) (json.RawMessage, error) { return nil, errors.New(all) }),
	}
}

type outcome func(context.Context, *engine.Attempt) engine.Outcome

func (f outcome) Execute(ctx context.Context, a *engine.Attempt) engine.Outcome { return f(ctx, a) }

// O5: whatever attempts say of secrets, nothing of it is in the database's files, in any form.
func TestSecretsAreNowhereInTheDatabase(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "m.db")
	var all strings.Builder
	for _, secret := range []string{token, password} {
		for name, form := range forms(secret) {
			fmt.Fprintf(&all, "%s: %s ", name, form)
		}
	}
	done := &counting{left: 1, ended: make(chan struct{})}
	e := process(t, path, engine.Config{
		Handlers: leaks(all.String()), Observer: done,
		Secrets: func(name string) (string, bool) {
			value, ok := map[string]string{"token": token, "pin": password}[name]
			return value, ok
		},
	})
	def, err := workflow.Read("leaky.yaml", []byte(leaky))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := e.Register(t.Context(), tenant, def); err != nil {
		t.Fatal(err)
	}
	got, err := e.Start(t.Context(), []engine.StartRequest{{Tenant: tenant, Workflow: "leaky"}})
	if err != nil || got[0].Err != nil {
		t.Fatal(err, got)
	}
	<-done.ended
	if masked := e.Mask(all.String()); strings.Contains(masked, token) || !strings.Contains(masked, "***") {
		t.Errorf("shown would be %s", masked)
	}
	entries := journalOf(t, path, got[0].RunID)
	if len(entries) < 7 || !strings.Contains(string(entries[1].Payload), "***") || !strings.Contains(string(entries[1].Facts), "***") {
		t.Fatalf("the journal has %d entries: %+v", len(entries), entries)
	}
	for _, file := range []string{path, path + "-wal"} {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range []string{token, password} {
			for name, form := range forms(secret) {
				if name == "basic" {
					form = form[8:] // what stands before is not the secret's
				}
				if bytes.Contains(raw, []byte(form)) {
					t.Errorf("%s holds a secret in the form %s", filepath.Base(file), name)
				}
			}
		}
	}
}

func journalOf(t *testing.T, path, id string) []store.Entry {
	t.Helper()
	st, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	}()
	all, err := st.Journal(t.Context(), tenant, id, 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// O5
func TestSecretThatIsNotKnownFailsTheStepByName(t *testing.T) {
	t.Parallel()
	for name, find := range map[string]func(string) (string, bool){
		"no source": nil, "another": func(string) (string, bool) { return "", false },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in(t, func(w *world) {
				w.define("workflow: w\nversion: 1\nsteps: [{ run: [x], env: { A: \"${ secrets.api_key }\" } }]\n")
				w.engine(engine.Config{Secrets: find}, handlers{machine.CommandHandler(""): ok})
				if e := w.failed(w.start("w", "null")); e.Code != machine.CodeExpression || !strings.Contains(e.Message, "api_key") {
					t.Errorf("failed with %v", e)
				}
			})
		})
	}
}
