package study

import (
	"bytes"
	"fmt"
	"html"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"gossiptrainer/internal/chart"
)

// A browser shows the figures of the page, its console stays empty, and the page requests no other host.
func TestPageInABrowser(t *testing.T) {
	if _, err := exec.LookPath("chromium"); err != nil {
		t.Skip("no chromium")
	}
	dir, err := os.MkdirTemp("", "page")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir) // what chromium still writes there is no failure
	var page bytes.Buffer
	if err := study(t, 1, 2, 3).writeHTML(&page); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "index.html")
	if err := os.WriteFile(path, page.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	_, own, _ := browse(t, dir, "about:blank")
	drawn, hosts, console := browse(t, dir, "file://"+path)
	for host := range hosts {
		if !own[host] {
			t.Errorf("the page asks %s for something", host)
		}
	}
	if len(console) > 0 {
		t.Errorf("the console says %s", bytes.Join(console, []byte("\n")))
	}
	if drawn < 1000 {
		t.Errorf("%d pixels of the first colour of figures: they do not show", drawn)
	}
}

// browse opens a page. It counts the pixels that are blue like the first line of a figure, and returns the requested
// hosts and the console.
func browse(t *testing.T, dir, url string) (drawn int, hosts map[string]bool, console [][]byte) {
	t.Helper()
	shot, net := filepath.Join(dir, "shot.png"), filepath.Join(dir, "net.json")
	cmd := exec.CommandContext(t.Context(), "chromium", "--headless", "--no-sandbox", "--disable-gpu",
		"--no-first-run", "--enable-logging=stderr",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-quic",
		"--disable-features=OptimizationHints",
		"--user-data-dir="+filepath.Join(dir, "profile"), "--log-net-log="+net, "--window-size=1100,2400",
		"--screenshot="+shot, url)
	said, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("chromium: %v\n%s", err, said)
	}
	for line := range bytes.SplitSeq(said, []byte("\n")) {
		if bytes.Contains(line, []byte("CONSOLE")) {
			console = append(console, line)
		}
	}
	log, err := os.ReadFile(net)
	if err != nil {
		t.Fatal(err)
	}
	hosts = map[string]bool{}
	for _, found := range regexp.MustCompile(`"url":"https?://([^/"]*)`).FindAllSubmatch(log, -1) {
		hosts[string(found[1])] = true
	}
	picture, err := os.Open(shot)
	if err != nil {
		t.Fatal(err)
	}
	defer picture.Close()
	seen, err := png.Decode(picture)
	if err != nil {
		t.Fatal(err)
	}
	r, g, b, _ := chart.Blue.RGBA()
	for y := range seen.Bounds().Dy() {
		for x := range seen.Bounds().Dx() {
			if r2, g2, b2, _ := seen.At(x, y).RGBA(); r2 == r && g2 == g && b2 == b {
				drawn++
			}
		}
	}
	return drawn, hosts, console
}

// On a phone the page is no wider than the screen. The panels of figures stand one above another, each as wide as the
// room allows. The switch shows those of one axis, and hides no bars.
func TestPageOnAPhone(t *testing.T) {
	if _, err := exec.LookPath("chromium"); err != nil {
		t.Skip("no chromium")
	}
	var page bytes.Buffer
	if err := study(t, 1, 2, 3).writeHTML(&page); err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "phone")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir) // what chromium still writes there is no failure
	phone := fmt.Sprintf(`<iframe width="390" height="900" style="border:0" srcdoc="%s"></iframe><p></p><script>
document.querySelector("iframe").onload = e => {
  const d = e.target.contentDocument, panels = [...d.querySelectorAll(".panels")[0].querySelectorAll("svg")].map(s => s.getBoundingClientRect())
  const shown = axis => {
    d.querySelector("input[value=" + axis + "]").click()
    return [...d.querySelectorAll(".panels svg")].filter(s => s.getClientRects().length > 0).length
  }
  document.querySelector("p").textContent = [d.documentElement.scrollWidth <= d.documentElement.clientWidth,
    panels.length, panels[0].left == panels[1].left, panels[1].top >= panels[0].bottom, panels[0].width > 330,
    !d.querySelector("#axes").hidden, shown("rounds"), shown("bytes"), shown("seconds"), shown("all")].join()
}</script>`, html.EscapeString(page.String()))
	path := filepath.Join(dir, "phone.html")
	if err := os.WriteFile(path, []byte(phone), 0o666); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-quic",
		"--user-data-dir="+filepath.Join(dir, "profile"), "--dump-dom", "file://"+path)
	seen, err := cmd.Output()
	if err != nil {
		t.Fatalf("chromium: %v", err)
	}
	// It fits, three panels, one above the other, wide. Beside them are bars and gaps, and the switch works.
	if want := "<p>true,3,true,true,true,true,4,3,3,6</p>"; !bytes.Contains(seen, []byte(want)) {
		told := seen[max(0, bytes.Index(seen, []byte("</iframe><p>"))):]
		t.Errorf("the browser says %.80q, want %s", told, want)
	}
}
