"""The page in a real browser, skipped without one. The page is neither blank nor wider than the window, at desktop and
phone width, in light and dark mode."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import support
from test_page import make_page

BROWSER = next((found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None)
# Shows the phone's page in a frame, because windows have at least 500 pixels. The window's title reports the page's
# width.
FRAME = """<!DOCTYPE html><body style="margin:0"><iframe id="f" src="page.html" style="border:0" width="{width}" height="1600">
</iframe><script>document.getElementById("f").onload = function () {{
  var page = this.contentDocument.documentElement;
  document.title = page.scrollWidth + " " + page.clientWidth; }};</script>"""
DARK = "--blink-settings=preferredColorScheme=0"


def run_browser(folder, *options):
    done = subprocess.run([BROWSER, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                           "--allow-file-access-from-files", f"--user-data-dir={folder}/profile", *options],
                          capture_output=True, text=True, timeout=100, check=False)
    return done.stdout


def colours(path):
    """Returns (lightness of the corner from 0 to 1, number of colours, share of pixels that differ from the corner)."""
    from matplotlib import image
    pixels = image.imread(path)[..., :3]
    corner = pixels[2, 2]
    flat = (pixels * 255).astype("uint32")
    different = {int(n) for n in (flat[..., 0] << 16 | flat[..., 1] << 8 | flat[..., 2])[::3, ::3].ravel()}
    return float(corner.mean()), len(different), float((abs(pixels - corner).max(axis=2) > 0.2).mean())


class Browser(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        with open(f"{self.folder}/page.html", "w", encoding="utf-8") as file:
            file.write(make_page(support.small_run())[1])

    def frame(self, width):
        path = f"{self.folder}/frame{width}.html"
        with open(path, "w", encoding="utf-8") as file:
            file.write(FRAME.format(width=width))
        return "file://" + path

    def test_pictures_of_it(self):
        for width in (1280, 390):
            for dark in (False, True):
                with self.subTest(width=width, dark=dark):
                    path = f"{self.folder}/shot.png"
                    run_browser(self.folder, f"--window-size={max(width, 500)},1600", f"--screenshot={path}",
                                *([DARK] if dark else []), self.frame(width))
                    self.assertTrue(os.path.exists(path), "the browser drew nothing")
                    lightness, count, share = colours(path)
                    self.assertTrue(lightness < 0.2 if dark else lightness > 0.95, f"the paper is {lightness:.2f}")
                    self.assertGreater(count, 30)
                    self.assertGreater(share, 0.02)
                    os.remove(path)

    def test_it_is_no_wider_than_the_window(self):
        for width in (1280, 390, 360):
            page = run_browser(self.folder, "--dump-dom", "--virtual-time-budget=5000", self.frame(width))
            title = page[page.index("<title>") + 7:page.index("</title>")]
            self.assertEqual(title, f"{width} {width}")


if __name__ == "__main__":
    if not BROWSER:
        print("no chromium: not tested (apt-get install chromium)")
        sys.exit(support.SKIPPED)
    unittest.main()
