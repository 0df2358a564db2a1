package dashboard

import (
	"net/http"
	"time"
)

// The cookies in which a person's choices are kept.
const (
	languageCookie = "kiln_lang"
	themeCookie    = "kiln_theme"
)

// themeOf is the theme that a person chose, empty for the system's.
func themeOf(r *http.Request) string {
	if cookie, err := r.Cookie(themeCookie); err == nil && (cookie.Value == "light" || cookie.Value == "dark") {
		return cookie.Value
	}
	return ""
}

// languageChoice stores the language or the theme that the address of a page asks for, and leads back to the page without it. It
// reports whether it has answered.
func (h *handler) languageChoice(w http.ResponseWriter, r *request) bool {
	query := r.URL.Query()
	language, theme := query.Get("lang"), query.Get("theme")
	if !query.Has("lang") && !query.Has("theme") {
		return false
	}
	if locales[language] != nil {
		h.remember(w, r, languageCookie, language)
	}
	if theme == "light" || theme == "dark" || theme == "auto" {
		h.remember(w, r, themeCookie, theme)
	}
	http.Redirect(w, r.Request, h.pages.links.to(here(r)), http.StatusSeeOther)
	return true
}

func (h *handler) remember(w http.ResponseWriter, r *request, name, value string) {
	path := h.pages.options.Prefix
	if path == "" {
		path = "/"
	}
	http.SetCookie(w, &http.Cookie{
		Name: name, Value: value, Path: path, MaxAge: int((365 * 24 * time.Hour).Seconds()),
		HttpOnly: true, Secure: r.TLS != nil, SameSite: http.SameSiteLaxMode,
	})
}
