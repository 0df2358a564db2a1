package dashboard

import "net/http"

type errorBody struct{ Text, Detail string }

// errorPage says what went wrong. Details are those of the request's own mistakes only.
func (h *handler) errorPage(w http.ResponseWriter, r *request, status int, err error) {
	language := languageOf(r.Request, h.pages.options.Language)
	key := "error.500"
	switch status {
	case http.StatusNotFound:
		key = "error.404"
	case http.StatusBadRequest:
		key = "error.400"
	case http.StatusConflict:
		key = "error.409"
	}
	body := errorBody{Text: language.message(key)}
	if status != http.StatusInternalServerError && err != nil {
		body.Detail = err.Error()
	}
	f := frame{Heading: language.message(key + ".title"), Counts: &countsView{}, Body: body}
	if err := h.show(w, r, status, "error", f); err != nil {
		without(r.Context(), "a page with an error", err)
		http.Error(w, body.Text, status)
	}
}
