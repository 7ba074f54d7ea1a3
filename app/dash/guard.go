package dash

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// The names of the token, in the first address and in the cookie that it leaves.
const (
	tokenKey   = "token"
	cookieStem = "peer-dash-" // and the port: browsers send cookies to all ports of a host
)

// policy lets the page load only from its own server.
const policy = "default-src 'self'; img-src 'self' data:; style-src 'self'; script-src 'self'; base-uri 'none'; " +
	"form-action 'none'; frame-ancestors 'none'"

// guard lets through the requests that may see the runs, and answers the others with a sentence for people.
func (e *entrance) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		switch {
		case !e.calledBy(r.Host):
			refuse(w, http.StatusForbidden, "this name is not one of the dash: open the address that the terminal shows")
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			h.Set("Allow", "GET, HEAD")
			refuse(w, http.StatusMethodNotAllowed, "the dash shows runs and changes nothing")
		case e.token == "":
			next.ServeHTTP(w, r)
		case r.URL.Query().Has(tokenKey):
			e.admit(w, r)
		case e.knows(r):
			next.ServeHTTP(w, r)
		default:
			refuse(w, http.StatusUnauthorized, "open the address that the terminal shows: it has the token of the dash")
		}
	})
}

// admit leaves a cookie for a right token, and goes to the page without the token in its address.
func (e *entrance) admit(w http.ResponseWriter, r *http.Request) {
	if !equal(r.URL.Query().Get(tokenKey), e.token) {
		refuse(w, http.StatusUnauthorized, "this token is wrong: open the address that the terminal shows")
		return
	}
	http.SetCookie(w, &http.Cookie{Name: e.cookie(), Value: digest(e.token), Path: "/", HttpOnly: true,
		SameSite: http.SameSiteLaxMode})
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Location", "/")
	w.WriteHeader(http.StatusSeeOther)
}

// knows reports whether a request has the cookie with the token.
func (e *entrance) knows(r *http.Request) bool {
	for _, cookie := range r.CookiesNamed(e.cookie()) {
		if equal(cookie.Value, digest(e.token)) {
			return true
		}
	}
	return false
}

// cookie returns the name of the cookie.
func (e *entrance) cookie() string {
	_, port, _ := net.SplitHostPort(e.Addr().String())
	return cookieStem + port
}

// digest returns the value of the cookie for a token, whose characters a cookie may not allow.
func digest(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// equal compares a word with the token in a time that depends on neither.
func equal(word, token string) bool {
	a, b := sha256.Sum256([]byte(word)), sha256.Sum256([]byte(token))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

// calledBy reports whether a request used a name of this server. A page of another site can make its own name lead
// here (DNS rebinding), but it cannot make its requests carry an IP address or a name of this machine.
func (e *entrance) calledBy(host string) bool {
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		name, port = strings.Trim(host, "[]"), "80"
	}
	if _, own, err := net.SplitHostPort(e.Addr().String()); err != nil || port != own {
		return false
	}
	if at, err := netip.ParseAddr(name); err == nil {
		return e.token != "" || at.Unmap().IsLoopback()
	}
	if strings.EqualFold(name, "localhost") || strings.EqualFold(name, e.host) {
		return true
	}
	own := ownName()
	return e.token != "" && (strings.EqualFold(name, own) || strings.EqualFold(name, own+".local"))
}

// refuse answers with a sentence for people.
func refuse(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Cache-Control", "no-store")
	http.Error(w, text, code)
}
