package mask_test

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/millrace-go/millrace/internal/mask"
)

const secret = `p"a<s&s/wö rd+\x1`

// O5
func TestSecretIsHiddenInEveryForm(t *testing.T) {
	t.Parallel()
	quoted, _ := json.Marshal(secret)
	inner := string(quoted[1 : len(quoted)-1])
	for name, text := range map[string]string{
		"plain":           "the word is " + secret + ".",
		"JSON":            `{"a":"` + inner + `"}`,
		"query":           "https://x.test/?k=" + url.QueryEscape(secret) + "&b=1",
		"path":            "https://x.test/" + url.PathEscape(secret) + "/b",
		"query, small":    "k=p%22a%3cs%26s%2fw%c3%b6+rd%2b%5cx1",
		"RFC 3986":        strings.ReplaceAll(url.QueryEscape(secret), "+", "%20"),
		"base64":          base64.StdEncoding.EncodeToString([]byte(secret)),
		"base64, raw URL": base64.RawURLEncoding.EncodeToString([]byte(secret)),
	} {
		m := &mask.Masker{}
		m.Add(secret)
		got := m.Text(text)
		for _, form := range []string{secret, inner, url.QueryEscape(secret), base64.RawStdEncoding.EncodeToString([]byte(secret))[:20]} {
			if strings.Contains(got, form) {
				t.Errorf("%s: %s", name, got)
			}
		}
		if !strings.Contains(got, mask.Hidden) {
			t.Errorf("%s: nothing is hidden in %s", name, got)
		}
	}
}

// O5: what basic authentication sends.
func TestSecretIsHiddenWithinSomethingLongerInBase64(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[ -~]{8,20}`).Draw(t, "secret")
		before, after := rapid.StringN(0, 5, -1).Draw(t, "before"), rapid.StringN(0, 5, -1).Draw(t, "after")
		m := &mask.Masker{}
		m.Add(word)
		text := base64.StdEncoding.EncodeToString([]byte(before + word + after))
		got := m.Text("Basic " + text)
		if !strings.Contains(got, mask.Hidden) || len(strings.Replace(got, mask.Hidden, "", 1)) > len("Basic ")+(len(before)+2)*4/3+(len(after)+2)*4/3+8 {
			t.Fatalf("%q in %q gave %q", word, text, got)
		}
	})
}

// O5, R7
func TestMaskedDocumentIsJSONWithoutTheSecret(t *testing.T) {
	t.Parallel()
	m := &mask.Masker{}
	for _, s := range []string{"opensesame", "4711", `{"k": "v", "n": 1}`, "tab\there"} {
		m.Add(s)
	}
	for in, want := range map[string]string{
		`{"a": "x", "n": 1.50}`:                           `{"a": "x", "n": 1.50}`,
		`{"a":"say opensesame now"}`:                      `{"a":"say *** now"}`,
		`{"opensesame":1}`:                                `{"***":1}`,
		`"\u006fpen\u0073esame"`:                          `"***"`,
		`{"n":4711,"m":[147110,-4711.0],"k":471}`:         `{"n":"***","m":["***","***"],"k":471}`,
		`[true,null,"\"opensesame\""]`:                    `[true,null,"\"***\""]`,
		`{"tab":"a tab\there"}`:                           `{"tab":"a ***"}`,
		`{"k": "v", "n": 1}`:                              `"***"`,
		`{"copy":"{\"k\": \"v\", \"n\": 1}"}`:             `{"copy":"***"}`,
		`opensesame, and no JSON`:                         `***, and no JSON`,
		`{"html":"<opensesame>&"}`:                        `{"html":"<***>&"}`,
		`"b3BlbnNlc2FtZQ== \n"`:                           `"*** \n"`,
		`{"a":"` + strings.Repeat("opensesame", 2) + `"}`: `{"a":"******"}`,
	} {
		if got := string(m.JSON(json.RawMessage(in))); got != want {
			t.Errorf("%s gave %s, want %s", in, got, want)
		}
	}
}

func TestMaskedDocumentIsSoundWhateverIsInIt(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := &mask.Masker{}
		word := rapid.StringN(4, 8, -1).Draw(t, "secret")
		m.Add(word)
		value := map[string]any{
			rapid.String().Draw(t, "key") + word: []any{rapid.String().Draw(t, "text") + word, rapid.Int().Draw(t, "n"), nil, true},
			"plain":                              rapid.String().Draw(t, "other"),
		}
		raw, _ := json.Marshal(value)
		got := m.JSON(raw)
		if !json.Valid(got) {
			t.Fatalf("%s is no JSON", got)
		}
		var back any
		_ = json.Unmarshal(got, &back)
		if len(word) >= mask.Shortest && holds(back, word) {
			t.Fatalf("%q is in %s", word, got)
		}
	})
}

func holds(v any, word string) bool {
	switch v := v.(type) {
	case string:
		return strings.Contains(v, word)
	case []any:
		for _, x := range v {
			if holds(x, word) {
				return true
			}
		}
	case map[string]any:
		for k, x := range v {
			if strings.Contains(k, word) || holds(x, word) {
				return true
			}
		}
	}
	return false
}

func TestOverlappingSecretsAreHiddenTogether(t *testing.T) {
	t.Parallel()
	m := &mask.Masker{}
	m.Add("abcd")
	m.Add("cdefgh")
	m.Add("ab\nsecondline\nx")
	for in, want := range map[string]string{
		"1abcdefgh2":          "1***2",
		"abcd":                "***",
		"abc":                 "abc",
		"only secondline":     "only ***",
		"x ab\nsecondline\nx": "x ***",
	} {
		if got := m.Text(in); got != want {
			t.Errorf("%q gave %q, want %q", in, got, want)
		}
	}
}

func TestShortValuesAreLeftAlone(t *testing.T) {
	t.Parallel()
	m := &mask.Masker{}
	m.Add("")
	m.Add("abc")
	if got := m.Text("abc"); got != "abc" {
		t.Errorf("got %q", got)
	}
}

func TestSecretThatIsCutOffIsHidden(t *testing.T) {
	t.Parallel()
	m := &mask.Masker{}
	m.Add("opensesame")
	for in, want := range map[string]string{
		"sesame is the word": "*** is the word",
		"ame is left":        "ame is left",
		"other opensesame":   "other ***",
	} {
		if got := m.Tail(in); got != want {
			t.Errorf("%q gave %q, want %q", in, got, want)
		}
	}
}
