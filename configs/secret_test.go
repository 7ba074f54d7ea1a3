package configs

import (
	"errors"
	"strings"
	"testing"
)

func TestASecretIsMasked(t *testing.T) {
	for text, want := range map[string]string{
		"node.join_secret=open sesame, now":        "node.join_secret=***",
		"--set=node.join_secret=x":                 "--set=node.join_secret=***",
		"node={join_secret: sesame, detect: 4s}":   "node={join_secret: ***, detect: 4s}",
		`node={"join_secret":"a \" b","detect":1}`: `node={"join_secret":***,"detect":1}`,
		"node.join_secret_file=lan.secret":         "node.join_secret_file=lan.secret",
		"node: {join_secret_file: lan.secret}":     "node: {join_secret_file: lan.secret}",
		"topology.size=4":                          "topology.size=4",
	} {
		if got := Mask(text); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
	c := Default()
	c.Node.JoinSecret = "sesame"
	if text := string(c.WithoutSecrets().YAML()); strings.Contains(text, "sesame") ||
		!strings.Contains(text, `join_secret: "***"`) {
		t.Errorf("the secret is in %s", text)
	}
	if c.Node.JoinSecret != "sesame" {
		t.Error("the configuration itself has changed")
	}
}

// No error about a run file or an override shows the secret.
func TestErrorsDoNotShowTheSecret(t *testing.T) {
	_, err := Load(Source{Set: []string{"node.join_secret=sesame", "node.join_secret_file=b"}})
	both := must(t, err)
	_, err = load(t, "node: {join_secret: sesame, join_secret_file: b}\n")
	for _, e := range []*Error{both, must(t, err)} {
		if text := e.Detail() + e.Error(); strings.Contains(text, "sesame") ||
			!strings.Contains(text, "there is one join secret") {
			t.Errorf("got %s", text)
		}
	}
}

func must(t *testing.T, err error) *Error {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("error %v, want a *Error", err)
	}
	return e
}

func TestOriginsDoNotShowTheSecret(t *testing.T) {
	l, err := Load(Source{Set: []string{"node.join_secret=sesame"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range l.Origins() {
		if strings.Contains(o.Value+o.Origin, "sesame") {
			t.Errorf("%+v", o)
		}
	}
}
