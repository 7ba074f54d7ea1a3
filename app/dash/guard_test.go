package dash

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gossiptrainer/app/advice"
)

// secret is a token of the tests.
const secret = "0f8e6c5a7b1d29e34c5f7a8091b2d3e4"

// guarded returns an entrance at an address, and a handler behind its guard that answers ok.
func guarded(t *testing.T, address, token string) (*entrance, http.Handler) {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	host, _, _ := net.SplitHostPort(address)
	e := &entrance{Listener: l, token: token, host: host}
	return e, e.guard(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("ok")) }))
}

// ask sends a request that names a host, and returns the answer.
func ask(h http.Handler, method, target, host string, cookies ...*http.Cookie) *http.Response {
	r := httptest.NewRequest(method, target, nil)
	r.Host = host
	for _, c := range cookies {
		r.AddCookie(c)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

// A page of another site can lead its own name to this machine, and its requests then carry that name.
func TestOnlyNamesOfThisMachineGetIn(t *testing.T) {
	e, h := guarded(t, "127.0.0.1:0", "")
	_, port, _ := net.SplitHostPort(e.Addr().String())
	for host, want := range map[string]int{
		"127.0.0.1:" + port:        http.StatusOK,
		"localhost:" + port:        http.StatusOK,
		"LocalHost:" + port:        http.StatusOK,
		"[::1]:" + port:            http.StatusOK,
		"127.0.0.1":                http.StatusForbidden, // another port
		"127.0.0.1:1":              http.StatusForbidden,
		"evil.example:" + port:     http.StatusForbidden,
		"localhost.evil:" + port:   http.StatusForbidden,
		"192.0.2.7:" + port:        http.StatusForbidden, // without a token no other machine asks
		"127.0.0.1.evil.x:" + port: http.StatusForbidden,
		"":                         http.StatusForbidden,
	} {
		if got := ask(h, "GET", "/", host).StatusCode; got != want {
			t.Errorf("host %q: %d, want %d", host, got, want)
		}
	}
	e, h = guarded(t, "0.0.0.0:0", secret)
	_, port, _ = net.SplitHostPort(e.Addr().String())
	cookie := &http.Cookie{Name: e.cookie(), Value: digest(secret)}
	for host, want := range map[string]int{
		"192.0.2.7:" + port:    http.StatusOK,
		ownName() + ":" + port: http.StatusOK,
		"evil.example:" + port: http.StatusForbidden,
	} {
		if got := ask(h, "GET", "/", host, cookie).StatusCode; got != want {
			t.Errorf("token and host %q: %d, want %d", host, got, want)
		}
	}
}

func TestATokenLetsIn(t *testing.T) {
	e, h := guarded(t, "127.0.0.1:0", secret)
	host := e.Addr().String()
	for target, cookie := range map[string]string{
		"/": "", "/api/state": "", "/?token=": "", "/?token=wrong": "", "/api/stream": "wrong", "/x": secret,
	} {
		answer := ask(h, "GET", target, host, &http.Cookie{Name: e.cookie(), Value: cookie})
		if answer.StatusCode != http.StatusUnauthorized || len(answer.Cookies()) > 0 {
			t.Errorf("%s with cookie %q: %d", target, cookie, answer.StatusCode)
		}
	}
	first := ask(h, "GET", "/?token="+secret, host)
	cookies := first.Cookies()
	if first.StatusCode != http.StatusSeeOther || first.Header.Get("Location") != "/" || len(cookies) != 1 {
		t.Fatalf("%d to %q with %v", first.StatusCode, first.Header.Get("Location"), cookies)
	}
	c := cookies[0]
	if !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || strings.Contains(c.Value, secret) {
		t.Errorf("cookie %v", c)
	}
	for _, target := range []string{"/", "/api/state", "/api/stream"} {
		if got := ask(h, "GET", target, host, c).StatusCode; got != http.StatusOK {
			t.Errorf("%s with the cookie: %d", target, got)
		}
	}
	other, h2 := guarded(t, "127.0.0.1:0", secret)
	if c.Name == other.cookie() || ask(h2, "GET", "/", other.Addr().String(), c).StatusCode != http.StatusUnauthorized {
		t.Error("the cookie of one port opens another one")
	}
}

func TestAnswersProtectThePage(t *testing.T) {
	e, h := guarded(t, "127.0.0.1:0", "")
	got := ask(h, "GET", "/", e.Addr().String()).Header
	for name, want := range map[string]string{
		"Content-Security-Policy": "default-src 'self'", "X-Content-Type-Options": "nosniff",
		"Referrer-Policy": "no-referrer", "Cross-Origin-Resource-Policy": "same-origin",
	} {
		if !strings.Contains(got.Get(name), want) {
			t.Errorf("%s: %q, want %q", name, got.Get(name), want)
		}
	}
	if strings.Contains(got.Get("Content-Security-Policy"), "unsafe") || got.Get("Access-Control-Allow-Origin") != "" {
		t.Error("other sites or inline scripts are allowed")
	}
	for _, method := range []string{"POST", "PUT", "DELETE", "OPTIONS", "PATCH"} {
		if code := ask(h, method, "/api/state", e.Addr().String()).StatusCode; code != http.StatusMethodNotAllowed {
			t.Errorf("%s: %d", method, code)
		}
	}
}

func TestAnEntranceIsOpened(t *testing.T) {
	e, err := listen("localhost:0", "")
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if e.token != "" || strings.Contains(e.url(), "token") || !strings.HasPrefix(e.url(), "http://") {
		t.Errorf("on this machine: token %q, %s", e.token, e.url())
	}
	all, err := listen("0.0.0.0:0", "")
	if err != nil {
		t.Fatal(err)
	}
	defer all.Close()
	if len(all.token) < 20 || !strings.HasSuffix(all.url(), "/?token="+all.token) ||
		strings.Contains(all.url(), "0.0.0.0") {
		t.Errorf("on all addresses: token %q, %s", all.token, all.url())
	}
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("+&c"+secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	own, err := listen("127.0.0.1:0", file)
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	if own.token != "+&c"+secret || !strings.HasSuffix(own.url(), "/?token=%2B%26c"+secret) {
		t.Errorf("token %q, %s", own.token, own.url())
	}
}

// The default port may be taken by another dash: a free one does as well. A port that the user chose does not.
func TestATakenPort(t *testing.T) {
	l, err := net.Listen("tcp", Address)
	if err == nil {
		defer l.Close() // else another program has it, which is as good
	}
	e, err := listen(Anywhere, "")
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if e.Addr().String() == Address {
		t.Error("two listen at one port")
	}
	_, err = listen(e.Addr().String(), "")
	usage, ok := errors.AsType[*advice.UsageError](err)
	if !ok || !strings.Contains(err.Error(), "another program") || !strings.Contains(usage.Hint(), "another port") {
		t.Errorf("%v", err)
	}
}

func TestBadAddresses(t *testing.T) {
	for address, want := range map[string]string{
		"8420": "want an address and a port", "127.0.0.1": "want an address and a port",
		"127.0.0.1:http": "want an address and a port", "127.0.0.1:65536": "want an address and a port",
		"127.0.0.1:-1": "want an address and a port", "127.0.0.1:080": "want an address and a port",
		"192.0.2.7:0": "--listen 192.0.2.7:0",
	} {
		e, err := listen(address, "")
		usage, ok := errors.AsType[*advice.UsageError](err)
		if !ok || !strings.Contains(err.Error(), want) || usage.Hint() == "" {
			t.Errorf("%s: %v, want %q and a hint", address, err, want)
		}
		if err == nil {
			e.Close()
		}
	}
	missing := filepath.Join(t.TempDir(), "none")
	if _, err := listen("127.0.0.1:0", missing); err == nil || !strings.Contains(err.Error(), "--token-file") {
		t.Errorf("%v, want the flag --token-file", err)
	}
}

func TestAnAddressAmongWords(t *testing.T) {
	for word, want := range map[string]string{"127.0.0.1:9000": "127.0.0.1:9000", "[::1]:80": "[::1]:80", ":8420": ":8420",
		`C:\run.yaml`: "", "ring8": "", "a:b": "", "1:65536": ""} {
		if got := AddressIn([]string{"ring8", word}); got != want {
			t.Errorf("%s: %q, want %q", word, got, want)
		}
	}
}
