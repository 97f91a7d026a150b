package stores

import (
	"strings"
	"testing"
)

// O5
func TestTheNameOfADatabaseShowsNoPassword(t *testing.T) {
	t.Parallel()
	const secret = "s3cret-7q"
	for name, want := range map[string]string{
		"postgres://":                                                "postgres://",
		"postgres:///shop":                                           "postgres:///shop",
		"postgres://ada@h:1/shop?service=x":                          "postgres://ada@h:1/shop?service=x",
		"postgres://h:1/shop":                                        "postgres://h:1/shop",
		"postgres://ada:s3cret-7q@h/shop":                            "postgres://ada:***@h/shop",
		"postgres://ada:a@b:c/s3cret-7q@h/shop":                      "postgres://ada:***@h/shop",
		"postgres://:s3cret-7q@h/shop":                               "postgres://:***@h/shop",
		"postgres://h/shop?user=ada&password=s3cret-7q&sslmode=off":  "postgres://h/shop?user=ada&password=***&sslmode=off",
		"postgres://h/shop?sslpassword=s3cret-7q":                    "postgres://h/shop?sslpassword=***",
		"mysql://ada:s3cret-7q@h/shop":                               "mysql://ada:***@h/shop",
		"ada:s3cret-7q@h/shop":                                       "ada:***@h/shop",
		"postgres:ada:s3cret-7q@h":                                   "postgres:***@h",
		"host=h user=ada password=s3cret-7q dbname=shop":             "host=h user=ada password=*** dbname=shop",
		"host=h user=ada password='a b s3cret-7q' dbname=shop":       "host=h user=ada password=*** dbname=shop",
		"sqlite:jobs.db":                                             "sqlite:jobs.db",
		"POSTGRES://ada:s3cret-7q@h/shop?PASSWORD=s3cret-7q&x=1":     "POSTGRES://ada:***@h/shop?PASSWORD=***&x=1",
		"postgres://ada:s3cret-7q@h/shop?application_name=nightly@1": "postgres://ada:***@1",
	} {
		got := Redact(name)
		if got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
		if strings.Contains(got, secret) {
			t.Errorf("%s shows the password", got)
		}
	}
}
