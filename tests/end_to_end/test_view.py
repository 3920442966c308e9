"""`voltpile view`: its tiles against numpy, and its page in a headless Chromium."""

import json
import signal
import unittest
import urllib.error
import urllib.parse
import urllib.request

import h5py
import numpy

from browser import BROWSER
from harness import BAD_INPUT, Case
from page_case import PageCase

WIDE = ("--set", "sweep.x.count=300", "--set", "sweep.y.count=5", "--set", "integrate.steps=20")


class ViewCase(Case):
    def view(self, result="a.h5"):
        """Starts the server and returns its address, without a slash at the end."""
        program = self.start("view", result)
        self.addCleanup(program.communicate)
        self.addCleanup(program.kill)
        self.program = program
        return program.stdout.readline().strip().rstrip("/")

    def fetch(self, address, host=None):
        request = urllib.request.Request(address, headers={"Host": host} if host else {})
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()

    def tile(self, address, **query):
        status, body = self.fetch(f"{address}/api/tile?{urllib.parse.urlencode(query)}")
        return numpy.frombuffer(body) if status == 200 else json.loads(body)["error"]


class Tiles(ViewCase):
    def test_tiles_are_the_means_of_blocks(self):
        self.voltpile("run", self.job, "--output", "a.h5", *WIDE)
        with h5py.File(self.folder / "a.h5") as file:
            values = file["energy_error"][...]
        address = self.view()
        numpy.testing.assert_array_equal(self.tile(address, field="energy_error", level=0, x=0, y=0).reshape(5, 256), values[:, :256])
        numpy.testing.assert_array_equal(self.tile(address, field="energy_error", level=0, x=1, y=0).reshape(5, 44), values[:, 256:])
        halves = self.tile(address, field="energy_error", level=1, x=0, y=0).reshape(3, 150)
        expected = values[:4].reshape(2, 2, 150, 2).mean(axis=(1, 3))
        numpy.testing.assert_allclose(halves[:2], expected, rtol=1e-12)  # sums in another order
        numpy.testing.assert_allclose(halves[2], values[4].reshape(150, 2).mean(axis=1), rtol=1e-12)
        described = json.loads(self.fetch(f"{address}/api/result")[1])
        self.assertEqual([axis["count"] for axis in described["axes"]], [300, 5])
        self.assertTrue(described["complete"])

    def test_refuses_what_does_not_exist_and_other_names(self):
        self.small_result()
        address = self.view()
        for query, words in (({"field": "no", "level": 0, "x": 0, "y": 0}, "there is no field no"),
                             ({"field": "energy_error", "level": 0, "x": 1, "y": 0}, "no such tile"),
                             ({"field": "energy_error", "level": -1, "x": 0, "y": 0}, "no such level"),
                             ({"field": "energy_error", "level": 0, "x": "a", "y": 0}, "x=a is not a whole number")):
            self.assertIn(words, self.tile(address, **query))
        self.assertEqual(self.fetch(f"{address}/api/result", host="evil.example")[0], 403)
        self.assertEqual(self.fetch(f"{address}/other")[0], 404)
        self.program.send_signal(signal.SIGINT)
        self.assertEqual(self.program.wait(60), 0)

    def test_names_what_is_no_result(self):
        for name in ("map.toml", "none.h5"):
            _, err = self.voltpile("view", name, expect=BAD_INPUT)
            self.assertIn(name, err)


@unittest.skipUnless(BROWSER, "VOLTPILE_BROWSER does not name a Chromium")
class ViewPage(ViewCase, PageCase):
    def setUp(self):
        ViewCase.setUp(self)
        PageCase.setUp(self)
        self.small_result()
        self.browser.open(self.view())
        self.browser.wait("document.body.dataset.level === '0' && document.getElementById('greatest').textContent", "draws")

    def pixel(self, share_x, share_y):
        """The color there, from a copy: Chromium warns of a canvas of the page that is read back again and again."""
        return tuple(self.browser.evaluate(
            "(() => { const c = document.getElementById('picture'); const copy = new OffscreenCanvas(1, 1)"
            ".getContext('2d', { willReadFrequently: true });"
            f" copy.drawImage(c, Math.floor(c.width * {share_x}), Math.floor(c.height * {share_y}), 1, 1, 0, 0, 1, 1);"
            " return [...copy.getImageData(0, 0, 1, 1).data].slice(0, 3); })()"))

    def test_shows_values_and_colors(self):
        with h5py.File(self.folder / "a.h5") as file:
            values, x, y = file["energy_error"][...], file["x"][...], file["y"][...]
        self.browser.evaluate("(() => { const f = document.getElementById('field'); f.value = 'energy_error';"
                              " f.dispatchEvent(new Event('change')); document.getElementById('map').value = 'viridis';"
                              " document.getElementById('map').dispatchEvent(new Event('change')); })()")
        # The middle of 7 x 5 points is point (3, 2).
        self.browser.evaluate("document.getElementById('picture').focus()")
        self.browser.wait("document.getElementById('field').value === 'energy_error'")

        def value_in_the_middle():
            self.browser.evaluate("document.getElementById('picture').dispatchEvent(new KeyboardEvent('keydown', { key: '+' }))")
            return self.browser.text("#value").split(": energy_error = ")

        place, number = self.browser.wait(lambda: (lambda words: words if len(words) == 2 else None)(value_in_the_middle()))
        self.assertEqual(place, f"x = {x[3]:.7g}, y = {y[2]:.7g}")
        self.assertAlmostEqual(float(number.split()[0]) / values[2, 3], 1, places=8)
        low, high = values.min(), values.max()
        from_table = json.loads(urllib.request.urlopen(self.browser.evaluate("location.origin") + "/api/maps").read())["maps"]["viridis"]
        color = from_table[min(255, int((values[2, 3] - low) / (high - low) * 256))]
        expected = (color >> 16, color >> 8 & 255, color & 255)
        self.browser.wait(lambda: self.pixel(0.5, 0.5) == expected, f"the middle has the color {expected}")

    def test_fits_narrow_and_wide_windows(self):
        for width, height in ((360, 640), (1280, 800), (1920, 1080)):
            self.browser.size(width, height)
            self.browser.wait(f"innerWidth === {width}")
            self.assert_fits(width)
            self.assertGreater(self.browser.evaluate("document.getElementById('picture').clientHeight"), height / 3)


if __name__ == "__main__":
    unittest.main()
