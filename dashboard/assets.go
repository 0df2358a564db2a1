package dashboard

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"net/http"
	"path"
	"strings"

	"github.com/kilnjobs/kiln/driver"
)

//go:embed assets
var assetFiles embed.FS

// asset is one embedded file under the name that it is served as, which holds a hash of its content: a browser may keep it for ever.
type asset struct {
	served, kind string
	content      []byte
}

// assets are the embedded files by their own names, and assetsServed by the names that they are served as.
var assets, assetsServed = readAssets()

var assetKinds = map[string]string{
	".css": "text/css; charset=utf-8",
	".js":  "text/javascript; charset=utf-8",
	".svg": "image/svg+xml",
}

func readAssets() (own, served map[string]*asset) {
	files, err := assetFiles.ReadDir("assets")
	if err != nil {
		panic(err)
	}
	own, served = map[string]*asset{}, map[string]*asset{}
	for _, file := range files {
		content, err := assetFiles.ReadFile("assets/" + file.Name())
		if err != nil {
			panic(err)
		}
		sum := sha256.Sum256(content)
		extension := path.Ext(file.Name())
		a := &asset{
			served:  strings.TrimSuffix(file.Name(), extension) + "." + hex.EncodeToString(sum[:5]) + extension,
			kind:    assetKinds[extension],
			content: content,
		}
		own[file.Name()], served[a.served] = a, a
	}
	return own, served
}

// assetFile serves an asset. A name without the right hash is that of another version, and unknown.
func (h *handler) assetFile(w http.ResponseWriter, r *request) error {
	a := assetsServed[r.param("name")]
	if a == nil {
		return driver.ErrNotFound
	}
	w.Header().Set("Content-Type", a.kind)
	w.Header().Set("Cache-Control", "private, max-age=31536000, immutable")
	_, err := w.Write(a.content)
	return err
}
