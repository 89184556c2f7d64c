package web_test

import (
	"bytes"
	"flag"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/app/web"

	"github.com/submitqueue/submitqueue/queue/storetest"
)

var shots = flag.String("shots", "", "folder for pictures of the pages, to look at")

// pagesOverHTTP serves every page under test by its name.
func pagesOverHTTP(t *testing.T) *httptest.Server {
	mux := http.NewServeMux()
	mux.Handle("/static/", http.StripPrefix("/static/", web.Static()))
	for name, show := range everyPage() {
		mux.HandleFunc("/"+name, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'")
			var b bytes.Buffer
			if err := show(web.New(web.Options{Words: words{}}), &b); err != nil {
				t.Error(err)
			}
			_, _ = w.Write(b.Bytes()) // a browser may have turned to something else
		})
	}
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server
}

func mustChromium(t *testing.T, args ...string) string {
	t.Helper()
	path, err := exec.LookPath("chromium")
	storetest.Need(t, "chromium", err == nil)
	args = append([]string{"--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
		"--in-process-gpu", "--no-first-run", "--disable-extensions", "--disable-background-networking", "--disable-component-update", "--disable-sync", // it starts in two thirds of the time
		"--user-data-dir=" + t.TempDir()}, args...)
	out, err := exec.CommandContext(t.Context(), path, args...).Output()
	if err != nil {
		t.Fatalf("chromium %s: %v", strings.Join(args, " "), err)
	}
	return string(out)
}

// A browser runs nothing of what is hostile on a page.
func TestBrowserRunsNoForeignCode(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a browser")
	}
	t.Parallel()
	server := pagesOverHTTP(t)
	dom := mustChromium(t, "--dump-dom", server.URL+"/problem")
	if !strings.Contains(dom, "&lt;script&gt;alert(1)&lt;/script&gt;") || strings.Contains(dom, "<img src=\"x\"") {
		t.Errorf("the page in a browser:\n%s", dom)
	}
	// Explanations quote the names of targets.
	dom = mustChromium(t, "--dump-dom", server.URL+"/waiting")
	if !strings.Contains(dom, `<code>//cart/&lt;script&gt;alert(1)&lt;/script&gt;`) || strings.Contains(dom, `<img src="x"`) || !strings.Contains(dom, `class="formula"`) {
		t.Errorf("the page in a browser:\n%s", dom)
	}
}

// With -shots it takes pictures of the pages in light, dark and on a phone.
func TestPictures(t *testing.T) {
	if *shots == "" {
		t.Skip("without -shots")
	}
	server := pagesOverHTTP(t)
	for name := range everyPage() {
		for kind, args := range map[string][]string{
			"light": {"--window-size=1240,1700"},
			"dark":  {"--window-size=1240,1700", "--force-dark-mode", "--blink-settings=preferredColorScheme=0"},
			"phone": {"--window-size=500,1900"},
		} {
			to := filepath.Join(*shots, name+"-"+kind+".png")
			mustChromium(t, append(args, "--screenshot="+to, "--virtual-time-budget=1500", server.URL+"/"+name)...)
		}
	}
}
