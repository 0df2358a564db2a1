package dashboard

import (
	"fmt"
	"net/http"

	"github.com/kilnjobs/kiln/driver"
)

// pages is what the pages are made from.
type pages struct{}

func newPages(Options) *pages { return &pages{} }

func noPage() error { return fmt.Errorf("%w: there are no pages yet", driver.ErrNotFound) }

func (h *handler) overviewPage(http.ResponseWriter, *request) error  { return noPage() }
func (h *handler) jobsPage(http.ResponseWriter, *request) error      { return noPage() }
func (h *handler) jobPage(http.ResponseWriter, *request) error       { return noPage() }
func (h *handler) retriesPage(http.ResponseWriter, *request) error   { return noPage() }
func (h *handler) recurringPage(http.ResponseWriter, *request) error { return noPage() }
func (h *handler) queuesPage(http.ResponseWriter, *request) error    { return noPage() }
func (h *handler) serversPage(http.ResponseWriter, *request) error   { return noPage() }
func (h *handler) batchesPage(http.ResponseWriter, *request) error   { return noPage() }
func (h *handler) batchPage(http.ResponseWriter, *request) error     { return noPage() }
func (h *handler) limitsPage(http.ResponseWriter, *request) error    { return noPage() }
func (h *handler) assetFile(http.ResponseWriter, *request) error     { return noPage() }

func (h *handler) languageChoice(http.ResponseWriter, *request) bool { return false }

func (h *handler) errorPage(w http.ResponseWriter, r *request, status int, err error) {
	send(w, r, status, "text/plain; charset=utf-8", []byte(err.Error()+"\n"))
}
